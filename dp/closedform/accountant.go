package closedform

import (
	"context"

	"proactivedp/dp"
)

// Why Accountant may mix rounds. The theorem is stated for one N and one σ.
//
// Different N: the theorem depends only on the sample rates q_i = s_i/N. In its Lemma lemthree, the moment
// of a round is a multiple of q_i²/(1-q_i) or q_i³/(1-q_i)². Composition adds these moments, for rounds on
// any data sets that hold the record. The conditions need only K/N = Σq_i, s_max/N = max q_i and the
// number of rounds T, so θ = T·max q_i/Σq_i.
//
// Different σ: a round with more noise is a round with the smallest σ to which further noise is added.
// That is post-processing, which costs nothing.
//
// Different rates: the theorem's ε grows with θ, so it may be smaller for rounds that all have the largest
// rate. That ε also holds for the real rounds. The theorem bounds a dominating pair of each round,
// (1-q)N(0,σ²) + qN(1,σ²) against N(0,σ²). The pair at a smaller rate results from the pair at a larger
// rate by post-processing, which replaces a part of the outputs by draws from N(0,σ²). Composition
// preserves this order (Zhu, Dong, Wang, "Optimal accounting of differential privacy via characteristic
// function", 2022).

// Accountant computes ε by the paper's Theorem simpleF, with its constant γ corrected (see [Form]). Use it to compare
// with the paper; the accountant of package pld usually proves a smaller ε. The result is the smallest ε for which the
// conditions of the theorem hold (see [MinEpsilon]), rounded up so that they hold at the returned number itself.
//
// It covers Poisson sampling under add-or-remove adjacency. Sample rates, noise and the number of records
// N may differ between events. To account for several clients that use the same record, concatenate their
// events. If the noise differs, every round is counted with the smallest noise multiplier σ, which costs at least as
// much. For a given number of rounds, the theorem's ε grows with θ, the largest rate divided by the mean rate, and
// for very different rates it can be larger than if all rounds had the largest rate, where θ is 1. So Accountant computes
// ε for the given rates and for the largest one, and returns the smaller ε.
//
// The error wraps dp.ErrNotCovered for everything else: noise too small or rates too large for the
// theorem, and values outside the ranges. The ranges are N up to 2^53, up to 1e20 epochs, σ in
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

// Delta returns the δ of the events at the given ε, as dp.Accountant requires: the smallest δ for which the
// conditions of the paper's Theorem simpleF hold. The conditions are verified at that δ, which is rounded up as in
// [MinEpsilon]. The result is at least MinDelta. Its Bound is of kind dp.Upper.
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
