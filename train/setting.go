package train

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"proactivedp/data"
	"proactivedp/dp"
	"proactivedp/dp/pld"
	"proactivedp/internal/decimal"
	"proactivedp/internal/strictjson"
	"proactivedp/plan"
	"proactivedp/rng"
)

// Setting is what a file says that is to be trained: a proposal, which is a whole spec,
// or a plan, which is σ, s, T, δ and the clients.
//
// A Setting is made by ReadSetting. The methods of any other return an error or, if they
// have none to return, may panic.
type Setting struct {
	proposed *Spec
	planned  plannedRun
	allowed  *float64 // ε that the file says a record costs at most; nil: it claims none
	searched string   // what finding it cost the records themselves, as a note; "": nothing
}

// Notes says what a reader of the run's results must know of how its setting was found.
func (s *Setting) Notes() []string {
	var notes []string
	if s.searched != "" {
		notes = append(notes, s.searched)
	}
	if of := s.planned.Adjacency; of != "" && of != dp.NaturalAdjacency(s.planned.Sampling) {
		notes = append(notes, fmt.Sprintf("the plan's ε is of %s adjacency, what is stated of the run of "+
			"another", of))
	}
	return notes
}

// claimed is what a file says of the ε of a record.
type claimed struct {
	PerRecord struct {
		EpsilonUpper *float64 `json:"epsilon_upper"`
	} `json:"per_record"`
}

// allowed is the ε that a file allows a record where it claims one, be it by a target.
func (c claimed) allowed(target float64) *float64 {
	if upper := c.PerRecord.EpsilonUpper; upper == nil || *upper >= target {
		return upper
	}
	return &target
}

// proposals is what is read of the output of propose: its other keys tell what the
// settings were chosen by.
type proposals struct {
	Target float64 `json:"target_epsilon"`
	Probe  struct {
		Private *searchCost `json:"private"`
	} `json:"probe"`
	Proposals []struct {
		Rank      int             `json:"rank"`
		Setting   json.RawMessage `json:"setting"`
		Certified claimed         `json:"certified"`
	} `json:"proposals"`
}

// searchCost is what private probing cost a record: by itself, and together with the training
// that was proposed.
type searchCost struct {
	Alone    cost `json:"alone"`
	Together cost `json:"together"`
}

// cost is what is read of a bound.
type cost struct {
	Epsilon *float64 `json:"epsilon_upper"`
	Delta   *float64 `json:"delta"`
}

// text says the bound.
func (c cost) text() string {
	if c.Epsilon == nil || c.Delta == nil {
		return "ε that the file does not say"
	}
	return fmt.Sprintf("ε ≤ %s at δ = %s", decimal.Up(*c.Epsilon, 5), decimal.Up(*c.Delta, 5))
}

// note says so; "" where there was no private probing.
func (c *searchCost) note() string {
	if c == nil {
		return ""
	}
	return fmt.Sprintf("the setting was found by private selection on the records themselves, at %s, and with the "+
		"training that was proposed at %s: what is stated of this training does not count that", c.Alone.text(),
		c.Together.text())
}

// plannedRun is what is read of the output of plan.
type plannedRun struct {
	Records   int          `json:"n"`
	Delta     float64      `json:"delta"`
	Sigma     float64      `json:"sigma"`
	Sampling  dp.Sampling  `json:"sampling"`
	Adjacency dp.Adjacency `json:"adjacency"` // of the plan's ε
	Feasible  bool         `json:"feasible"`
	Run       *plan.Run    `json:"run"`
	Clients   int          `json:"clients"`
	Shared    bool         `json:"shared"`
	Noise     rng.Name     `json:"noise"`
	Target    float64      `json:"target_epsilon"`
	claimed
}

// besidePlan are the keys that the output of plan has beside those of plan.Plan.
var besidePlan = []string{"frontier", "frontier_reason", "verdict", "odds", "releases", "statement", "code"}

// ReadSetting reads what propose --json or plan --json wrote; of proposals that of the
// rank, from 1 on, and of a plan rank 0 alone. An unknown key of a plan or of a proposed
// spec is an error: it may decide what is run.
func ReadSetting(text []byte, rank int) (*Setting, error) {
	var keys map[string]json.RawMessage
	if err := strictjson.Decode(text, &keys); err != nil {
		return nil, err
	}
	if _, ok := keys["proposals"]; ok {
		return readProposal(text, max(rank, 1))
	}
	if rank != 0 {
		return nil, fmt.Errorf("rank = %d is of a proposal, and there are none", rank)
	}
	whole := maps.Clone(keys)
	for _, f := range reflect.VisibleFields(reflect.TypeFor[plan.Plan]()) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		delete(keys, name)
	}
	for _, name := range besidePlan {
		delete(keys, name)
	}
	if len(keys) > 0 {
		return nil, fmt.Errorf("neither the output of propose --json nor of plan --json, which has no key %q",
			slices.Sorted(maps.Keys(keys))[0])
	}
	var s Setting
	if err := json.Unmarshal(text, &s.planned); err != nil {
		return nil, strictjson.Plain(err, text)
	}
	if run, ok := whole["run"]; ok {
		if err := strictjson.Decode(run, &s.planned.Run); err != nil {
			return nil, fmt.Errorf("run of the plan: %w", err)
		}
	}
	if err := s.planned.check(); err != nil {
		return nil, err
	}
	if err := saysPrivacy("the plan", whole); err != nil {
		return nil, err
	}
	s.allowed = s.planned.claimed.allowed(s.planned.Target)
	return &s, nil
}

// saysPrivacy reports the keys that decide what the run guarantees and are missing, which are not 0.
func saysPrivacy(what string, keys map[string]json.RawMessage) error {
	for _, key := range []string{"sigma", "delta"} {
		if value, ok := keys[key]; !ok || string(value) == "null" {
			return fmt.Errorf("%s has no %s, which says what is run and must be there", what, key)
		}
	}
	return nil
}

// readProposal reads the proposal of a rank.
func readProposal(text []byte, rank int) (*Setting, error) {
	var file proposals
	if err := json.Unmarshal(text, &file); err != nil {
		return nil, strictjson.Plain(err, text)
	}
	for _, one := range file.Proposals {
		if one.Rank != rank {
			continue
		}
		var s Spec
		var keys map[string]json.RawMessage
		err := strictjson.Decode(one.Setting, &s)
		if err == nil {
			err = json.Unmarshal(one.Setting, &keys)
		}
		if err != nil {
			return nil, fmt.Errorf("setting of the proposal of rank %d: %w", rank, err)
		}
		if err := saysPrivacy(fmt.Sprintf("the setting of the proposal of rank %d", rank), keys); err != nil {
			return nil, err
		}
		return &Setting{proposed: &s, allowed: one.Certified.allowed(file.Target), searched: file.Probe.Private.note()},
			nil
	}
	return nil, fmt.Errorf("rank = %d, must be that of one of its %d proposals", rank, len(file.Proposals))
}

// check reports why nothing can be trained by the plan.
func (p *plannedRun) check() error {
	switch {
	case p.Records < 1 || p.Clients < 1 || p.Sampling == "":
		return errors.New("neither the output of propose --json nor of plan --json")
	case p.Run == nil || !p.Feasible:
		return errors.New("the plan is infeasible: there is no run in it")
	case p.Run.SampleSize != p.Run.MaxSampleSize:
		return fmt.Errorf("the plan is for sample sizes of mean %d and at most %d, must be for one size: no "+
			"sequence of sizes is in it", p.Run.SampleSize, p.Run.MaxSampleSize)
	case p.Run.SampleSize*p.Run.Rounds != p.Run.Computations:
		return fmt.Errorf("%d rounds of %d records are not %d gradient computations", p.Run.Rounds,
			p.Run.SampleSize, p.Run.Computations)
	}
	return nil
}

// Over returns the setting, with what it does not say from usual.
func (s *Setting) Over(usual Spec) Spec {
	if s.proposed != nil {
		return *s.proposed
	}
	p := &s.planned
	usual.NoiseMultiplier, usual.Delta, usual.Clients = p.Sigma, p.Delta, p.Clients
	usual.SampleSize, usual.GradComps = strconv.Itoa(p.Run.SampleSize), p.Run.Computations
	usual.Sampling, usual.Partition = string(p.Sampling), string(data.Shard)
	if p.Shared {
		usual.Partition = string(data.Replicate)
	}
	return usual
}

// Fits reports that a run is not the one that was planned: of as many records, with noise
// from the root that the plan names, if it names one, and at no more than the ε that the
// file says a record costs, as certified by package pld.
func (s *Setting) Fits(ctx context.Context, p *Prepared) error {
	if err := s.made(); err != nil {
		return err
	}
	want := s.planned
	if n := p.Config.Mechanism.DatasetSize; want.Records != 0 && n != want.Records {
		return fmt.Errorf("the plan is for clients of N = %d records, here they hold %d", want.Records, n)
	}
	if want.Noise.Known() && p.Spec.Runner == DistributedRunner {
		return fmt.Errorf("the plan is for noise from %s, and each client has noise of its own here", want.Noise)
	}
	if want.Noise.Known() && !slices.Equal(p.Config.Roots.Names(), []rng.Name{want.Noise}) {
		return fmt.Errorf("the plan is for noise from %s, not from %s", want.Noise, p.Config.Roots.Names()[0])
	}
	return s.costsNoMore(ctx, p)
}

// ErrCostsMore is what Fits wraps for a run that costs more than its file says: of other
// records, as another split has, or with other noise.
var ErrCostsMore = errors.New("costs a record")

// costsNoMore refuses a run whose ε is certainly above what the file allows a record.
func (s *Setting) costsNoMore(ctx context.Context, p *Prepared) error {
	if s.allowed == nil {
		return nil
	}
	allowed, events := *s.allowed, p.recordEvents()
	if of := s.planned.Adjacency; of != "" { // that of its ε
		for i := range events {
			events[i].Adjacency = of
		}
	}
	b, err := pld.Accountant{}.Epsilon(ctx, events, p.Delta)
	if err != nil {
		return fmt.Errorf("what the setting costs cannot be held against ε ≤ %s, which its file says: %w",
			decimal.Up(allowed, 5), err)
	}
	if !(b.EpsilonLower <= allowed) {
		return fmt.Errorf("sigma = %v %w at least ε = %s at δ = %s here, its file says at most %s",
			p.Spec.NoiseMultiplier, ErrCostsMore, decimal.Down(b.EpsilonLower, 5), decimal.Exactly(p.Delta),
			decimal.Exactly(allowed))
	}
	return nil
}

// made reports a setting that cannot be used.
func (s *Setting) made() error {
	if s == nil || s.proposed == nil && s.planned == (plannedRun{}) && s.allowed == nil {
		return errors.New("this Setting was not made by ReadSetting")
	}
	return nil
}
