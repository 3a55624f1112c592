package audit

import (
	"math"

	"gonum.org/v1/gonum/mathext"

	"proactivedp/internal/root"
)

// ClopperPearson returns both ends of the interval for the probability of an event that was
// seen in hits of runs independent runs, at least 1. Each end is wrong with a probability of at
// most level.
func ClopperPearson(hits, runs int, level float64) (low, high float64) {
	return atLeast(hits, runs, level), atMost(hits, runs, level)
}

// atLeast and atMost are the ends of Clopper and Pearson's interval (1934) for
// the probability of an event that was seen in hits of runs ≥ 1 independent runs:
// each is wrong with a probability of at most level, whatever the truth.
//
// The lower end is the p at which so many hits or more have the probability
// level: P[Bin(runs, p) ≥ hits] = I_p(hits, runs−hits+1), the regularised
// incomplete beta function.
func atLeast(hits, runs int, level float64) float64 {
	if hits == 0 {
		return 0
	}
	// The inverse in the library is far off in both directions where the level is small. The
	// end may be small itself: its logarithm is found.
	const tolerance, least = 1e-12, 745 // exp(−745) is the smallest float64
	excess := func(p float64) float64 {
		return mathext.RegIncBeta(float64(hits), float64(runs-hits+1), p) - level
	}
	x, err := root.Find(func(x float64) float64 { return excess(math.Exp(-x)) }, 0, least, tolerance)
	if err != nil {
		return 0 // a lower end of every probability
	}
	return outwards(math.Exp(-x), -1, func(p float64) bool { return excess(p) > 0 })
}

func atMost(hits, runs int, level float64) float64 {
	const tolerance = 1e-12
	if hits == runs {
		return 1
	}
	// P[Bin(runs, p) ≤ hits] = I_(1-p)(runs−hits, hits+1) falls from 1 to 0.
	excess := func(p float64) float64 {
		return mathext.RegIncBeta(float64(runs-hits), float64(hits+1), 1-p) - level
	}
	p, err := root.Find(excess, 0, 1, tolerance)
	if err != nil {
		return 1 // an upper end of every probability
	}
	return outwards(p, 1, func(p float64) bool { return excess(p) > 0 })
}

// outwards moves an end p of an interval down (-1) or up (1), by little more than it must go,
// until it is not inside any more.
func outwards(p, side float64, inside func(p float64) bool) float64 {
	end := p
	for step := 0x1p-53; end > 0 && end < 1 && inside(end); step *= 1.25 {
		end = min(1, p*(1+side*step))
	}
	return end
}

// counts is how often an event was seen in runs of either world.
type counts struct {
	numerator, denominator int // hits in the world that is more likely, and in the other
	runs                   int // how many runs of each world were made
}

// epsilon returns what ε must at least be, for the given δ, if the event is as
// probable as the counts say: P(event) ≤ e^ε·P'(event) + δ. It is wrong with a
// probability of at most level, half of it for each end; 0 where nothing
// follows.
func (c counts) epsilon(delta, level float64) float64 {
	more := atLeast(c.numerator, c.runs, level/2) - delta
	if more <= 0 {
		return 0
	}
	return max(0, math.Log(more/atMost(c.denominator, c.runs, level/2)))
}
