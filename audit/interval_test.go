package audit

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mathext"
)

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance*math.Abs(want)) {
		t.Errorf("%s = %v, want %v", what, got, want)
	}
}

// atLeastHits is P[Bin(n, p) ≥ k], summed.
func atLeastHits(k, n int, p float64) float64 {
	sum := 0.0
	for i := k; i <= n; i++ {
		sum += binomial(i, n, p)
	}
	return sum
}

// The definition of Clopper and Pearson: at an end of the interval, the observed number of hits or a more
// extreme one has exactly the probability level.
func TestIntervalByItsDefinition(t *testing.T) {
	for _, c := range []struct {
		hits, runs int
		level      float64
	}{{1, 1, 0.5}, {5, 10, 0.025}, {1, 1000, 1e-5}, {37, 1000, 3e-5}, {999, 1000, 1e-3}, {40, 50_000, 3e-5}} {
		low, high := atLeast(c.hits, c.runs, c.level), atMost(c.hits, c.runs, c.level)
		near(t, "P[≥ hits] at the lower end", atLeastHits(c.hits, c.runs, low), c.level, 1e-8)
		if c.hits < c.runs {
			near(t, "P[≤ hits] at the upper end", 1-atLeastHits(c.hits+1, c.runs, high), c.level, 1e-6)
		}
	}
}

func TestIntervalInClosedForm(t *testing.T) {
	const runs, level = 700, 1e-4
	if got := atLeast(0, runs, level); got != 0 {
		t.Errorf("no hits: at least %v", got)
	}
	if got := atMost(runs, runs, level); got != 1 {
		t.Errorf("all hits: at most %v", got)
	}
	near(t, "no hits: at most", atMost(0, runs, level), 1-math.Pow(level, 1./runs), 1e-10)
	near(t, "all hits: at least", atLeast(runs, runs, level), math.Pow(level, 1./runs), 1e-10)
	// The textbook's 95 % interval of 5 hits of 10.
	near(t, "5 of 10: at least", atLeast(5, 10, 0.025), 0.187086, 1e-5)
	near(t, "5 of 10: at most", atMost(5, 10, 0.025), 0.812914, 1e-5)
}

// The level is small, as for a high confidence, with few hits in many runs. With no hit, the upper end has
// a formula. With some hits, the sum of the few terms must be the level.
func TestUpperEndAtSmallLevels(t *testing.T) {
	for _, runs := range []int{1000, 50_000, 5_000_000} {
		for _, level := range []float64{1e-5, 1e-7, 1e-10} {
			near(t, "no hits: at most", atMost(0, runs, level), -math.Expm1(math.Log(level)/float64(runs)), 1e-9)
			for _, hits := range []int{4, 9, 52} {
				p, sum := atMost(hits, runs, level), 0.0
				for k := 0; k <= hits; k++ {
					sum += binomial(k, runs, p)
				}
				near(t, "P[≤ hits] at the upper end", sum, level, 1e-5)
			}
		}
	}
}

// ε = ln((p - δ)/p') computed by hand, with no hit for the denominator p' and only hits for the numerator.
func TestEpsilonOfCounts(t *testing.T) {
	const runs, delta, level = 1000, 0.01, 2e-4
	p := math.Pow(level/2, 1./runs)
	near(t, "ε", counts{runs, 0, runs}.epsilon(delta, level), math.Log((p-delta)/(1-p)), 1e-10)
	for _, c := range []counts{{0, 0, runs}, {5, 0, runs}, {300, 300, runs}, {100, 900, runs}} {
		if got := c.epsilon(delta, level); got != 0 {
			t.Errorf("%+v: ε = %v, want 0: nothing follows", c, got)
		}
	}
}

// The intervals are never too narrow, at any level that a confidence may give, and not much too wide,
// except for an upper end near 1. The library's own inverse gives ends whose tails are between 0 and 1.8
// times the level.
func TestEndsAreNotInside(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 5000 {
		runs := 1 + int(math.Exp(15*random.Float64()))
		few := random.IntN(min(runs, 6))
		hits := []int{few, runs - few, random.IntN(runs + 1)}[random.IntN(3)]
		level := math.Pow(10, -13*random.Float64()-0.4)
		if p := atLeast(hits, runs, level); hits > 0 {
			tail := mathext.RegIncBeta(float64(hits), float64(runs-hits+1), p)
			if !(tail <= level && tail > 0.99*level) {
				t.Fatalf("%d of %d at the level %v: at least %v, whose tail is %v", hits, runs, level, p, tail)
			}
		}
		if p := atMost(hits, runs, level); hits < runs {
			tail := mathext.RegIncBeta(float64(runs-hits), float64(hits+1), 1-p)
			if !(tail <= level) || tail < 0.99*level && p < 0.99 {
				t.Fatalf("%d of %d at the level %v: at most %v, whose tail is %v", hits, runs, level, p, tail)
			}
		}
	}
}
