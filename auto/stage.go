package auto

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"proactivedp/dp"
	"proactivedp/rng"
	"proactivedp/sim"
	"proactivedp/train"
)

// Stage is one of the trainings that [Run] does for a task: its parameters, the clients that take part,
// and the resulting model.
type Stage struct {
	Task         int                 `json:"task"` // number of its task in the journal, from 0
	Clip         float64             `json:"clip"`
	SampleSize   int                 `json:"sample_size"` // the least batch size of a client; Participants may have larger ones
	Rounds       int                 `json:"rounds"`      // of a client with the least batch size; larger batches mean fewer rounds, see RunOf
	Eta0         float64             `json:"eta0"`
	Participants []train.Participant `json:"parts"`
	// Root identifies the secret from which the samples and the noise of the stage are drawn, without revealing it
	// (see rng.Name). The secret itself is in [Options].Dir until the stage is trained, and is then removed. If Root
	// is empty, samples and noise are drawn from the task's seed.
	Root string `json:"noise_root,omitempty"`
	// Params is the SHA-256 of the global model after the stage. HeldOut is the task's metric on each client's
	// held-out records. Baseline is the best value of the metric on these records that a prediction without the
	// features can reach, see [models.Metric.Baseline]. All three are empty until the stage is trained.
	Params   string    `json:"params_sha256,omitempty"`
	HeldOut  []float64 `json:"held_out_accuracy,omitempty"`
	Baseline []float64 `json:"held_out_baseline,omitempty"`
	// Chance has, for each client, how far a model that has learnt nothing may exceed the baseline by
	// chance on the client's held-out records; see models.Metric.Chance. It is empty if the metric is the
	// accuracy.
	Chance []float64 `json:"held_out_chance,omitempty"`
}

// maxStages limits the number of stages of a journal.
const maxStages = 10_000

func (s *Stage) trained() bool { return s.Params != "" }

// validate reports contradictions between the stage and the task.
func (s *Stage) validate(t Task) error {
	var errs []error
	fail := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if s.SampleSize < 1 || s.SampleSize > math.MaxInt32 || s.Rounds < 1 || s.Rounds > dp.MaxRounds {
		fail("sample size = %d in %d rounds, must be at least 1, in at least one and at most %d", s.SampleSize,
			s.Rounds, dp.MaxRounds)
	}
	if s.Root != "" {
		name := rng.Name{Root: s.Root}
		if err := name.Validate(); err != nil || name.Simulated() {
			fail("noise root = %q, must be the public name of a secret (%v)", s.Root, err)
		}
	}
	if t.Spec.SeedFromOS != (s.Root != "") {
		fail("noise root = %q, must be given if randomness comes from the operating system, and only then",
			s.Root)
	}
	last, least := -1, len(s.Participants) == 0 // least: whether some client has the least sample size
	for _, p := range s.Participants {
		if p.Client <= last || p.Client >= len(t.Clients) {
			fail("client = %d, must be in increasing order and below %d", p.Client, len(t.Clients))
			break
		}
		last = p.Client
		if !(p.NoiseMultiplier > 0) || p.NoiseMultiplier > mostSigma {
			fail("client %d: sigma = %v, must be in (0, %v]", p.Client, p.NoiseMultiplier, mostSigma)
		}
		least = least || p.SampleSize == 0
		if own := p.SampleSize; own != 0 && (!t.Strategy.ByTheorem() || own <= s.SampleSize || own > s.SampleSize*s.Rounds) {
			fail("client %d: sample size = %d, must be 0 or above the stage's %d, at most its %d gradients, and 0 with strategy %q",
				p.Client, own, s.SampleSize, s.SampleSize*s.Rounds, t.Strategy)
		}
		if p.Records != t.Clients[p.Client].Records {
			fail("client %d: records = %d, must be %d", p.Client, p.Records, t.Clients[p.Client].Records)
		}
	}
	if len(s.Participants) == 0 {
		fail("no client takes part")
	}
	if !least {
		fail("sample size = %d, must be that of a client", s.SampleSize)
	}
	if n := len(t.Clients); s.trained() && (len(s.HeldOut) != n || len(s.Baseline) != n) {
		fail("accuracies of %d clients and baselines of %d, must be of all %d", len(s.HeldOut), len(s.Baseline), n)
	}
	if n := len(s.Chance); s.trained() && n != 0 && (n != len(t.Clients) || t.Spec.IsAccuracy()) {
		fail("chances of %d clients, must be of all %d, and none if the metric is the accuracy", n, len(t.Clients))
	} else if s.trained() && n == 0 && !t.Spec.IsAccuracy() {
		fail("held-out chances are missing, must be given for the metric %s", t.Spec.Metric)
	}
	lowest, most, furthest := 0.0, 1.0, 1.0
	if metric := t.Spec.MetricOf(); metric.Smaller() {
		most, furthest = math.MaxFloat64, math.MaxFloat64
	} else if metric.Regression() {
		lowest, furthest = -math.MaxFloat64, math.MaxFloat64
	}
	for _, a := range slices.Concat(s.HeldOut, s.Baseline) {
		if !(a >= lowest && a <= most) {
			fail("accuracy = %v, must be in [%g, %g]", a, lowest, most)
		}
	}
	for _, a := range s.Chance {
		if !(a >= 0 && a <= furthest) {
			fail("chance = %v, must be in [0, %g]", a, furthest)
		}
	}
	return errors.Join(errs...)
}

// Spec returns the spec (settings) of the stage, which must be a stage of task t. Pass it to
// [train.Source.PrepareStage].
func (s *Stage) Spec(t Task) train.Spec {
	spec := t.Spec
	spec.SeedFromOS = false // everything but the samples and the noise comes from the seed
	spec.Clip, spec.Eta0 = s.Clip, s.Eta0
	spec.SampleSize, spec.GradComps = strconv.Itoa(s.SampleSize), s.SampleSize*s.Rounds
	return spec
}

// root returns the name of the root of the stage's noise.
func (s *Stage) root(seed uint64) string {
	if s.Root != "" {
		return s.Root
	}
	return rng.New(seed).Name().Root
}

// RunOf returns the batch size s_c of a participant, and its number of rounds T_c = ⌊K/s_c⌋, where K = SampleSize·Rounds.
// So a client with a larger batch size has fewer rounds, and all clients compute about K gradients each.
func (s *Stage) RunOf(p train.Participant) (size, rounds int) {
	size = cmp.Or(p.SampleSize, s.SampleSize)
	return size, s.SampleSize * s.Rounds / size
}

// computed returns the expected number of gradients of all its clients.
func (s *Stage) computed() int {
	sum := 0
	for _, p := range s.Participants {
		size, rounds := s.RunOf(p)
		sum += size * rounds
	}
	return sum
}

// events returns the rounds of the stage that use the account's records, with the name of each
// participant's noise. It returns none if no client of the account takes part.
func (s *Stage) events(a Account, seed uint64) []dp.Event {
	var all []dp.Event
	root := s.root(seed)
	for i, p := range s.Participants {
		if !a.has(p.Client) {
			continue
		}
		size, rounds := s.RunOf(p)
		e := a.event(p.NoiseMultiplier, size, rounds, 1)
		e.Noise = dp.Noise{Name: rng.Name{Root: root, Run: p.Run}, Client: i}
		all = append(all, e)
	}
	return all
}

// errLedger reports that a stage ran other rounds than those charged to the ledger.
var errLedger = errors.New("the stage ran other rounds than those charged to the ledger")

// check compares the clients' rounds with those charged to the ledgers.
func (s *Stage) check(accounts []Account, seed uint64, r *sim.Result) error {
	for i, p := range s.Participants {
		for _, a := range accounts {
			if !a.has(p.Client) {
				continue
			}
			one := *s
			one.Participants = s.Participants[i : i+1]
			charged := one.events(a, seed)[0]
			charged.Noise.Client = i
			if got := r.Ledgers[i].Events(); len(got) != 1 || got[0] != charged {
				return fmt.Errorf("client %d: %w: %+v, not %+v", p.Client, errLedger, got, charged)
			}
		}
	}
	return nil
}
