package dp

import (
	"math"
	"testing"
)

// δ is the largest power of ten that is at most 1/(10N).
func TestDefaultDelta(t *testing.T) {
	for n, want := range map[int]float64{0: 0.1, 1: 0.1, 2: 0.01, 10: 0.01, 11: 0.001, 44: 0.001, 999: 1e-4, 1000: 1e-4,
		1001: 1e-5, 8816: 1e-5, 10_000: 1e-5, 1_000_000: 1e-7} {
		if got := DefaultDelta(n); got != want {
			t.Errorf("N = %d: δ = %v, want %v", n, got, want)
		} else if n > 0 && got > 1/(10*float64(n))*(1+1e-12) {
			t.Errorf("N = %d: δ = %v is above 1/(10N)", n, got)
		}
	}
}

// δ is in (0, 1), or from a given least value on. At δ = 1 every mechanism would be private.
func TestCheckDelta(t *testing.T) {
	for _, c := range []struct {
		delta, least float64
		ok           bool
	}{
		{1e-5, 0, true}, {1e-5, 1e-5, true}, {0.999, 0, true}, {0, 0, false}, {1, 0, false}, {1, 1e-5, false},
		{9e-6, 1e-5, false}, {-1e-5, 0, false}, {math.NaN(), 0, false}, {math.Inf(1), 1e-5, false},
	} {
		if err := CheckDelta(c.delta, c.least); (err == nil) != c.ok {
			t.Errorf("δ = %v, at least %v: %v", c.delta, c.least, err)
		}
	}
}
