package rdp

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"proactivedp/dp"
)

// Canonne, Kamath, Steinke 2020, Proposition 12, written out; and Epsilon and
// Delta are inverse.
func TestConversion(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 1))
	for range 3000 {
		alpha, tau, delta := 1+logUniform(r, 1e-3, 1e8), logUniform(r, 1e-9, 1e3), logUniform(r, 1e-300, 0.9)
		want := max(0, tau+math.Log((alpha-1)/alpha)-(math.Log(delta)+math.Log(alpha))/(alpha-1))
		eps, err := Epsilon(alpha, tau, delta)
		if err != nil || !(eps >= want-1e-13 && eps <= want+1e-9*(1+want)) {
			t.Errorf("α = %v, τ = %v, δ = %v: ε = %v, want %v (%v)", alpha, tau, delta, eps, want, err)
		}
		back, err := Delta(alpha, tau, eps)
		if err != nil || !(back > 0) || eps > 0 &&
			!(math.Abs(math.Log(back/delta)) <= 1e-8+1e-10*(alpha*(tau+eps)-math.Log(delta))) || eps == 0 &&
			back > delta*(1+1e-8) {
			t.Errorf("α = %v, τ = %v, δ = %v: ε = %v and back δ = %v (%v)", alpha, tau, delta, eps, back, err)
		}
	}
	if d, err := Delta(1e6, 1e-9, 1); err != nil || d != math.SmallestNonzeroFloat64 {
		t.Errorf("δ = %v, want the smallest number above 0 (%v)", d, err)
	}
	if d, err := Delta(2, 1e3, 0); err != nil || d != 1 {
		t.Errorf("δ = %v, want 1 (%v)", d, err)
	}
}

func TestConversionErrors(t *testing.T) {
	for _, v := range [][3]float64{{1, 1, 0.1}, {math.Inf(1), 1, 0.1}, {2, -1, 0.1}, {2, math.NaN(), 0.1}, {2, 1, 0},
		{2, 1, 1}} {
		if e, err := Epsilon(v[0], v[1], v[2]); err == nil || errors.Is(err, dp.ErrNotCovered) {
			t.Errorf("Epsilon(%v): %v, %v", v, e, err)
		}
	}
	for _, v := range [][3]float64{{0.5, 1, 1}, {2, math.Inf(1), 1}, {2, 1, -1}, {2, 1, math.Inf(1)}} {
		if d, err := Delta(v[0], v[1], v[2]); err == nil || errors.Is(err, dp.ErrNotCovered) {
			t.Errorf("Delta(%v): %v, %v", v, d, err)
		}
	}
}

// The minimum is found wherever it is, to the tolerance in log(α-1).
func TestLeastOfAll(t *testing.T) {
	for _, want := range []float64{2e-9, 0.1, 1, 63, 1e6, 9e9} {
		f := func(alpha float64) float64 { return math.Abs(math.Log(alpha-1) - math.Log(want)) }
		if alpha, got := leastOfAll(f); !(got <= 1e-6) || f(alpha) != got {
			t.Errorf("valley at α = 1 + %v: %v above it, at %v", want, got, alpha)
		}
	}
}

// If the conversion leaves the range of float64, δ is the smallest positive float64, and not the total
// variation.
func TestDeltaOfHugeEpsilon(t *testing.T) {
	e := dp.Event{Sampling: dp.Poisson, Adjacency: dp.AddOrRemove, NoiseMultiplier: 2, Rate: 0.1, Count: 100}
	for _, eps := range []float64{1e6, 1e100, 1e297, 1e300, 1e308, math.MaxFloat64} {
		if b, err := (Accountant{}).Delta(t.Context(), []dp.Event{e}, eps); err != nil ||
			b.DeltaUpper != math.SmallestNonzeroFloat64 {
			t.Errorf("ε = %v: %+v, %v", eps, b, err)
		}
	}
	// A difference of numbers beyond float64 proves nothing, and is no NaN.
	for tau, want := range map[float64]float64{0: math.SmallestNonzeroFloat64, 1e307: math.SmallestNonzeroFloat64,
		0.9e308: 1, 1e308: 1, math.MaxFloat64: 1} {
		if d, err := Delta(1e10, tau, 1e308); err != nil || d != want {
			t.Errorf("τ = %v: δ = %v, want %v (%v)", tau, d, want, err)
		}
	}
}
