package audit

import (
	"math"
	"slices"
)

// Test is a lower bound on ε that comes from one statistic, a number that the adversary computes in each run of a
// probe (a small training that runs with and without the canary, the record in question). The adversary guesses by
// the event named in Event: the statistic is beyond a threshold. The test compares how often the event occurs in runs
// with the canary and in runs without it. Over says in which of them it should occur more often.
type Test struct {
	Statistic string `json:"statistic"`
	// Over is "with/without" if the event should occur more often in the runs with the canary than in those without it,
	// and otherwise "without/with". It stands for a fraction: how often the event occurs in the runs that the first word
	// names, divided by how often it occurs in those of the second. The bound on ε is the logarithm of this fraction,
	// less what δ and the statistical error can explain.
	Over      string  `json:"over"`
	Event     string  `json:"event"`
	Threshold float64 `json:"threshold"`
	// NumeratorHits and DenominatorHits count the runs in which the event occurred, in the two kinds of runs that
	// Over names. CountedRuns is the number of runs of each kind. The runs by which the threshold was chosen are not
	// counted.
	NumeratorHits     int     `json:"numerator_hits"`
	DenominatorHits   int     `json:"denominator_hits"`
	CountedRuns       int     `json:"counted_runs"`
	EpsilonLowerBound float64 `json:"epsilon_lower_bound"`
}

// directions tests a statistic in both directions: whether it is larger with the canary, and whether it
// is larger without. with and without are its values in the runs of both worlds.
func directions(name string, with, without []float64, delta, level float64) []Test {
	up := test(with, without, delta, level)
	up.Statistic, up.Over, up.Event = name, "with/without", "statistic > threshold"
	down := test(negative(without), negative(with), delta, level)
	down.Statistic, down.Over, down.Event = name, "without/with", "statistic < threshold"
	down.Threshold = 0 - down.Threshold
	return []Test{up, down}
}

func negative(x []float64) []float64 {
	out := make([]float64, len(x))
	for i, v := range x {
		out[i] = -v
	}
	return out
}

// test bounds ε by the event that the statistic exceeds a threshold. The first half of the runs chooses
// the threshold, and only the second half is counted.
func test(numerator, denominator []float64, delta, level float64) Test {
	half := len(numerator) / 2
	sorted := func(x []float64) []float64 { return slices.Sorted(slices.Values(x)) }
	threshold := choose(sorted(numerator[:half]), sorted(denominator[:half]), delta, level)
	num, den := sorted(numerator[half:]), sorted(denominator[half:])
	c := counts{above(num, threshold), above(den, threshold), len(num)}
	return Test{
		Threshold: threshold, NumeratorHits: c.numerator, DenominatorHits: c.denominator, CountedRuns: c.runs,
		EpsilonLowerBound: c.epsilon(delta, level),
	}
}

// choose returns the threshold that gives the largest lower bound on ε. It tries thresholds that are exceeded by
// 0, 1, 2, … of the denominator's values, with steps that grow in proportion to the rank.
func choose(num, den []float64, delta, level float64) float64 {
	best, threshold := math.Inf(-1), 0.0
	for rank := 0; rank < len(den); rank += 1 + rank/8 {
		t := den[len(den)-1-rank]
		c := counts{above(num, t), above(den, t), len(den)}
		if e := c.epsilon(delta, level); e > best {
			best, threshold = e, t
		}
	}
	return threshold
}

// above returns how many values of a sorted slice are larger than t.
func above(x []float64, t float64) int {
	i, _ := slices.BinarySearchFunc(x, t, func(v, t float64) int {
		if v > t {
			return 1
		}
		return -1
	})
	return len(x) - i
}
