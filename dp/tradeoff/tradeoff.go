// Package tradeoff computes trade-off functions (Dong, Roth, Su, "Gaussian Differential Privacy", JRSS-B
// 2022; theorem numbers are those of arXiv 1905.02383). A trade-off function describes the privacy of a
// release by the errors of an attacker, who decides from which of two neighbouring data sets the release
// was made. A type I error mistakes the first data set for the second, and a type II error the second for
// the first. f(α) is the least type II error of any attacker with type I error at most α. The function 1-α
// is perfect privacy, and 0 is none.
//
// To begin: [Alphas] returns a grid of α. [Training] makes the curves of rounds from what an accountant
// proves, and [Sample] those of a function such as [Gaussian]. [Curves.WriteCSV] writes them.
//
// All functions here are symmetric: they hold for a pair of data sets in both orders. A lower curve is the
// safe one. For arguments outside the stated ranges the functions return 0, which holds for every release.
package tradeoff

import (
	"math"

	"proactivedp/dp/gdp"
)

// Gaussian returns the trade-off function G_μ(α) = Φ(Φ⁻¹(1-α) - μ) of telling N(0,1) from N(μ,1), for μ ≥ 0 and α in
// [0, 1] (Dong, Roth, Su 2022, Definition 2.6). It is the curve of μ-GDP (Gaussian differential privacy): for example
// that of a sum with Gaussian noise of standard deviation σ, if one record changes the sum by up to μσ. Φ is the
// standard normal distribution function. Gaussian calls gdp.Tail, which is 1-Φ without loss of digits, and its inverse
// gdp.TailQuantile, and is as accurate as they are.
func Gaussian(mu, alpha float64) float64 {
	if !(mu >= 0 && alpha >= 0 && alpha <= 1) || math.IsInf(mu, 1) {
		return 0
	}
	return gdp.Tail(mu - gdp.TailQuantile(alpha))
}
