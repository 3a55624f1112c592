package pld

import (
	"fmt"
	"math"
	"slices"

	"proactivedp/dp"
)

// A batch of at most B records costs more than an ordinary Poisson sample: whether another record is cut may reveal a
// record. Let τ be the probability that any of the batches has more than B records, at the larger neighbour. Run
// the cut rounds and the ordinary ones with the same samples and noise, until a batch is too large. They differ with
// probability τ at most. So for both neighbours, and for rounds that are chosen by earlier results,
//
//	P_cut(S) ≤ P(S) + τ ≤ e^ε·Q(S) + δ + τ ≤ e^ε·Q_cut(S) + δ + (1 + e^ε)τ,
//
// and in the same way the other way round. See L. Chua et al., "Scalable DP-SGD: Shuffling vs. Poisson Subsampling",
// NeurIPS 2024, arXiv 2411.04205, appendix A.

// uncut returns the events with ordinary samples instead of truncated batches, and τ.
func uncut(events []dp.Event) (all []dp.Event, tau float64) {
	for i, e := range events {
		if scheme, _ := e.Scheme(); scheme != dp.TruncatedAddOrRemove || e.Validate() != nil {
			continue
		}
		if all == nil {
			all = slices.Clone(events)
		}
		tau += float64(e.Count) * above(e.DatasetSize, e.SampleRate(), e.Truncated) * (1 + 4*unit)
		if all[i].Truncated = 0; e.Rate != 0 {
			all[i].DatasetSize = 0
		}
	}
	if all == nil {
		return events, 0
	}
	return all, min(1, tau)
}

// above bounds the probability that more than most of n records are drawn, each with probability q. It is the
// probability of exactly most+1, times a geometric series: the ratio of one probability to the one before falls.
func above(n int, q float64, most int) float64 {
	if most >= n {
		return 0
	}
	if q == 1 {
		return 1
	}
	all, k := float64(n), float64(most)+1
	ratio := (all - k) / (k + 1) * q / (1 - q) * (1 + 8*unit)
	if !(ratio < 1) {
		return 1
	}
	var log, size float64
	for _, f := range []float64{lgamma(all + 1), -lgamma(k + 1), -lgamma(all - k + 1), k * math.Log(q), (all - k) * math.Log1p(-q)} {
		log, size = log+f, size+math.Abs(f)
	}
	// It is not 0: at a large ε, even less than the least float64 times e^ε may be more than δ.
	return min(1, max(math.SmallestNonzeroFloat64, math.Exp(log+32*unit*size)/(1-ratio)*(1+8*unit)))
}

func lgamma(x float64) float64 {
	v, _ := math.Lgamma(x)
	return v
}

// cutCost returns (1 + e^ε)τ, rounded up.
func (q query) cutCost(epsilon float64) float64 {
	return (1 + math.Exp(epsilon)) * q.tau * (1 + 8*unit)
}

// cutEpsilon is epsilon for events with truncated batches. It looks for an ε with δ(ε) + (1 + e^ε)τ ≤ δ: it tries
// a guess of ε in the second term, and ε is at most the guess.
func (q query) cutEpsilon(delta float64) (lower, upper float64, err error) {
	lower, upper, err = q.epsilon(delta)
	if q.tau == 0 || err != nil {
		return lower, upper, err
	}
	const tries = 50
	for range tries {
		guess := upper*(1+1e-6) + 1e-9
		cost := q.cutCost(guess)
		rest := (delta - cost) * (1 - 8*unit)
		if !(rest > q.spent()*(1+1e-12)) || rest < MinDelta {
			break
		}
		if _, upper, err = q.epsilon(rest); err != nil {
			return 0, 0, err
		}
		if upper <= guess {
			lower = 0
			if more := (delta + cost) * (1 + 8*unit); more < 1 {
				lower, _, err = q.epsilon(more)
			}
			return min(lower, upper), upper, err
		}
	}
	return 0, 0, fmt.Errorf("delta = %v, must be above (1 + e^ε)·%.3g, which batches of more than the largest size add: give a "+
		"larger truncated batch size: %w", delta, q.tau, dp.ErrNotCovered)
}
