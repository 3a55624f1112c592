package tradeoff

import (
	"math"
	"testing"

	"proactivedp/dp/gdp"
)

// C_1 is the identity on symmetric curves, C_0 gives 1-α; in between q orders.
func TestSubsampledEnds(t *testing.T) {
	for _, mu := range []float64{0, 0.05, 1, 4, 30} {
		above := checked(t, "C_0(G)", func(a float64) float64 { return subsampled(0, mu, a) })
		for _, p := range above.Points {
			near(t, "C_0(G)(α)", p.Beta, 1-p.Alpha, 1e-13)
			near(t, "C_1(G)(α)", subsampled(1, mu, p.Alpha), Gaussian(mu, p.Alpha), 1e-13)
		}
		for _, q := range []float64{0.001, 0.1, 0.5, 0.9, 1} {
			c := checked(t, "C_q(G)", func(a float64) float64 { return subsampled(q, mu, a) })
			atLeast(t, above, c, 1e-14)
			above = c
		}
	}
}

// C_q(G_{1/σ}) is the curve of the mixture (1-q)·N(0,1) + q·N(1/σ,1) against
// N(0,1): its privacy profile, one closed form for each order of the pair, must
// be dual to it. Lines of slope -e^{±ε} touch it and none is above.
func TestSubsampledDuality(t *testing.T) {
	for _, c := range []struct{ q, mu float64 }{{0.01, 1}, {0.3, 0.5}, {0.3, 3}, {0.9, 1}} {
		curve := checked(t, "C_q(G)", func(a float64) float64 { return subsampled(c.q, c.mu, a) })
		// The loss of the mixture is ln(1 - q + q·e^{μx - μ²/2}), increasing in x.
		threshold := func(loss float64) float64 {
			return math.Log((math.Expm1(loss)+c.q)/c.q)/c.mu + c.mu/2
		}
		mixture := func(x float64) float64 { return c.q*gdp.Tail(x-c.mu) + (1-c.q)*gdp.Tail(x) }
		var profile Guarantees
		for i := range 4000 {
			eps := 40 * math.Pow(float64(i)/4000, 3)
			x := threshold(eps)
			delta := mixture(x) - math.Exp(eps)*gdp.Tail(x)
			if math.Expm1(-eps)+c.q > 0 { // else that order's loss never reaches ε
				x = threshold(-eps)
				other := (1 - gdp.Tail(x)) - math.Exp(eps)*(1-mixture(x))
				delta = max(delta, other)
			}
			profile = append(profile, Guarantee{eps, max(delta, 0)})
		}
		lines := Sample(Label{Name: "from the profile"}, profile.At, alphas(t, 301))
		atLeast(t, curve, lines, 1e-13)
		gap, alpha, err := lines.leastGap(curve)
		if err != nil || gap < -2e-6 {
			t.Errorf("q = %v, μ = %v: the supremum of the profile misses the curve by %v at α = %v (%v)", c.q, c.mu,
				-gap, alpha, err)
		}
	}
}

// C_q(G_μ) is symmetric: its own inverse.
func TestSubsampledIsSymmetric(t *testing.T) {
	for _, q := range []float64{0.01, 0.3, 0.8} {
		for _, mu := range []float64{0.2, 1, 3} {
			for a := 0.01; a < 1; a += 0.01 {
				beta := subsampled(q, mu, a)
				near(t, "f(f(α))", subsampled(q, mu, beta), a, 1e-9)
			}
		}
	}
}
