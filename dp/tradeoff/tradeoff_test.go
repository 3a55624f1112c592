package tradeoff

import (
	"math"
	"math/rand/v2"
	"testing"

	"proactivedp/dp/gdp"
)

func near(t *testing.T, what string, got, want, tol float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tol) {
		t.Errorf("%s = %v, want %v", what, got, want)
	}
}

func alphas(t *testing.T, n int) []float64 {
	t.Helper()
	a, err := Alphas(n)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// checked samples f and fails if it is no trade-off function.
func checked(t *testing.T, name string, f func(float64) float64) Curve {
	t.Helper()
	c := Sample(Label{Name: name}, f, alphas(t, 301))
	if err := c.check(); err != nil {
		t.Error(err)
	}
	return c
}

// atLeast fails unless c is pointwise at least d, to rounding.
func atLeast(t *testing.T, c, d Curve, slack float64) {
	t.Helper()
	if gap, alpha, err := c.leastGap(d); err != nil || !(gap >= -slack) {
		t.Errorf("%q is below %q by %v at α = %v (%v)", c.Name, d.Name, -gap, alpha, err)
	}
}

// f_{ε,δ} (Proposition 2.5): its ends, its symmetric corner, and its zero.
func TestGuaranteeCorners(t *testing.T) {
	for _, g := range []Guarantee{{0, 0}, {0, 0.25}, {1, 0}, {1, 0.1}, {5, 1e-5}, {700, 0.5}} {
		checked(t, "f_{ε,δ}", g.At)
		near(t, "f(0)", g.At(0), 1-g.Delta, 0)
		near(t, "f(1-δ)", g.At(1-g.Delta), 0, 0)
		near(t, "f(1)", g.At(1), 0, 0)
		corner := (1 - g.Delta) / (1 + math.Exp(g.Epsilon))
		near(t, "fixed point", g.At(corner), corner, 1e-15)
	}
	near(t, "ε beyond float64, α = 0", Guarantee{1e308, 0.5}.At(0), 0.5, 0)
	near(t, "ε beyond float64, α > 0", Guarantee{1e308, 0.5}.At(1e-300), 0, 0)
}

// G_μ is its own inverse, has the fixed point Φ(-μ/2), and is 1-α at μ = 0.
func TestGaussianCurve(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, mu := range []float64{0, 1e-6, 0.1, 1, 3, 10} {
		checked(t, "G_μ", func(a float64) float64 { return Gaussian(mu, a) })
		near(t, "fixed point", Gaussian(mu, gdp.Tail(mu/2)), gdp.Tail(mu/2), 1e-14)
		for range 100 {
			a := r.Float64()
			beta := Gaussian(mu, a)
			if beta > 1e-3 {
				near(t, "G(G(α))", Gaussian(mu, beta), a, 1e-12)
			}
			if mu == 0 {
				near(t, "G_0(α)", beta, 1-a, 1e-15)
			}
		}
	}
	for a, want := range map[float64]float64{0: 1, 1: 0} {
		near(t, "at the end", Gaussian(2, a), want, 0)
	}
}

// Corollary 2.13: G_μ is the supremum of f_{ε,δ(ε)}, reached where the slope is
// -e^ε; on the other half where it is -e^{-ε}.
func TestGaussianDuality(t *testing.T) {
	for _, mu := range []float64{0.01, 0.2, 1, 2, 6} {
		for _, a := range alphas(t, 101) {
			// The slope of G_μ at α = P(Z > z) is -φ(z-μ)/φ(z) = -e^{μz-μ²/2}.
			eps := math.Abs(mu*gdp.TailQuantile(a) - mu*mu/2)
			if a == 0 || a == 1 {
				eps = 1e6
			}
			touching := Guarantee{eps, gdp.Delta(mu, eps)}
			near(t, "f_{ε,δ(ε)}", touching.At(a), Gaussian(mu, a), 1e-9*Gaussian(mu, a)+1e-14)
			for _, other := range []float64{0, eps / 2, eps * 1.1, eps + 0.5} {
				if got := (Guarantee{other, gdp.Delta(mu, other)}).At(a); got > Gaussian(mu, a)+1e-13 {
					t.Errorf("μ = %v, α = %v: the line at ε = %v is above the curve by %v", mu, a, other,
						got-Gaussian(mu, a))
				}
			}
		}
	}
}

// What is no trade-off function's argument gets the curve of no privacy.
func TestArgumentsOutside(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, got := range []float64{
		Gaussian(-1, 0.5), Gaussian(nan, 0.5), Gaussian(inf, 0), Gaussian(1, -0.1), Gaussian(1, 1.1), Gaussian(1, nan),
		subsampled(-0.1, 1, 0.1), subsampled(1.1, 1, 0.1), subsampled(nan, 1, 0.1), subsampled(0.5, inf,
			0.1), subsampled(0.5, 1, nan),
		Guarantee{-1, 0}.At(0.1), Guarantee{nan, 0}.At(0.1), Guarantee{1, nan}.At(0.1), Guarantee{1,
			2}.At(0.1), Guarantee{1, 0.1}.At(nan),
		Guarantees(nil).At(0),
	} {
		near(t, "value", got, 0, 0)
	}
}
