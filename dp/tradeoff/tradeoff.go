// Package tradeoff is the trade-off functions of hypothesis testing (Dong, Roth,
// Su, "Gaussian Differential Privacy", JRSS-B 2022; numbers of theorems are
// those of arXiv 1905.02383): f(α) is the least type II error of any test, of
// type I error at most α, that is to tell from a release which of two
// neighbouring data sets it was made from. 1-α is perfect privacy and 0 none; a
// release is f-DP if no pair of neighbours has a smaller curve.
//
// To begin: [Alphas] is where to look, [Training] makes the curves of some rounds
// out of what an accountant proves, [Sample] those of a function such as [Gaussian],
// and [Curves.WriteCSV] writes them.
//
// All functions here are symmetric: they speak for a pair in both orders. A
// lower curve is the safe one. Arguments outside of the stated ranges give 0,
// which is true of every release.
package tradeoff

import (
	"math"

	"proactivedp/dp/gdp"
)

// Gaussian returns G_μ(α) = Φ(Φ⁻¹(1-α) - μ), the trade-off between N(0,1) and
// N(μ,1) (Dong, Roth, Su 2022, Definition 2.6), for μ ≥ 0 and α in [0, 1]. Its
// relative error is that of gdp.Tail and gdp.TailQuantile.
func Gaussian(mu, alpha float64) float64 {
	if !(mu >= 0 && alpha >= 0 && alpha <= 1) || math.IsInf(mu, 1) {
		return 0
	}
	return gdp.Tail(mu - gdp.TailQuantile(alpha))
}
