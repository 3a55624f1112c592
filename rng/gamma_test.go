package rng

import (
	"math"
	"testing"
)

// log G of a Gamma number G of shape a has the mean ψ(a) and the variance ψ'(a);
// here by their recurrences from large arguments. Within 7 standard deviations: a
// false alarm in 10¹¹ runs.
func TestLogGammaHasItsMoments(t *testing.T) {
	const draws = 100_000
	for i, shape := range []float64{0.01, 0.5, 1, 3, 1000} {
		mean, variance := 0.0, 0.0
		x := shape
		for ; x < 20; x++ {
			mean -= 1 / x
			variance += 1 / (x * x)
		}
		mean += math.Log(x) - 1/(2*x) - 1/(12*x*x)
		variance += 1/x + 1/(2*x*x) + 1/(6*x*x*x)

		s := New(3).Stream(Labels, uint32(i), 0)
		sum := 0.0
		for range draws {
			sum += s.LogGamma(shape)
		}
		if off := sum/draws - mean; math.Abs(off) > 7*math.Sqrt(variance/draws) {
			t.Errorf("shape %v: mean of log G is %v off %v", shape, off, mean)
		}
	}
}
