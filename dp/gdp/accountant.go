package gdp

import (
	"context"
	"errors"
	"fmt"
	"math"

	"proactivedp/dp"
)

// Accountant computes ε and δ by Gaussian differential privacy. It is exact for rounds that use all records. For
// rounds that sample, it is an approximation that proves nothing; use package pld for a bound. It computes the μ of
// each round. The μ of the release is the square root of the sum of their squares (Dong, Roth, Su 2022, Corollary
// 3.3).
//
// Rounds that use all records (q = 1) are exactly Gaussian. Each has μ = 1/σ under add-or-remove
// adjacency and μ = 2/σ under replace-one adjacency. If all rounds use all records, the Bound is
// dp.Exact.
//
// For rounds that sample, Accountant uses the limit in the central limit theorem: [MuPoisson] for Poisson sampling
// under add-or-remove adjacency, and [MuUniform] at σ/2 for fixed-size sampling under replace-one adjacency. The
// Bound is then a dp.Approximation. It may underestimate ε (Gopi, Lee, Wutschitz, "Numerical Composition of
// Differential Privacy", NeurIPS 2021, show by how much).
//
// Shuffled batches (under zero-out or replace-one adjacency) are accounted for as one Gaussian round on all records
// for each epoch. That costs at least as much as the shuffled batches, see [dp.Unamplified], so the Bound is dp.Upper.
//
// All events must have the same sampling and adjacency. The error wraps dp.ErrNotCovered if two events differ in one of
// the two, or if the combination of sampling and adjacency is not named above. It also does so if there are no events,
// if an event has no noise, if the noise multiplier of rounds that sample is outside what [MuPoisson] or [MuUniform]
// allows, if μ is above [Largest], or if δ is below [MinDelta].
type Accountant struct{}

var _ dp.Accountant = Accountant{}

// Name returns "gdp".
func (Accountant) Name() string { return "gdp" }

// Epsilon returns the ε of the events at the given δ, as dp.Accountant requires.
func (a Accountant) Epsilon(ctx context.Context, events []dp.Event, delta float64) (dp.Bound, error) {
	if err := context.Cause(ctx); err != nil {
		return dp.Bound{}, err
	}
	bad := dp.CheckDelta(delta, MinDelta)
	if bad != nil && delta > 0 && delta < 1 {
		bad = fmt.Errorf("%w: %w", bad, dp.ErrNotCovered)
	}
	mu, b, err := a.account(events, bad)
	if err != nil {
		return dp.Bound{}, err
	}
	eps, err := Epsilon(mu, delta)
	if err != nil {
		return dp.Bound{}, err
	}
	b.DeltaLower, b.Delta, b.DeltaUpper = delta, delta, delta
	b.EpsilonLower, b.Epsilon, b.EpsilonUpper = ends(b.Kind, eps)
	return b, nil
}

// Delta returns the δ of the events at the given ε, as dp.Accountant requires. For ε above [Largest], the error wraps
// dp.ErrNotCovered. If an exact δ is below [LeastExact], the Bound is dp.Upper, and its upper end is above 0.
func (a Accountant) Delta(ctx context.Context, events []dp.Event, epsilon float64) (dp.Bound, error) {
	if err := context.Cause(ctx); err != nil {
		return dp.Bound{}, err
	}
	bad := dp.CheckRange("epsilon", epsilon, 0, Largest)
	if bad != nil && epsilon > 0 && !math.IsInf(epsilon, 1) {
		bad = fmt.Errorf("%w: %w", bad, dp.ErrNotCovered)
	}
	mu, b, err := a.account(events, bad)
	if err != nil {
		return dp.Bound{}, err
	}
	b.EpsilonLower, b.Epsilon, b.EpsilonUpper = epsilon, epsilon, epsilon
	delta := Delta(mu, epsilon)
	if b.Kind != dp.Approximation && delta < LeastExact {
		b.Kind, b.Delta = dp.Upper, delta+math.SmallestNonzeroFloat64
		b.DeltaUpper = b.Delta
		return b, nil
	}
	b.DeltaLower, b.Delta, b.DeltaUpper = ends(b.Kind, delta)
	return b, nil
}

// ends returns the lower end, the value and the upper end of a Bound of the given kind.
func ends(kind dp.Kind, v float64) (float64, float64, float64) {
	switch kind {
	case dp.Exact:
		return v, v, v
	case dp.Upper:
		return 0, v, v
	}
	return 0, v, math.Inf(1)
}

// account checks the events. It returns the μ of the release, and a Bound in which only ε and δ are
// missing. other is the error that the caller found in its own argument, or nil; it is reported
// together with the others.
func (a Accountant) account(events []dp.Event, other error) (float64, dp.Bound, error) {
	if err := errors.Join(other, dp.CheckEvents(events)); err != nil {
		return 0, dp.Bound{}, err
	}
	if len(events) == 0 {
		return 0, dp.Bound{}, fmt.Errorf("no events: %w", dp.ErrNotCovered)
	}
	first := events[0]
	b := dp.Bound{Kind: dp.Exact, Accountant: a.Name(), Adjacency: first.Adjacency, Sampling: first.Sampling}
	counted, unamplified, err := dp.Unamplified(events)
	if err != nil {
		return 0, dp.Bound{}, err
	}
	if unamplified {
		b.Kind = dp.Upper
	}
	var errs []error
	total := 0.0
	for i, e := range events {
		if e.Sampling != first.Sampling || e.Adjacency != first.Adjacency {
			errs = append(errs, fmt.Errorf(
				"event %d: %q under %q adjacency differs from %q under %q of event 0: %w",
				i, e.Sampling, e.Adjacency, first.Sampling, first.Adjacency, dp.ErrNotCovered))
		}
		if counted[i].SampleRate() < 1 {
			b.Kind = dp.Approximation
		}
		mu, err := muOf(counted[i])
		if err != nil {
			if !errors.Is(err, dp.ErrNotCovered) {
				err = fmt.Errorf("%w: %w", err, dp.ErrNotCovered)
			}
			errs = append(errs, fmt.Errorf("event %d: %w", i, err))
		}
		total = math.Hypot(total, mu)
	}
	if err := errors.Join(errs...); err != nil {
		return 0, dp.Bound{}, err
	}
	if err := dp.CheckRange("mu", total, 0, Largest); err != nil {
		return 0, dp.Bound{}, fmt.Errorf("%w: %w", err, dp.ErrNotCovered)
	}
	return total, b, nil
}

// muOf returns the μ of all rounds of a valid event. Without noise it is infinite.
func muOf(e dp.Event) (float64, error) {
	q, sigma, rounds := e.SampleRate(), e.NoiseMultiplier, float64(e.Count)
	if sigma == 0 {
		return 0, errors.New("noise multiplier = 0, nothing is guaranteed without noise")
	}
	scheme, err := e.Scheme()
	if err != nil {
		return 0, err
	}
	if scheme == dp.AllocationAddOrRemove || scheme == dp.GroupAddOrRemove || scheme == dp.TruncatedAddOrRemove {
		return 0, fmt.Errorf("%v has no central limit theorem here: %w", scheme, dp.ErrNotCovered)
	}
	sigma /= scheme.Sensitivity()
	switch {
	case q == 1 && (scheme == dp.PoissonAddOrRemove || scheme == dp.PoissonReplaceOne || scheme == dp.FixedReplaceOne):
		return math.Sqrt(rounds) / sigma, nil
	case scheme == dp.PoissonAddOrRemove:
		return MuPoisson(q, sigma, rounds)
	case scheme == dp.FixedReplaceOne:
		mu, err := MuUniform(q, sigma, rounds)
		if err != nil {
			err = fmt.Errorf("at half the noise multiplier: %w", err)
		}
		return mu, err
	}
	return 0, fmt.Errorf("sampling = %q under %q adjacency, must be poisson under add-or-remove or fixed under replace-one", e.Sampling, e.Adjacency)
}
