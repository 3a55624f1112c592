// Package propose suggests complete settings of DP-SGD for a privacy budget before any private training: batch size,
// number of rounds, noise multiplier, clipping norm and step sizes. Each setting comes with its predicted accuracy,
// its certified ε and its amount of work.
//
//	r, err := propose.Propose(ctx, request, propose.Options{Data: source, Probe: source, Probing: propose.Own})
//	…
//	best := r.Proposals[0].Setting // a train.Spec
//
// Accuracies are predicted by proxies. A proxy is a cheap training with a smaller batch and less noise, in which
// every step has the same signal-to-noise ratio as in the full training (Sander, Stock and Sablayrolles, "TAN without
// a burn", ICML 2023, arXiv 2210.03403; see train.Spec.Proxy). Their accuracy is measured on training rows that are
// held out, never on the test set. A proxy has almost no noise, so its results reveal the data that it uses. Proxies
// therefore use public or synthetic data; see [Probing].
package propose

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"proactivedp/dp"
	"proactivedp/internal/results"
	"proactivedp/sim"
	"proactivedp/train"
	"proactivedp/train/pool"
)

// Request is the input of [Propose]: a budget or a target accuracy, the settings that all proposals have in common,
// and the number of settings to try.
type Request struct {
	// Base is what all settings have in common: model, data, clients, partition, permissible delay,
	// momentum, δ, seed. The proposal chooses sample size, gradient computations, noise multiplier,
	// step sizes and clipping norm. It also chooses the average, the input scale of a network and the
	// features of images, if Base does not give them.
	Base train.Spec `json:"base"`
	// Epsilon is the target epsilon of a record over all clients that hold it, in [MinEpsilon,
	// MaxEpsilon]. If Base.AtMost is given, it is that of a person. 0 means the least ε that reaches
	// TargetAccuracy.
	Epsilon float64 `json:"epsilon"`
	// TargetAccuracy is the required value of Base.Metric: in (0, 1), or for rmse and mae a number above 0. 0 means the best
	// for Epsilon.
	TargetAccuracy float64 `json:"target_accuracy,omitempty"`
	// Rounds lists the numbers of rounds to try, counted over all clients together. Each is at least the
	// number of clients.
	Rounds []int `json:"rounds"`
	Seeds  int   `json:"seeds"` // seeds with which each reported setting is tried, the same for all, in [3, 100]
	Count  int   `json:"count"` // largest number of proposals, in [1, 100]
}

// These are the limits of Request.Epsilon and Request.Seeds. With fewer than MinSeeds seeds, the spread
// of accuracies cannot be estimated. Above MaxEpsilon a guarantee means little.
const (
	MinEpsilon, MaxEpsilon = 1e-4, 64
	MinSeeds, MaxSeeds     = 3, 100
	maxCount               = 100
)

// DefaultRequest returns a request for the most accurate settings within ε. All proposals have the settings base in
// common. For models that take long, fewer rounds and seeds are tried.
func DefaultRequest(base train.Spec, epsilon float64) Request {
	r := Request{Base: base, Epsilon: epsilon, Rounds: []int{250, 1000, 4000, 16000}, Seeds: 10, Count: 5}
	if slow(base) {
		r.Rounds, r.Seeds, r.Count = []int{250, 1000, 4000}, MinSeeds, 3
	}
	if base.Scattered() {
		r.Rounds = r.Rounds[:2] // enough rounds for a linear model with so small steps
	}
	return r
}

// Validate returns one error that lists every field of r outside its range.
func (r Request) Validate() error {
	var errs []error
	fail := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if r.Epsilon == 0 && r.TargetAccuracy == 0 {
		fail("an epsilon or a target accuracy must be given")
	}
	if r.Epsilon != 0 {
		errs = append(errs, dp.CheckRange("epsilon", r.Epsilon, MinEpsilon, MaxEpsilon))
	}
	switch metric := r.Base.MetricOf(); {
	case r.TargetAccuracy == 0:
	case metric.Smaller():
		errs = append(errs, metric.CheckTarget("target", r.TargetAccuracy))
	case !(r.TargetAccuracy > 0 && r.TargetAccuracy < 1):
		fail("target accuracy = %v, must be in (0, 1)", r.TargetAccuracy)
	}
	if len(r.Rounds) < 1 || len(r.Rounds) > maxCount {
		fail("%d numbers of rounds, must be from 1 to %d", len(r.Rounds), maxCount)
	}
	for _, rounds := range r.Rounds {
		if rounds < r.Base.Clients || rounds/max(r.Base.Clients, 1) > dp.MaxRounds {
			fail("rounds = %d of all clients, must be in [%d, %d] for each of the %d", rounds, 1, dp.MaxRounds,
				r.Base.Clients)
		}
	}
	if r.Seeds < MinSeeds || r.Seeds > MaxSeeds {
		fail("seeds = %d, must be in [%d, %d]", r.Seeds, MinSeeds, MaxSeeds)
	}
	if r.Count < 1 || r.Count > maxCount {
		fail("count = %d, must be in [1, %d]", r.Count, maxCount)
	}
	return errors.Join(append(errs, checkBase(r.Base), r.Base.Validate())...)
}

// Options say on which data proxies (cheaper trainings) train, and how they run. Trials does not affect the
// proposals. Perf affects the estimated times. It also decides whether a setting is listed only for its large noise
// multiplier: its training may take at most an estimated hour.
type Options struct {
	Data  *train.Source // data of the later training; only the number of records of a client is used
	Probe *train.Source // data that the proxies use
	// Probing says whose data Probe is, and which privacy follows from it. It must be given: the report's
	// statement about privacy depends on it.
	Probing Probing
	Trials  pool.Options
	Perf    sim.Perf // used to estimate the time of a training
}

// Infeasible is the error for a request that no setting meets. Its field Remedies lists changes that would help.
type Infeasible struct {
	Reason   string   // why
	Remedies []string // changes of the request; each one would be enough; may be empty
	Accuracy float64  // largest predicted accuracy within the request; 0 if unknown
	Epsilon  float64  // larger ε that would be enough; 0 if unknown
}

// Error returns the reason and the remedies in one sentence.
func (e *Infeasible) Error() string {
	text := "infeasible: " + e.Reason
	for i, remedy := range e.Remedies {
		if i == 0 {
			text += ": " + remedy
		} else {
			text += ", or " + remedy
		}
	}
	return text
}

// isInfeasible returns err as an *Infeasible, if it is one.
func isInfeasible(err error) (*Infeasible, bool) { return errors.AsType[*Infeasible](err) }

// Propose searches for settings by proxies and returns the best ones, ranked. If no setting meets the
// request, the error is an [*Infeasible]. It also fails if a field of r or o is invalid, if a proxy cannot
// be trained, or if ctx is cancelled.
func Propose(ctx context.Context, r Request, o Options) (*Report, error) {
	if err := errors.Join(r.Validate(), o.Validate(r)); err != nil {
		return nil, err
	}
	s, err := newSearcher(r, o)
	if err != nil {
		return nil, err
	}
	if o.Probing == Private {
		return s.proposePrivately(ctx)
	}
	epsilon := r.Epsilon
	var known []*candidate
	searches := 1
	if epsilon == 0 {
		searches = 2
	}
	if err := s.plan(ctx, cmp.Or(epsilon, scoutedEpsilon), searches); err != nil {
		return nil, err
	}
	if epsilon == 0 {
		if epsilon, known, err = s.leastEpsilon(ctx); err != nil {
			return nil, err
		}
	}
	found, err := s.search(ctx, epsilon, known)
	if err != nil {
		return nil, err
	}
	points, err := s.frontier(ctx, epsilon, found[0])
	if err != nil {
		return nil, err
	}
	s.finish()
	if best := slices.MinFunc(found, byAccuracy).accuracy; best < s.goal() {
		return nil, s.tooAccurate(epsilon, best, points)
	}
	found = slices.DeleteFunc(found, func(c *candidate) bool { return c.accuracy < s.goal() })
	found, note, err := s.listed(ctx, epsilon, found)
	if err != nil {
		return nil, err
	}
	report, err := s.report(ctx, epsilon, found, points)
	if err == nil && note != "" {
		report.Notes = append(report.Notes, note)
	}
	return report, err
}

// Drawing says how pictures of a report are drawn. The zero value is this program's own style, as PNG.
type Drawing = results.Drawing
