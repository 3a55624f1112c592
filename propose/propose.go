// Package propose suggests complete settings of DP-SGD for a privacy budget before any private training: batch size,
// number of rounds, noise multiplier, clipping norm and step sizes. Each setting comes with a predicted accuracy, its
// certified ε and its amount of work. Accuracies are predicted by proxies: cheap trainings with a smaller batch and
// less noise.
//
//	r, err := propose.Propose(ctx, request, propose.Options{Data: source, Probe: source, Probing: propose.Own})
//	…
//	best := r.Proposals[0].Setting // a train.Spec
//
// In a proxy, every step has the same signal-to-noise ratio as in the full training (Sander, Stock and Sablayrolles,
// "TAN without a burn", ICML 2023, arXiv 2210.03403; see train.Spec.Proxy). Its accuracy is measured on training rows
// that are held out, never on the test set. A proxy has almost no noise, so its results reveal the data that it uses.
// Proxies therefore use public or synthetic data; see [Probing].
package propose

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"proactivedp/dp"
	"proactivedp/internal/results"
	"proactivedp/sim"
	"proactivedp/train"
	"proactivedp/train/pool"
)

// Request is the input of [Propose]: a target epsilon or a target accuracy or both, the settings that all proposals
// have in common, and how much to try. [DefaultRequest] makes one.
type Request struct {
	// Base is what all settings have in common: model, data, clients, partition, permissible delay (how far a client
	// may run ahead of the global model), momentum, δ, seed. The proposal chooses batch size, gradient computations,
	// noise multiplier, step sizes and clipping norm, whatever Base has. It also chooses Average (a mean of the run's
	// global models), InputScale (by which the inputs of a network are multiplied) and FeatureMap (the features of
	// images), if Base does not give them.
	Base train.Spec `json:"base"`
	// Epsilon is the target epsilon of a record, for the rounds of all clients that hold it, in [MinEpsilon,
	// MaxEpsilon]. If Base.AtMost (the largest number of records of a person) is given, it is the target epsilon of a
	// person. 0 means to find the least ε that reaches TargetAccuracy.
	Epsilon float64 `json:"epsilon"`
	// TargetAccuracy is the accuracy to reach, or the value of another Base.Metric. It is in (0, 1), or for rmse and
	// mae a number above 0. 0 means to find the best accuracy for Epsilon.
	TargetAccuracy float64 `json:"target_accuracy,omitempty"`
	// Rounds lists the numbers of rounds to try, counted over all clients together. Each must be at least the number
	// of clients.
	Rounds []int `json:"rounds"`
	// Seeds is the number of seeds with which each reported setting is tried, the same seeds for all, in [3, 100].
	Seeds int `json:"seeds"`
	Count int `json:"count"` // largest number of proposals to return, in [1, 100]
}

// These are the limits of Request.Epsilon and Request.Seeds. Fewer than MinSeeds seeds do not show how much
// accuracies vary. Above MaxEpsilon a guarantee means little.
const (
	MinEpsilon, MaxEpsilon = 1e-4, 64
	MinSeeds, MaxSeeds     = 3, 100
	maxCount               = 100
)

// DefaultRequest returns a request for the most accurate settings within epsilon. base has what all proposals have in
// common, see [Request].Base. The request tries up to 16,000 rounds with 10 seeds, for 5 proposals. For networks and
// scattering features, whose proxies take seconds, it tries at most 4,000 rounds with 3 seeds, for 3 proposals.
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
	return errors.Join(append(errs, dp.CheckCount("seeds", r.Seeds, MinSeeds, MaxSeeds),
		dp.CheckCount("count", r.Count, 1, maxCount), checkBase(r.Base), r.Base.Validate())...)
}

// Options say on which data the search runs its proxies (cheaper trainings that predict accuracies), and how it runs
// them.
//
// From Perf, the search estimates how long trainings take, which can change one proposal. If all of the best settings
// have a noise multiplier σ below 2, [Propose] replaces the last of them by one with at least 2, unless Request.Count
// is 1. Such a setting has larger batches: it takes more gradients, but for the same ε it has more signal for its noise
// (a larger s√T/σ, with batch size s and T rounds). If the search has not tried such a setting, Propose tries further
// ones, but only those whose training would take at most an hour by the estimate.
type Options struct {
	// Data has the data of the later training. With Probing [Other], only facts such as the number of records are used.
	Data  *train.Source
	Probe *train.Source // data on which the proxies train; with Probing [Own] and [Private], the same Source as Data
	// Probing says whose data Probe has, see [Probing], and so what the search reveals. It must be given: the
	// report's statement about privacy depends on it.
	Probing Probing
	// Trials says how many proxies run at the same time, and which folder keeps their results. It does not change the
	// proposals.
	Trials pool.Options
	Perf   sim.Perf // how the later training uses this machine, for the estimate of its time
}

// Infeasible is the error if no setting meets a [Request] or a [TrainerRequest], for example because its ε is too
// small. Its field Remedies lists changes that would help.
type Infeasible struct {
	Reason   string   // why no setting meets the request
	Remedies []string // changes of the request, each of which is enough to get proposals; may be empty
	Accuracy float64  // the best accuracy that is predicted within the request; 0 if unknown
	Epsilon  float64  // an ε, larger than the requested one, that would be enough; 0 if unknown
}

// Error returns the reason and the remedies in one sentence.
func (e *Infeasible) Error() string {
	text := "infeasible: " + e.Reason
	if len(e.Remedies) > 0 {
		text += ": " + strings.Join(e.Remedies, ", or ")
	}
	return text
}

// isInfeasible returns err as an *Infeasible, if it is one.
func isInfeasible(err error) (*Infeasible, bool) { return errors.AsType[*Infeasible](err) }

// Propose searches for the best settings for a request and returns them, ranked by predicted accuracy. It runs
// proxies, cheaper trainings that predict the accuracy of full ones. If no setting meets the request, the error is an
// [*Infeasible]. It also fails if a field of r or o is invalid, if a proxy cannot be trained, or if ctx is cancelled.
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

// Drawing says how the picture of a report is drawn, and in which file formats. The zero value draws a PNG file in
// the default style of this program.
type Drawing = results.Drawing
