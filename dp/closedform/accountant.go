package closedform

import (
	"context"

	"proactivedp/dp"
)

// Accountant computes ε by the paper's Theorem simpleF, with its constant γ corrected (see Form). The
// result is the smallest ε for which the theorem's conditions hold. The conditions are verified at
// exactly that ε; see [MinEpsilon].
//
// It covers Poisson sampling under add-or-remove adjacency. Rates and noise may differ between
// events, and so may N. The theorem depends only on the rates q_i = s_i/N: in Lemma lemthree every
// moment is a multiple of q_i²/(1-q_i) or q_i³/(1-q_i)². Composition adds the moments of rounds on
// any data sets that hold the record. The conditions need only K/N = Σq_i, s_max/N = max q_i and T,
// so θ = T·max q_i/Σq_i. To account for several clients that use the same record, concatenate their
// events.
//
// If the noise differs, the smallest σ is used for all events, because more noise is
// post-processing.
//
// If the rates differ, Accountant also computes the ε of the same rounds all at the largest rate,
// and claims the lesser of the two. That ε may be less, because the theorem's ε grows with θ. It
// holds for smaller rates: the theorem bounds the dominating pair of every round, (1-q)N(0,σ²) +
// qN(1,σ²) against N(0,σ²). The pair at a smaller rate follows from that at a larger rate by
// post-processing, which replaces a part of the outputs by draws from N(0,σ²), and composition
// preserves this order (Zhu, Dong, Wang, "Optimal accounting of differential privacy via
// characteristic function", 2022).
//
// The error wraps dp.ErrNotCovered for everything else: noise too small or rates too large for the
// theorem, and values outside the ranges. The ranges are N up to 2^53, K/N up to 1e20, σ in
// [MinSigma, MaxSigma], δ from MinDelta, and ε in [1e-60, 1e30].
type Accountant struct{}

var _ dp.Accountant = Accountant{}

// Name returns "closed-form".
func (Accountant) Name() string { return "closed-form" }

// Epsilon returns the ε of the events at the given δ, as dp.Accountant requires. Its Bound is of kind dp.Upper.
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

// Delta returns the δ of the events at the given ε, as dp.Accountant requires: the smallest δ for which the theorem's
// conditions hold. The conditions are verified at that δ, which is rounded up as in [MinEpsilon]. The result is at
// least MinDelta. Its Bound is of kind dp.Upper.
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

// lessOf returns the lesser of two results of bound: for s, and for s with the largest size in
// every round. If only one is covered, it returns that one. If neither is, it returns the error for
// s.
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

// epsilonBound returns the Bound for the answer ε at a given δ.
func epsilonBound(a dp.Accountant, eps, delta float64) dp.Bound {
	return dp.Bound{
		Epsilon: eps, EpsilonUpper: eps, DeltaLower: delta, Delta: delta, DeltaUpper: delta,
		Kind: dp.Upper, Accountant: a.Name(), Adjacency: dp.AddOrRemove, Sampling: dp.Poisson,
	}
}

// deltaBound returns the Bound for the answer δ at a given ε.
func deltaBound(a dp.Accountant, eps, delta float64) dp.Bound {
	return dp.Bound{
		EpsilonLower: eps, Epsilon: eps, EpsilonUpper: eps, Delta: delta, DeltaUpper: delta,
		Kind: dp.Upper, Accountant: a.Name(), Adjacency: dp.AddOrRemove, Sampling: dp.Poisson,
	}
}
