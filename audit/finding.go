package audit

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"proactivedp/data"
	"proactivedp/dp"
	"proactivedp/dp/claim"
	"proactivedp/dp/pld"
)

// Finding is the result for one probe (a small training that runs many times with and without one record) or one
// [Course] (a training that chooses its rounds by its results). It has the measured lower bound on ε, the claimed
// upper bound, and a description of the training. Tests explains a lower bound from many runs, and OneRun a lower
// bound from a single run.
type Finding struct {
	Probe string `json:"probe"`
	About string `json:"about"`
	// EpsilonLowerBound is the measured lower bound on the ε of the training. It holds with the audit's confidence.
	EpsilonLowerBound float64 `json:"epsilon_lower_bound"`
	EpsilonUpper      float64 `json:"epsilon_upper"` // claimed upper bound on the ε of a record
	// Violated says whether EpsilonLowerBound exceeds EpsilonUpper. The claim is then wrong.
	Violated        bool           `json:"violated"`
	Delta           float64        `json:"delta"`
	Model           string         `json:"model"`
	Partition       data.Partition `json:"partition"`
	Clients         int            `json:"clients"`
	Rounds          int            `json:"rounds"`
	SampleSize      int            `json:"sample_size"`
	DatasetSize     int            `json:"dataset_size"`
	NoiseMultiplier float64        `json:"noise_multiplier"`
	Adjacency       dp.Adjacency   `json:"adjacency"`
	Sampling        dp.Sampling    `json:"sampling"`
	// Group is k if the claim is for a person with up to k records. Otherwise it is 0.
	Group         int     `json:"group,omitempty"`
	Accountant    string  `json:"accountant"`
	Kind          dp.Kind `json:"kind"` // what EpsilonUpper guarantees, see dp.Kind
	Runs          int     `json:"runs"` // number of trainings, those with the canary and those without it together
	RunsPerSecond float64 `json:"runs_per_second"`
	Tests         []Test  `json:"tests,omitempty"`
	OneRun        *OneRun `json:"one_run,omitempty"`
}

// newFinding returns a Finding that describes the probe and its setting. It has no bounds yet.
func newFinding(probe, about string, s setting) Finding {
	return Finding{
		Probe: probe, About: about, Model: s.model.Name(), Partition: s.partition, Clients: s.clients, Rounds: s.rounds,
		SampleSize: s.size, DatasetSize: s.places, NoiseMultiplier: s.sigma,
	}
}

// claim sets f's upper bound on ε. It is computed from the ledgers of the first run. If clients adapt their sample
// sizes, ledgers of runs differ, and the bound is the planned one, which holds for all runs.
func (f *Finding) claim(ctx context.Context, ran *outcome, delta float64) error {
	var p claim.Privacy
	var err error
	if ran.cfg.Adapt != 0 {
		p, err = ran.cfg.PlannedPrivacy(ctx, pld.Accountant{}, delta)
	} else {
		p, err = claim.OfLedgers(ctx, pld.Accountant{}, ran.ledgers, !ran.cfg.Partition.Disjoint(), delta)
	}
	if err != nil {
		return err
	}
	s := p.PerRecord
	if s.EpsilonUpper == nil {
		return fmt.Errorf("no guarantee to audit: %s", s.Reason)
	}
	f.EpsilonUpper, f.Kind, f.Accountant = *s.EpsilonUpper, s.Kind, s.Accountant
	f.Adjacency, f.Sampling, f.Delta, f.Group = s.Adjacency, s.Sampling, s.Delta, s.Group
	return nil
}

// reached returns the fraction of the claimed ε that was shown to be spent. It is above 1 if the claim
// is refuted.
func (f *Finding) reached() float64 {
	if f.EpsilonLowerBound == 0 {
		return 0 // also for a claim of 0
	}
	return f.EpsilonLowerBound / f.EpsilonUpper
}

// conclude sets the lower bound to the largest of the tests, if there are any, and whether it contradicts the claim. It
// also sets the number and the time of the runs.
func (f *Finding) conclude(runs int, took time.Duration) {
	for _, t := range f.Tests {
		f.EpsilonLowerBound = max(f.EpsilonLowerBound, t.EpsilonLowerBound)
	}
	f.Runs, f.RunsPerSecond = runs, math.Round(float64(runs)/max(took, 1).Seconds())
	f.Violated = f.EpsilonLowerBound > f.EpsilonUpper
}

// by names the test or the guesses that gave the lower bound.
func (f *Finding) by() string {
	if g := f.OneRun; g != nil {
		return fmt.Sprintf("%d of %d guesses right", g.Right, g.Guesses)
	}
	best := slices.MaxFunc(f.Tests,
		func(a, b Test) int { return cmp.Compare(a.EpsilonLowerBound, b.EpsilonLowerBound) })
	return best.Statistic + ", " + best.Over
}
