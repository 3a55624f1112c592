package rng

import (
	"math"
	"testing"
)

// The frequencies of small numbers are those of the discrete Laplace distribution,
// P(x) = (1 − p)/(1 + p)·p^|x| with p = exp(−1/scale), by a chi-squared test of 2·8 + 1 cells and the
// rest (17 degrees of freedom, 60 has probability 1e-6).
func TestDiscreteLaplace(t *testing.T) {
	for _, scale := range []int{1, 2, 7} {
		const draws, most = 40_000, 8
		s := New(3).Stream(Bounds, 0, scale)
		seen := map[int]float64{}
		for range draws {
			x := s.DiscreteLaplace(scale)
			if x < -most || x > most {
				x = most + 1
			}
			seen[x]++
		}
		p := math.Exp(-1 / float64(scale))
		rest, chi := 1.0, 0.0
		for x := -most; x <= most; x++ {
			want := (1 - p) / (1 + p) * math.Pow(p, math.Abs(float64(x)))
			rest -= want
			chi += math.Pow(seen[x]-draws*want, 2) / (draws * want)
		}
		if chi += math.Pow(seen[most+1]-draws*rest, 2) / (draws * rest); chi > 60 {
			t.Errorf("scale %d: chi-squared = %.1f of 17", scale, chi)
		}
	}
	s := New(3).Stream(Bounds, 0, 0)
	if x := s.DiscreteLaplace(MaxLaplaceScale); x == 0 {
		t.Error("the largest scale drew 0")
	}
	for _, scale := range []int{0, -1, MaxLaplaceScale + 1} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("scale %d did not panic", scale)
				}
			}()
			s.DiscreteLaplace(scale)
		}()
	}
}
