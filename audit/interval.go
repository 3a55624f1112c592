package audit

import (
	"math"

	"gonum.org/v1/gonum/mathext"

	"proactivedp/internal/root"
)

// ClopperPearson returns a confidence interval [low, high] for the probability of an event that occurred hits times
// in runs independent runs, runs ≥ 1. level is the probability of error on each side: low is too large with a
// probability of at most level, and high is too small with a probability of at most level. So a 95 % interval needs
// level = 0.025.
func ClopperPearson(hits, runs int, level float64) (low, high float64) {
	return atLeast(hits, runs, level), atMost(hits, runs, level)
}

// atLeast and atMost return the ends of the Clopper-Pearson interval (1934) for the probability of an
// event that occurred hits times in runs ≥ 1 independent runs. Each end is wrong with a probability of at
// most level, whatever the true probability is.
//
// The lower end is the p for which at least this many hits have probability level: P[Bin(runs, p) ≥ hits]
// = I_p(hits, runs−hits+1), the regularised incomplete beta function.
func atLeast(hits, runs int, level float64) float64 {
	if hits == 0 {
		return 0
	}
	// The library's inverse of this function is inaccurate in both directions if level is small. The
	// end itself may also be small, so its logarithm is searched for.
	const tolerance, least = 1e-12, 745 // exp(−745) is the smallest float64
	excess := func(p float64) float64 {
		return mathext.RegIncBeta(float64(hits), float64(runs-hits+1), p) - level
	}
	x, err := root.Find(func(x float64) float64 { return excess(math.Exp(-x)) }, 0, least, tolerance)
	if err != nil {
		return 0 // 0 is a lower bound on every probability
	}
	return outwards(math.Exp(-x), -1, func(p float64) bool { return excess(p) > 0 })
}

func atMost(hits, runs int, level float64) float64 {
	const tolerance = 1e-12
	if hits == runs {
		return 1
	}
	// P[Bin(runs, p) ≤ hits] = I_(1-p)(runs−hits, hits+1) decreases from 1 to 0 in p.
	excess := func(p float64) float64 {
		return mathext.RegIncBeta(float64(runs-hits), float64(hits+1), 1-p) - level
	}
	p, err := root.Find(excess, 0, 1, tolerance)
	if err != nil {
		return 1 // 1 is an upper bound on every probability
	}
	return outwards(p, 1, func(p float64) bool { return excess(p) > 0 })
}

// outwards moves p, a computed end of an interval, down (side -1) or up (side 1) until inside(p) is
// false, by little more than necessary. So rounding does not make the interval too short.
func outwards(p, side float64, inside func(p float64) bool) float64 {
	end := p
	for step := 0x1p-53; end > 0 && end < 1 && inside(end); step *= 1.25 {
		end = min(1, p*(1+side*step))
	}
	return end
}

// counts has the number of runs, with the canary and without, in which an event occurred.
type counts struct {
	numerator, denominator int // hits in the world where the event is more likely, and in the other one
	runs                   int // number of runs in each world
}

// epsilon returns a lower bound on ε at the given δ, from P(event) ≤ e^ε·P'(event) + δ and the counts. It is wrong
// with a probability of at most level, half of it for each end of an interval. It is 0 if the counts show no
// larger ε.
func (c counts) epsilon(delta, level float64) float64 {
	more := atLeast(c.numerator, c.runs, level/2) - delta
	if more <= 0 {
		return 0
	}
	return max(0, math.Log(more/atMost(c.denominator, c.runs, level/2)))
}
