package audit

import (
	"testing"

	"proactivedp/dp/gdp"
	"proactivedp/rng"
)

// normals returns n numbers N(mean, 1).
func normals(n int, mean float64, s *rng.Stream) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = mean + s.Normal()
	}
	return x
}

// The runs that choose the threshold do not count for the bound. If the two worlds differ only in these
// runs, the bound is 0.
func TestThresholdIsChosenElsewhere(t *testing.T) {
	const n = 2000
	with, without := make([]float64, n), make([]float64, n)
	for i := range with {
		if i < n/2 {
			with[i] = 1
		}
	}
	for _, found := range directions("x", with, without, 0, 1e-3) {
		if found.EpsilonLowerBound != 0 || found.CountedRuns != n/2 {
			t.Errorf("%+v", found)
		}
	}
	for i := range with {
		with[i] = 1
	}
	for _, found := range directions("x", with, without, 0, 1e-3) {
		if found.NumeratorHits != n/2 || found.DenominatorHits != 0 || found.EpsilonLowerBound < 4 {
			t.Errorf("worlds that never agree: %+v", found)
		}
	}
}

// The lower bound for a Gaussian mechanism exceeds its exact ε with a probability of at most the level,
// 0.05. The test fails if this happens in 34 of 300 tries, which has a probability below 1e-5, by Bin(300,
// 0.05).
func TestLowerBoundHolds(t *testing.T) {
	const tries, runs, mu, delta, level, allowed = 300, 1000, 1, 0.01, 0.05, 33
	exact, err := gdp.Epsilon(mu, delta)
	if err != nil {
		t.Fatal(err)
	}
	wrong := [2]int{}
	draws := rng.New(1).Stream(rng.Synthetic, 0, 0)
	for range tries {
		for i, found := range directions("x", normals(runs, mu, draws), normals(runs, 0, draws), delta, level) {
			if found.EpsilonLowerBound > exact {
				wrong[i]++
			}
		}
	}
	if wrong[0] > allowed || wrong[1] > allowed {
		t.Errorf("%v of %d bounds are above the exact ε = %v", wrong, tries, exact)
	}
}
