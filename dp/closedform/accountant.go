package closedform

import (
	"context"

	"proactivedp/dp"
)

// Accountant is Theorem simpleF, with the corrected γ, read as an accountant:
// its ε is the smallest for which the theorem's conditions hold, and they are
// verified at exactly that ε; see [MinEpsilon].
//
// It covers Poisson sampling under add-or-remove adjacency. Rates and noise
// may differ from event to event. The rates, and nothing else of N and s_i, are
// what the theorem is about: in Lemma lemthree every moment is
// q_i²/(1-q_i) and q_i³/(1-q_i)² of q_i = s_i/N, composition adds the moments of
// rounds on whatever data sets hold the record, and the conditions need only
// K/N = Σq_i, s_max/N = max q_i and T. So events of different N compose, with
// θ = T·max q_i/Σq_i. Of the noise the smallest σ is used for all events, since
// more noise is post-processing. Where rates differ, the same rounds all at the largest
// rate are the other release that is looked at, and the less of both is claimed: the
// theorem's ε grows with θ, so that of equal rates may be less, and it holds for smaller
// ones. For what it bounds is the dominating pair of every round, (1-q)N(0,σ²) +
// qN(1,σ²) against N(0,σ²), which are outputs of a mechanism too; at the smaller rate the
// pair comes of that at the larger one by post-processing, an output of which a part is
// replaced by a draw from N(0,σ²), and composition keeps the order (Zhu, Dong, Wang,
// "Optimal accounting of differential privacy via characteristic function", 2022). Rounds
// of several clients that use the same
// record are covered by concatenating their events.
//
// Everything else, and noise too small or rates too large for the theorem, is
// dp.ErrNotCovered, and so is what is outside the ranges: N up to 2^53, K/N up
// to 1e20, σ in [MinSigma, MaxSigma], δ from MinDelta, ε in [1e-60, 1e30].
type Accountant struct{}

var _ dp.Accountant = Accountant{}

// Name returns "closed-form".
func (Accountant) Name() string { return "closed-form" }

// Epsilon implements dp.Accountant. Its Bound is of kind dp.Upper.
func (a Accountant) Epsilon(ctx context.Context, events []dp.Event, delta float64) (dp.Bound, error) {
	if err := context.Cause(ctx); err != nil {
		return dp.Bound{}, err
	}
	s, err := settingOf(events, askedDelta(delta))
	if err != nil {
		return dp.Bound{}, err
	}
	s.Delta = delta
	eps, err := lessOf(s, func(s Setting) (float64, error) { return MinEpsilon(Corrected, s) })
	if err != nil {
		return dp.Bound{}, err
	}
	return epsilonBound(a, eps, delta), nil
}

// Delta implements dp.Accountant: the smallest δ for which the theorem's
// conditions hold at ε, verified there and rounded up as in [MinEpsilon]; it
// is MinDelta where smaller ones would do. Its Bound is of kind dp.Upper.
func (a Accountant) Delta(ctx context.Context, events []dp.Event, epsilon float64) (dp.Bound, error) {
	if err := context.Cause(ctx); err != nil {
		return dp.Bound{}, err
	}
	s, err := settingOf(events, askedEpsilon(epsilon))
	if err != nil {
		return dp.Bound{}, err
	}
	s.Epsilon = epsilon
	delta, err := lessOf(s, func(s Setting) (float64, error) { return leastDelta(Corrected, s) })
	if err != nil {
		return dp.Bound{}, err
	}
	return deltaBound(a, epsilon, delta), nil
}

// lessOf returns the less of what bound says of the sizes of s and of the largest of them
// in every round. Where only one is covered it is that; where neither is, the error is
// that of s.
func lessOf(s Setting, bound func(Setting) (float64, error)) (float64, error) {
	least, err := bound(s)
	equal := s
	equal.Computed = s.Rounds * s.MaxSize
	if s.N == 1 {
		equal.Computed *= 1 - 2*ulp // as in settingOf
	}
	if equal == s {
		return least, err
	}
	if other, uncovered := bound(equal); uncovered == nil && (err != nil || other < least) {
		return other, nil
	}
	return least, err
}

// epsilonBound is the answer ε at a δ that was asked for.
func epsilonBound(a dp.Accountant, eps, delta float64) dp.Bound {
	return dp.Bound{
		Epsilon: eps, EpsilonUpper: eps, DeltaLower: delta, Delta: delta, DeltaUpper: delta,
		Kind: dp.Upper, Accountant: a.Name(), Adjacency: dp.AddOrRemove, Sampling: dp.Poisson,
	}
}

// deltaBound is the answer δ at an ε that was asked for.
func deltaBound(a dp.Accountant, eps, delta float64) dp.Bound {
	return dp.Bound{
		EpsilonLower: eps, Epsilon: eps, EpsilonUpper: eps, Delta: delta, DeltaUpper: delta,
		Kind: dp.Upper, Accountant: a.Name(), Adjacency: dp.AddOrRemove, Sampling: dp.Poisson,
	}
}
