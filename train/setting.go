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
	"proactivedp/dp/claim"
	"proactivedp/dp/pld"
	"proactivedp/internal/decimal"
	"proactivedp/internal/strictjson"
	"proactivedp/plan"
	"proactivedp/rng"
)

// Setting has the settings of a training that were read from the JSON output of the command propose or plan. The
// output of propose determines the whole spec. The output of plan determines only the noise multiplier, the batch
// size, the number of rounds, δ, the sampling, the partition (how records are divided among clients), the number of
// clients, and for a guarantee for persons the largest number of records of a person. Read it with ReadSetting, apply
// it with [Setting.Over], and check the prepared run with [Setting.Fits].
//
// The methods of a zero Setting return an error or, if they have no error result, may panic.
type Setting struct {
	proposed *Spec
	planned  plannedRun
	allowed  *float64 // the largest ε of a record according to the file; nil if it claims none
	searched string   // a note about the privacy cost of finding the setting; "" if it cost nothing
}

// Notes returns sentences for reports. One says what ε the search for this setting cost, if the records were used for
// the search. Another says that the plan's ε is for another adjacency (which pairs of data sets count as neighbours)
// than the run's own guarantee. Notes returns nil if neither applies. Store the notes in Prepared.Notes.
func (s *Setting) Notes() []string {
	var notes []string
	if s.searched != "" {
		notes = append(notes, s.searched)
	}
	if of := s.planned.Adjacency; of != "" && of != dp.NaturalAdjacency(s.planned.Sampling) {
		notes = append(notes, fmt.Sprintf("the plan's ε is for %s adjacency, the run's guarantee is for "+
			"another", of))
	}
	return notes
}

// claimed is the ε of a record that a file claims.
type claimed struct {
	PerRecord struct {
		EpsilonUpper *float64 `json:"epsilon_upper"`
	} `json:"per_record"`
}

// allowed returns the ε that a file allows a record, if it claims one: the smaller of its claim and
// its target.
func (c claimed) allowed(target float64) *float64 {
	if upper := c.PerRecord.EpsilonUpper; upper == nil || *upper >= target {
		return upper
	}
	return &target
}

// proposals has the fields that are read from the output of propose. The other fields explain how
// the settings were chosen.
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

// searchCost has the cost of private probing to a record: by itself, and together with the proposed
// training.
type searchCost struct {
	Alone    cost `json:"alone"`
	Together cost `json:"together"`
}

// cost has the fields of a bound in the file that are read.
type cost struct {
	Epsilon *float64 `json:"epsilon_upper"`
	Delta   *float64 `json:"delta"`
}

func (c cost) text() string {
	if c.Epsilon == nil || c.Delta == nil {
		return "an ε that the file does not state"
	}
	return fmt.Sprintf("ε ≤ %s at δ = %s", decimal.Up(*c.Epsilon, 5), decimal.Up(*c.Delta, 5))
}

// note returns a note about the cost, or "" if there was no private probing.
func (c *searchCost) note() string {
	if c == nil {
		return ""
	}
	return fmt.Sprintf("the setting was found by private selection on these records, which cost %s, or %s together "+
		"with the proposed training. The guarantee of this training does not include that", c.Alone.text(),
		c.Together.text())
}

// plannedRun has the fields that are read from the output of plan.
type plannedRun struct {
	Records   int          `json:"n"`
	Delta     float64      `json:"delta"`
	Sigma     float64      `json:"sigma"`
	Sampling  dp.Sampling  `json:"sampling"`
	Adjacency dp.Adjacency `json:"adjacency"` // adjacency of the plan's ε
	Redraw    dp.Redraw    `json:"redraw"`
	Group     int          `json:"group"`
	Feasible  bool         `json:"feasible"`
	Run       *plan.Run    `json:"run"`
	Clients   int          `json:"clients"`
	Shared    bool         `json:"shared"`
	Noise     rng.Name     `json:"noise"`
	Target    float64      `json:"target_epsilon"`
	claimed
}

// besidePlan lists the keys in the output of plan that plan.Plan does not have.
var besidePlan = []string{"batches", "frontier", "frontier_reason", "verdict", "odds", "releases", "statement", "code"}

// ReadSetting reads text, the output of propose --json or plan --json. For the output of propose, rank selects one of
// its proposals: 1 is the best, and 0 means 1. For the output of plan, rank must be 0. An unknown JSON key is an
// error, because it may be a setting that affects the run.
func ReadSetting(text []byte, rank int) (*Setting, error) {
	var keys map[string]json.RawMessage
	if err := strictjson.Decode(text, &keys); err != nil {
		return nil, err
	}
	if _, ok := keys["proposals"]; ok {
		return readProposal(text, max(rank, 1))
	}
	if rank != 0 {
		return nil, fmt.Errorf("rank = %d selects a proposal, but the file has no proposals", rank)
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
		return nil, fmt.Errorf("not the output of propose --json or plan --json, which has no key %q",
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

// saysPrivacy returns an error if one of the keys that determine the privacy guarantee is missing,
// because a missing key does not mean 0. what names the object in the error.
func saysPrivacy(what string, keys map[string]json.RawMessage) error {
	for _, key := range []string{"sigma", "delta"} {
		if value, ok := keys[key]; !ok || string(value) == "null" {
			return fmt.Errorf("%s has no %s, which must be given", what, key)
		}
	}
	return nil
}

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
	return nil, fmt.Errorf("rank = %d, must be one of the file's %d proposals", rank, len(file.Proposals))
}

func (p *plannedRun) check() error {
	switch {
	case p.Records < 1 || p.Clients < 1 || p.Sampling == "":
		return errors.New("not the output of propose --json or plan --json")
	case p.Run == nil || !p.Feasible:
		return errors.New("the plan is infeasible, so it has no run")
	case p.Run.SampleSize != p.Run.MaxSampleSize:
		return fmt.Errorf("the plan has sample sizes with mean %d and maximum %d, must have one size: it does not contain the "+
			"sequence of sizes", p.Run.SampleSize, p.Run.MaxSampleSize)
	case p.Sampling == dp.Allocation && p.Redraw != dp.EachEpoch:
		return fmt.Errorf("redraw = %q, must be %q: a training draws anew in each epoch, for which less noise is enough", p.Redraw,
			dp.EachEpoch)
	case (p.Sampling == dp.Allocation) != (p.Run.Batches != 0):
		return fmt.Errorf("batches = %d with %s sampling, must be given with %s sampling only", p.Run.Batches, p.Sampling,
			dp.Allocation)
	case p.Run.SampleSize*p.Run.Rounds != p.Run.Computations:
		return fmt.Errorf("%d rounds of %d records are not %d gradient computations", p.Run.Rounds,
			p.Run.SampleSize, p.Run.Computations)
	}
	return nil
}

// Over returns the spec of the run. usual has the caller's values for what the setting's file does not determine, such
// as the model: Over returns a copy of it in which every value that the file determines has the file's value. A file
// from propose determines all fields, so nothing of usual remains.
func (s *Setting) Over(usual Spec) Spec {
	if s.proposed != nil {
		return *s.proposed
	}
	p := &s.planned
	usual.NoiseMultiplier, usual.Delta, usual.Clients = p.Sigma, p.Delta, p.Clients
	usual.SampleSize, usual.GradComps = strconv.Itoa(p.Run.SampleSize), p.Run.Computations
	usual.Sampling, usual.Partition = string(p.Sampling), string(data.Shard)
	usual.Batches, usual.AtMost = p.Run.Batches, p.Group
	if p.Shared {
		usual.Partition = string(data.Replicate)
	}
	return usual
}

// Fits returns nil if p is the run that the setting's file describes. It returns an error in these cases:
//
//   - The clients have another number of records than the plan assumes.
//   - The plan names the seed or the secret from which the noise must come (its root), and the noise of p comes
//     from another one.
//   - The ε of p is certainly above that in the file: package dp/pld computes an interval that contains p's true
//     ε, and the whole interval is above the file's ε. This error wraps [ErrCostsMore].
//
// So a run that passes may still have a slightly larger ε than the file says. Fits also does not count the ε of
// column bounds that were estimated with noise (Spec.BoundsEpsilon). The run's own report states the whole ε.
func (s *Setting) Fits(ctx context.Context, p *Prepared) error {
	if err := s.made(); err != nil {
		return err
	}
	want := s.planned
	if n := p.Config.Mechanism.DatasetSize; want.Records != 0 && n != want.Records {
		return fmt.Errorf("the plan is for clients with N = %d records, but here they have %[2]d: plan with --n %[2]d", want.Records, n)
	}
	if want.Noise.Known() && p.Spec.Runner == DistributedRunner {
		return fmt.Errorf("the plan is for noise from %s, but here each client has its own noise", want.Noise)
	}
	if want.Noise.Known() && !slices.Equal(p.Config.Roots.Names(), []rng.Name{want.Noise}) {
		return fmt.Errorf("the plan is for noise from %s, not from %s", want.Noise, p.Config.Roots.Names()[0])
	}
	return s.costsNoMore(ctx, p)
}

// ErrCostsMore is the error that [Setting.Fits] wraps if a run certainly costs more privacy than its settings file
// (the JSON output of the command plan or propose) allows: even the lower end of the interval that contains the
// run's ε is above the ε in that file. This happens, for example, if the run has fewer records than the file
// assumes, or less noise.
var ErrCostsMore = errors.New("but its file allows at most")

// costsNoMore returns an error if the run certainly costs a record, or a person, more than the file allows: if even the lower end
// of the interval for its ε, which leaves the private bounds out, is above that.
func (s *Setting) costsNoMore(ctx context.Context, p *Prepared) error {
	if s.allowed == nil {
		return nil
	}
	allowed := *s.allowed
	events, err := p.recordEvents()
	if err != nil {
		return err
	}
	if of := s.planned.Adjacency; of != "" { // that of its ε
		for i := range events {
			events[i].Adjacency = of
		}
	}
	// The lower end leaves the private bounds out: they may leak less.
	b, err := pld.Accountant{}.Epsilon(ctx, events, p.Delta)
	if err != nil {
		return fmt.Errorf("the cost of the setting cannot be compared with ε ≤ %s in its file: %w",
			decimal.Up(allowed, 5), err)
	}
	if !(b.EpsilonLower <= allowed) {
		return fmt.Errorf("sigma = %v costs %s at least ε = %s at δ = %s here, %w %s", p.Spec.NoiseMultiplier, claim.Whom(events...),
			decimal.Down(b.EpsilonLower, 5), decimal.Exactly(p.Delta), ErrCostsMore, decimal.Exactly(allowed))
	}
	return nil
}

func (s *Setting) made() error {
	if s == nil || s.proposed == nil && s.planned == (plannedRun{}) && s.allowed == nil {
		return errors.New("this Setting was not made by ReadSetting")
	}
	return nil
}
