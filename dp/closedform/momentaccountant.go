package closedform

import (
	"context"

	"proactivedp/dp"
)

// MomentAccountant computes ε by the paper's Theorem thm1 in its corrected form (see [Form]). It covers the same
// events as [Accountant]: Poisson sampling under add-or-remove adjacency. Up to rounding, its ε is never larger than
// that of Accountant. It is better for batch sizes that vary, because it counts each round at its own sample rate q,
// with cost q²/(1-q), and not at the largest rate of all rounds.
type MomentAccountant struct{}

var _ dp.Accountant = MomentAccountant{}

// Name returns "closed-form-moments".
func (MomentAccountant) Name() string { return "closed-form-moments" }

// Epsilon returns the ε of the events at the given δ, as dp.Accountant requires, by [Moments.MinEpsilon]. Its Bound
// is of kind dp.Upper.
func (a MomentAccountant) Epsilon(ctx context.Context, events []dp.Event, delta float64) (dp.Bound, error) {
	if err := context.Cause(ctx); err != nil {
		return dp.Bound{}, err
	}
	m, sigma, err := momentsOf(events, askedDelta(delta))
	if err != nil {
		return dp.Bound{}, err
	}
	eps, err := m.MinEpsilon(Corrected, sigma, delta)
	if err != nil {
		return dp.Bound{}, err
	}
	return epsilonBound(a, eps, delta), nil
}

// Delta returns the δ of the events at the given ε, as dp.Accountant requires, by [Moments.LeastDelta]. Its Bound is
// of kind dp.Upper.
func (a MomentAccountant) Delta(ctx context.Context, events []dp.Event, epsilon float64) (dp.Bound, error) {
	if err := context.Cause(ctx); err != nil {
		return dp.Bound{}, err
	}
	m, sigma, err := momentsOf(events, askedEpsilon(epsilon))
	if err != nil {
		return dp.Bound{}, err
	}
	delta, err := m.LeastDelta(Corrected, sigma, epsilon)
	if err != nil {
		return dp.Bound{}, err
	}
	return deltaBound(a, epsilon, delta), nil
}
