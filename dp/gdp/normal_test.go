package gdp

import (
	"fmt"
	"math"
	"testing"
)

// Tail and LogTail against the Taylor series in 6000 bits, on both sides of
// where the method changes and as far as float64 goes.
func TestTail(t *testing.T) {
	e := newExact()
	for _, x := range []float64{-37, -9, -3, -1, -1e-9, 0, 1e-9, 0.3, 1, 2.5, series - 1e-12, series, 3.1, 4, 6, 10, 20,
		30, 37.4} {
		want := e.tail(bigOf(x))
		nearBig(t, fmt.Sprintf("Tail(%v)", x), Tail(x), want, 3e-13)
		if l := LogTail(x); x < -3 {
			// ln P(Z > x) = -P(Z > -x)·(1 + …) far on the left.
			nearBig(t, fmt.Sprintf("-LogTail(%v)", x), -l, e.tail(bigOf(-x)), 3e-13+2*Tail(-x))
		} else {
			nearBig(t, fmt.Sprintf("e^LogTail(%v)", x), 1, want.Quo(want, bigExp(bigOf(l))), 3e-13)
		}
	}
}

// Beyond float64 there is the asymptotic ln φ(x) - ln x - 1/x² + ….
func TestLogTailFarOut(t *testing.T) {
	for _, x := range []float64{1e3, 1e6, 1e100} {
		if got, want := LogTail(x), logDensity(x)-math.Log(x)-1/(x*x); math.Abs(got/want-1) > 1e-14 {
			t.Errorf("LogTail(%v) = %v, want %v", x, got, want)
		}
	}
	if got := LogTail(math.Inf(1)); !math.IsInf(got, -1) {
		t.Errorf("LogTail(+Inf) = %v", got)
	}
	if got := LogTail(math.Inf(-1)); got != 0 {
		t.Errorf("LogTail(-Inf) = %v", got)
	}
}

// The normal distribution is symmetric, and so are its quantiles, to the last bit
// where 1 − p is a float64.
func TestTailQuantileIsSymmetric(t *testing.T) {
	for e := 2; e <= 50; e++ {
		p := math.Ldexp(1, -e)
		if low, high := TailQuantile(1-p), TailQuantile(p); low != -high {
			t.Errorf("p = 2^-%d: quantiles %v and %v", e, low, high)
		}
	}
}

// TailQuantile inverts the tail: with z off by d the tail is off by a factor
// 1 + d/R(z), and z is asked for to a few units in the last place.
func TestTailQuantile(t *testing.T) {
	e := newExact()
	for _, p := range []float64{1e-300, 1e-200, 1e-50, 1e-17, 1e-9, 1e-4, 0.01, 0.12499, 0.125, 0.25, 0.3, 0.4999999999,
		0.5000001, 0.7, 0.875, 0.9, 0.999, 1 - 0x1p-50} {
		z := TailQuantile(p)
		want := e.tail(bigOf(z))
		condition := math.Abs(z) / mills(math.Abs(z)) * min(1, (1-p)/p)
		nearBig(t, fmt.Sprintf("P(Z > TailQuantile(%v))", p), p, want, 1e-15*(1+condition))
	}
	if lo, mid, hi := TailQuantile(1), TailQuantile(0.5), TailQuantile(0); !math.IsInf(lo, -1) || mid != 0 ||
		!math.IsInf(hi, 1) {
		t.Errorf("at 1, 0.5 and 0: %v, %v, %v", lo, mid, hi)
	}
	for _, p := range []float64{-1e-300, 1.1, math.NaN()} {
		if z := TailQuantile(p); !math.IsNaN(z) {
			t.Errorf("TailQuantile(%v) = %v", p, z)
		}
	}
}

// R' = x·R - 1 (the Mills ratio's differential equation): central differences
// across the place where the method changes.
func TestMillsSlope(t *testing.T) {
	const h = 1e-4
	for x := -2.0; x < 8; x += 0.05 {
		want := (mills(x-h) - mills(x+h)) / (2 * h)
		if got := millsSlope(x); math.Abs(got/want-1) > 2e-8 {
			t.Errorf("slope at %v: %v, want %v", x, got, want)
		}
	}
}
