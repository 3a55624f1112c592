// Package closedform is the paper's closed-form differential privacy: what
// Theorem Main and the more general Theorems simpleF and thm1 say about a
// client's rounds of Algorithm LocalSGDwithDP, and the planning formulas that
// follow: limits of rounds and sizes, growing sizes, the reuse of a data set.
//
// The theorems hold for add-or-remove adjacency and Poisson sampling only:
// under replace-one adjacency there are settings that meet all their
// conditions and cost more than ε. They are upper bounds, loose by about 2 to
// 8 times in ε for constant sizes at δ = 1/N, and more for growing sizes. Their
// merit is that they can be solved by hand for any of the parameters.
//
// To begin: [Sigma] and [Limit] plan a run for (ε, δ), [Conditions] says by how much
// a run meets each requirement of the theorems, and two accountants turn a run into
// its ε, [Accountant] by simpleF and [MomentAccountant] by thm1. [Budget] divides
// one (ε, δ) among several learning tasks.
//
// # Notation
//
//	N       size of the data set, the larger of the neighbours
//	K       gradient computations Σ s_i of the client;  k = K/N epochs
//	T       rounds;  s̄ = K/T,  s_max = max s_i,  θ = s_max/s̄ ≥ 1
//	σ       noise multiplier;  σ_eq(ε, δ) = √(2(ε + ln(1/δ))/ε)
//	ᾱ       ε/(γk)
//
// # Where the paper is corrected
//
//   - γ has an algebra error in the paper; see [Form].
//   - Lemma lemthree's cubic term, from which γ has what is beyond 2/(1-ᾱ), is
//     not proved by the paper and not needed; see [Moment]. So the theorems
//     hold, even as printed; see [Form]. Corrected keeps the term in the γ of
//     Main and simpleF, where it errs on the safe side, and drops it in thm1.
//   - "The smallest solution γ" has spurious readings; see [Gamma].
//   - γ, g and h are taken at σ_eq(ε, δ), and any larger σ is accepted. The
//     proof bounds α at the real σ but states it at σ_eq, and γ is not
//     monotone in σ; at σ_eq both agree, and more noise on the same release
//     is post-processing.
//
// # Rounding
//
// Computations are in float64 and err on the side of privacy: σ, ε, γ and T
// are rounded up and sizes down, by a relative 1e-13 at most (ε: see
// [Epsilon]), so that a condition met with equality by construction is met.
package closedform

import (
	"errors"
	"math"

	"proactivedp/dp"
)

const (
	ulp = 0x1p-52
	// slack is what γ, g and T are rounded by: well above the rounding errors
	// of their computation, well below any digit that is printed.
	slack = 5e-14
)

// Sigma returns σ_eq(ε, δ) = √(2(ε + ln(1/δ))/ε), the least noise multiplier
// that Theorem simpleF, (treq4), allows for (ε, δ), rounded up by a few units
// in the last place. ε must be in [1e-60, 1e30], δ in [MinDelta, 1).
func Sigma(eps, delta float64) (float64, error) {
	if err := errors.Join(checkEpsilon(eps), checkDelta(delta)); err != nil {
		return 0, err
	}
	return sigmaEq(eps, -math.Log(delta)), nil
}

// sigmaEq is Sigma with l = ln(1/δ).
func sigmaEq(eps, l float64) float64 {
	return math.Sqrt(2+2*(l/eps)) * (1 + 4*ulp)
}

// Epsilon returns the ε of (treq4) with equality, 2 ln(1/δ)/(σ² - 2), rounded
// up such that Sigma(Epsilon(σ, δ), δ) ≤ σ in float64. The relative rounding
// is about 1e-15·σ²/(σ²-2). σ must be in [MinSigma, 1e20] (at √2 and below the
// theorem gives no ε at all), δ in [MinDelta, 1).
func Epsilon(sigma, delta float64) (float64, error) {
	if err := errors.Join(dp.CheckRange("sigma", sigma, MinSigma, maxFreeSigma), checkDelta(delta)); err != nil {
		return 0, err
	}
	l := -math.Log(delta)
	exact := 2 * l / math.FMA(sigma, sigma, -2)
	for up := 2 * ulp; ; up *= 1.5 {
		eps := exact * (1 + up)
		if sigmaEq(eps, l) <= sigma {
			return eps, nil
		}
	}
}

// H returns h(x) = (√(1+(e/x)²) - e/x)² for x > 0 (Theorem simpleF): ᾱ = h(σ)
// is where σ(1-ᾱ) = 2e√ᾱ. It increases from 0 to 1.
func H(x float64) float64 {
	r := rootH(x)
	return r * r
}

// rootH is √h(x), without the cancellation of the printed form.
func rootH(x float64) float64 {
	c := math.E / x
	return 1 / (math.Hypot(1, c) + c)
}

// G returns g(x) = min{1/(ex), h(x)} for x > 0 (Theorem simpleF). It is h(x)
// for x < 2.467 and 1/(ex) above.
func G(x float64) float64 { return min(1/(math.E*x), H(x)) }
