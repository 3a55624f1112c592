package audit

import (
	"math"

	"gonum.org/v1/gonum/mathext"
)

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
	return mathext.InvRegIncBeta(float64(hits), float64(runs-hits+1), level)
}

func atMost(hits, runs int, level float64) float64 {
	if hits == runs {
		return 1
	}
	return mathext.InvRegIncBeta(float64(hits+1), float64(runs-hits), 1-level)
}

// counts is how often an event was seen in runs of either world.
type counts struct {
	numerator, denominator int // hits
	runs                   int // of each
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
