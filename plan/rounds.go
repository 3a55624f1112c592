package plan

import (
	"math"

	"proactivedp/dp"
	"proactivedp/internal/decimal"
)

// Rounds returns how many rounds make up the given number of epochs k, with the batch size or sample rate of e. With
// N records and batch size s, it is ⌈kN/s⌉: the least number of whole rounds that computes kN gradients. With only a
// sample rate q, it is ⌈k/q⌉. For [dp.Shuffle] and [dp.Allocation] with t batches in an epoch, it is ⌈kt⌉. ok is
// false if there are more than 2^53 rounds.
func Rounds(epochs float64, e dp.Event) (rounds int, ok bool) {
	if !e.Sampling.HasEpochs() && e.DatasetSize != 0 {
		k, ok := count(epochs * float64(e.DatasetSize))
		return roundsOf(k, e.SampleSize), ok
	}
	perEpoch := 1 / e.SampleRate()
	if e.Sampling.HasEpochs() {
		perEpoch = float64(e.Batches())
	}
	// A quotient may be above a whole number only because it was rounded.
	return decimal.Whole(math.Ceil(epochs * perEpoch * (1 - 1e-12)))
}

// roundsOf returns the least number of rounds of size s that computes k gradients.
func roundsOf(k, s int) int {
	if k < 1 || s < 1 {
		return 0
	}
	return (k-1)/s + 1
}

// largestIn returns the largest size with which k gradients need the given number of rounds.
func largestIn(k, rounds int) int {
	if rounds <= 1 {
		return k
	}
	return (k - 1) / (rounds - 1)
}

// count returns K = ⌈kN⌉, corrected for the rounding of k = K/N in float64. If K is outside
// [0, maxCount], ok is false.
func count(kn float64) (k int, ok bool) {
	whole := math.Round(kn)
	if math.Abs(kn-whole) > 4e-16*kn {
		whole = math.Ceil(kn)
	}
	return decimal.Whole(whole)
}

// epochsCount returns K as count does, for epochs that were already validated.
func epochsCount(epochs float64, n int) int {
	k, _ := count(epochs * float64(n))
	return k
}

// isTooLittle reports whether the epochs are less than one gradient computation.
func isTooLittle(epochs float64, n int) bool { return epochs*float64(n) < 1-4e-16 }
