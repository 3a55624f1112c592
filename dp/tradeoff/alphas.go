package tradeoff

import (
	"fmt"

	"proactivedp/dp/gdp"
)

// smallestAlpha is the first point after 0 in the grid of [Alphas].
const smallestAlpha = 1e-6

// MaxAlphas is the largest number of type I errors (an attacker's false-positive rates) that [Alphas] returns.
const MaxAlphas = 1 << 20

// Alphas returns a grid of n type I errors (an attacker's false-positive rates) from 0 to 1, at which to compute a
// trade-off curve; n is in [3, MaxAlphas]. The grid is symmetric about ½ and dense near 0 and 1. All but 0 and 1 are
// tail probabilities P(Z > z) of a standard normal Z, for equidistant z; the smallest is 1e-6.
func Alphas(n int) ([]float64, error) {
	if n < 3 || n > MaxAlphas {
		return nil, fmt.Errorf("number of alphas = %d, must be in [3, %d]", n, MaxAlphas)
	}
	alphas := make([]float64, n)
	alphas[n-1] = 1
	far := gdp.TailQuantile(smallestAlpha)
	for i := 1; i <= (n-1)/2; i++ {
		alphas[i] = 0.5
		if n > 3 {
			alphas[i] = gdp.Tail(far * (1 - 2*float64(i-1)/float64(n-3)))
		}
		alphas[n-1-i] = 1 - alphas[i]
	}
	return alphas, nil
}
