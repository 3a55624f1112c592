// Package propose says, before any private training, which complete settings of
// DP-SGD are worth a privacy budget: sample size, rounds, noise multiplier, clipping
// norm and step sizes, each with the accuracy that it is predicted to reach, the ε that
// it certifies, and what it costs.
//
//	r, err := propose.Propose(ctx, request, propose.Options{Data: source, Probe: source, Probing: propose.Own})
//	…
//	best := r.Proposals[0].Setting // a train.Spec
//
// Accuracy is predicted by proxies, cheap trainings in which every step has the same
// ratio of signal to noise (Sander, Stock and Sablayrolles, "TAN without a burn", ICML
// 2023, arXiv 2210.03403; see train.Spec.Proxy), judged by training rows that they hold
// out, never by the test set. A proxy is nearly noiseless: whoever sees what it found
// in private data has seen the data. So proxies look at public or synthetic data; see
// [Probing].
package propose

import (
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

// Request is what a proposal is asked for.
type Request struct {
	// Base is what every setting takes as given: model, data, clients, partition,
	// permissible delay, momentum, δ, seed. Sample size, gradient computations, noise multiplier
	// and steps are decided here, and so is the clipping norm; the average, a network's
	// input scale and features of images are, where it has none.
	Base train.Spec `json:"base"`
	// Epsilon is the target epsilon of a record over all clients that hold it, in
	// [MinEpsilon, MaxEpsilon]; 0: the least that TargetAccuracy needs.
	Epsilon float64 `json:"epsilon"`
	// TargetAccuracy is the accuracy wanted, in (0, 1); 0: the best for Epsilon.
	TargetAccuracy float64 `json:"target_accuracy,omitempty"`
	// Rounds are the numbers of rounds of all clients together that are tried, each at
	// least as many as there are clients.
	Rounds []int `json:"rounds"`
	Seeds  int   `json:"seeds"` // matched seeds of every proxy that is shown, in [3, 100]
	Count  int   `json:"count"` // how many proposals at most, in [1, 100]
}

// The ranges of a request. Fewer than MinSeeds show no spread, and above MaxEpsilon a
// guarantee says little.
const (
	MinEpsilon, MaxEpsilon = 1e-4, 64
	MinSeeds, MaxSeeds     = 3, 100
	maxCount               = 100
)

// DefaultRequest asks for what the base can be at ε.
func DefaultRequest(base train.Spec, epsilon float64) Request {
	r := Request{Base: base, Epsilon: epsilon, Rounds: []int{250, 1000, 4000, 16000}, Seeds: 10, Count: 5}
	if train.IsNetwork(base.Model) {
		r.Rounds, r.Seeds, r.Count = []int{250, 1000, 4000}, MinSeeds, 3
	}
	return r
}

// Validate reports every field of r outside its range.
func (r Request) Validate() error {
	var errs []error
	fail := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if r.Epsilon == 0 && r.TargetAccuracy == 0 {
		fail("an epsilon or a target accuracy must be given")
	}
	if r.Epsilon != 0 {
		errs = append(errs, dp.CheckRange("epsilon", r.Epsilon, MinEpsilon, MaxEpsilon))
	}
	if r.TargetAccuracy != 0 && !(r.TargetAccuracy > 0 && r.TargetAccuracy < 1) {
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

// Options says where proxies look and how they are run. They never change what is
// proposed, but for the probe.
type Options struct {
	Data  *train.Source // what is to be trained on: only how many records a client has is used of it
	Probe *train.Source // what proxies look at
	// Probing says in what relation the two stand; it must be given.
	Probing Probing
	Trials  pool.Options
	Perf    sim.Perf // with which the time of a training is forecast
}

// Infeasible is the error of a request that no setting meets.
type Infeasible struct {
	Reason   string   // what was found instead
	Remedies []string // what would be feasible, each by itself; may be empty
	Accuracy float64  // the most that is predicted within what was asked; 0: not known
	Epsilon  float64  // an ε that would do, more than was asked; 0: none is known
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

// Propose searches settings for the request and returns the best, ranked. The error is
// an *Infeasible if there are none.
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
	if best := slices.MinFunc(found, byAccuracy).accuracy; best < r.TargetAccuracy {
		return nil, s.tooAccurate(epsilon, best, points)
	}
	found = slices.DeleteFunc(found, func(c *candidate) bool { return c.accuracy < r.TargetAccuracy })
	return s.report(ctx, epsilon, found[:min(r.Count, len(found))], points)
}

// Drawing is how pictures of a report are drawn; the zero value is the program's own style, as PNG.
type Drawing = results.Drawing
