// Package rdp is Rényi differential privacy (Mironov, "Rényi Differential
// Privacy", CSF 2017) of rounds of noisy sums over sampled records: exact
// Rényi divergences of the worst pair of neighbours at every real order, their
// sums over rounds, and an accountant that takes the best of all orders.
//
// To begin, ask the zero [Accountant] what some rounds cost that were fixed
// beforehand. Rounds that are chosen by results go through a [Filter]. [Divergence]
// is one round at one order, and [Epsilon] and [Delta] turn an order's sum into
// (ε, δ).
//
// The worst pairs, for one record with a clipped gradient of norm at most C and
// noise N(0, C²σ²), in units of C, are
//
//   - Poisson sampling, add-or-remove: (1-q)N(0,σ²) + qN(1,σ²) against N(0,σ²).
//     That it suffices in one dimension and in this order is proved in Mironov,
//     Talwar, Zhang, "Rényi Differential Privacy of the Sampled Gaussian
//     Mechanism" (arXiv 1908.10530), Section 3;
//   - Poisson sampling, replace-one: (1-q)N(0,σ²) + qN(1,σ²) against
//     (1-q)N(0,σ²) + qN(-1,σ²); see [Divergence] for the proof;
//   - fixed-size samples, replace-one: the sum moves by as much as 2C, and the
//     pair is that of the trade-off function C_q(G_{2/σ}) (Dong, Roth, Su,
//     "Gaussian Differential Privacy", JRSS-B 2022; arXiv 1905.02383, Theorem
//     4.2). Wherever they were compared, its divergence is below the bound of
//     Wang, Balle, Kasiviswanathan (arXiv 1808.00087, Theorem 27).
//
// The noise multiplier σ is relative to C under both adjacencies. Where others
// give it relative to the most that a replaced record can change, 2C, theirs is
// half of the one here for the same noise.
package rdp

import (
	"context"
	"errors"
	"fmt"
	"math"

	"proactivedp/dp"
)

// The ranges that are covered; beyond them is dp.ErrNotCovered.
const (
	MinSigma, MaxSigma = 0.1, 1e6 // of the noise multiplier σ
	MinRate            = 1e-30    // of the sample rate q
)

// The orders that are searched, by their distance from 1.
const (
	minExcess = 1e-9
	maxExcess = 1e10
)

// Accountant composes Rényi divergences. Its Bounds are of kind dp.Upper.
//
// It covers Poisson sampling under both adjacencies and fixed-size samples
// under replace-one, all events of a release alike in both; rates and noise may
// differ. dp.ErrNotCovered are other pairs of sampling and adjacency, events of
// different pairs, no events, σ outside [MinSigma, MaxSigma] and q below
// MinRate.
type Accountant struct {
	// Orders, each in (1, 1e10], are the only ones that are looked at, to compare
	// with accountants that have such a list. With none, the best of all orders is
	// found.
	Orders []float64
}

var _ dp.Accountant = Accountant{}

// Name returns "rdp".
func (Accountant) Name() string { return "rdp" }

// Epsilon implements dp.Accountant: the least ε of all orders, see [Epsilon].
func (a Accountant) Epsilon(ctx context.Context, events []dp.Event, delta float64) (dp.Bound, error) {
	r, b, err := a.release(events, dp.CheckDelta(delta, 0))
	if err != nil {
		return dp.Bound{}, err
	}
	if r.totalVariation() > delta {
		b.Epsilon = a.least(func(alpha float64) float64 { return epsilon(alpha, r.divergence(ctx, alpha), delta) })
	}
	if err := context.Cause(ctx); err != nil {
		return dp.Bound{}, err
	}
	b.EpsilonUpper = b.Epsilon
	b.DeltaLower, b.Delta, b.DeltaUpper = delta, delta, delta
	return b, nil
}

// Delta implements dp.Accountant: the least δ of all orders, see [Delta]. It is
// never 0, if need be the smallest positive float64.
func (a Accountant) Delta(ctx context.Context, events []dp.Event, epsilon float64) (dp.Bound, error) {
	r, b, err := a.release(events, dp.CheckNotNegative("epsilon", epsilon))
	if err != nil {
		return dp.Bound{}, err
	}
	l := a.least(func(alpha float64) float64 { return logDelta(alpha, r.divergence(ctx, alpha), epsilon) })
	if err := context.Cause(ctx); err != nil {
		return dp.Bound{}, err
	}
	b.Delta = r.totalVariation()
	b.Delta = min(b.Delta, roundedExp(l))
	b.DeltaUpper = b.Delta
	b.EpsilonLower, b.Epsilon, b.EpsilonUpper = epsilon, epsilon, epsilon
	return b, nil
}

// least minimises f over the orders.
func (a Accountant) least(f func(alpha float64) float64) float64 {
	if len(a.Orders) == 0 {
		_, least := leastOfAll(f)
		return least
	}
	least := math.Inf(1)
	for _, alpha := range a.Orders {
		least = min(least, f(alpha))
	}
	return least
}

// release checks events and the orders and returns what is released and a Bound
// that lacks only its numbers. other is what is wrong with the caller's own
// argument, if anything.
func (a Accountant) release(events []dp.Event, other error) (release, dp.Bound, error) {
	invalid := []error{other}
	for _, alpha := range a.Orders {
		invalid = append(invalid, CheckOrder(alpha))
	}
	for i, e := range events {
		if err := e.Validate(); err != nil {
			invalid = append(invalid, fmt.Errorf("event %d: %w", i, err))
		}
	}
	if err := errors.Join(invalid...); err != nil {
		return nil, dp.Bound{}, err
	}
	if len(events) == 0 {
		return nil, dp.Bound{}, fmt.Errorf("no events: %w", dp.ErrNotCovered)
	}
	first := events[0]
	b := dp.Bound{Kind: dp.Upper, Accountant: a.Name(), Adjacency: first.Adjacency, Sampling: first.Sampling}
	counted, _, err := dp.Unamplified(events)
	if err != nil {
		return nil, dp.Bound{}, err
	}
	var errs []error
	var r release
	at := map[pair]int{}
	for i, e := range events {
		if e.Sampling != first.Sampling || e.Adjacency != first.Adjacency {
			errs = append(errs, fmt.Errorf(
				"event %d: %q under %q adjacency differs from %q under %q of event 0: %w",
				i, e.Sampling, e.Adjacency, first.Sampling, first.Adjacency, dp.ErrNotCovered))
			continue
		}
		e = counted[i]
		p, err := newPair(e)
		if err != nil {
			errs = append(errs, fmt.Errorf("event %d: %w", i, err))
			continue
		}
		j, known := at[p]
		if !known {
			j = len(r)
			at[p] = j
			r = append(r, rounds{pair: p})
		}
		r[j].count += float64(e.Count)
	}
	return r, b, errors.Join(errs...)
}

// rounds is a number of rounds with one pair.
type rounds struct {
	pair
	count float64
}

// release is all rounds; their divergences add up (Mironov 2017, Proposition 1).
type release []rounds

// divergence is that of order alpha, rounded up, or a part of it once ctx is
// done, which is to be thrown away.
func (r release) divergence(ctx context.Context, alpha float64) float64 {
	sum := 0.0
	for _, p := range r {
		if ctx.Err() != nil {
			break
		}
		sum += p.count * p.divergence(alpha-1)
	}
	return sum * (1 + margin)
}

// totalVariation bounds the total variation distance of the release, its δ at
// ε = 0, by that of its rounds: 1 - Π(1-TV_i).
func (r release) totalVariation() float64 {
	logSame := 0.0
	for _, p := range r {
		logSame += p.count * math.Log1p(-p.pair.totalVariation())
	}
	return min(1, -math.Expm1(logSame)*(1+margin))
}

// margin is what divergences are rounded up by, relatively: a hundred times the
// largest error seen of the quadrature.
const margin = 1e-9

// CheckOrder reports a Rényi order α that is not above 1, or above 1e10 by more than 1.
func CheckOrder(alpha float64) error {
	if !(alpha > 1 && alpha <= 1+maxExcess) {
		return fmt.Errorf("order = %v, must be in (1, %g]", alpha, float64(maxExcess))
	}
	return nil
}
