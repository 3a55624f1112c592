package tradeoff

import (
	"math"

	"proactivedp/dp/gdp"
	"proactivedp/internal/root"
)

// Subsampled returns the trade-off function of one round at sample rate q, C_q(G_μ)(α) (Dong, Roth,
// Su 2022, Theorem 4.2), to an absolute error of about 1e-15. q and α must be in [0, 1] and μ in
// [0, gdp.Largest].
//
// With noise multiplier σ, use μ = 1/σ for Poisson sampling under add-or-remove adjacency, where
// the curve is exact. Use μ = 2/σ for fixed-size sampling under replace-one adjacency, where it is
// a lower bound.
func Subsampled(q, mu, alpha float64) float64 {
	if !(q >= 0 && q <= 1 && mu >= 0 && mu <= gdp.Largest && alpha >= 0 && alpha <= 1) {
		return 0
	}
	// f_q is the curve of N(0,1) against the mixture, and its inverse is the curve of the mixture
	// against N(0,1). Their minimum is not convex. At the fixed point of G_μ the slope of f_q is
	// -1; from there on, a line replaces the minimum.
	mixed := func(alpha float64) float64 { return q*Gaussian(mu, alpha) + (1-q)*(1-alpha) }
	fixed := gdp.Tail(mu / 2)
	image := mixed(fixed)
	switch {
	case alpha <= fixed:
		return mixed(alpha)
	case alpha <= image:
		return fixed + image - alpha
	}
	return mixtureInverse(q, mu, alpha)
}

// mixtureInverse returns the inverse of f_q = q·G_μ + (1-q)(1-α) at α. It is P(Z > z) at the
// threshold z that the mixture exceeds with probability 1-α:
//
//	q·P(Z > z-μ) + (1-q)·P(Z > z) = 1-α
func mixtureInverse(q, mu, alpha float64) float64 {
	if alpha == 1 {
		return 0
	}
	l := math.Log1p(-alpha)
	excess := func(z float64) float64 {
		return math.Log(q*gdp.Tail(z-mu)+(1-q)*gdp.Tail(z)) - l
	}
	// z is between the thresholds of the mixture's two parts.
	normal := gdp.TailQuantile(1 - alpha)
	z, err := root.Find(excess, normal-1, normal+mu+1, 1e-15)
	if err != nil {
		return 0
	}
	return gdp.Tail(z)
}
