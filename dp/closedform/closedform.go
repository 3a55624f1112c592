// Package closedform implements the paper's theorems about DP-SGD: formulas that give (ε, δ) directly
// from noise, batch sizes and number of rounds. They are Theorem Main and the more general Theorems
// simpleF and thm1 (names like these are labels in the paper's source). The package also has the
// planning formulas that follow: limits of rounds and sizes, growing sizes, and the reuse of a data
// set.
//
// The theorems hold only for add-or-remove adjacency and Poisson sampling: under replace-one
// adjacency some settings meet all conditions and cost more than ε. The theorems are upper bounds.
// For constant sizes at δ = 1/N they are 2 to 8 times too large in ε, and more for growing sizes.
// Their merit is that they can be solved by hand for any parameter.
//
// To begin: [Sigma] and [Limit] plan a run for (ε, δ). [Conditions] says by how much a run meets
// each requirement of the theorems. Two accountants compute the ε of a run: [Accountant] by simpleF
// and [MomentAccountant] by thm1. [Budget] divides one (ε, δ) among several learning tasks.
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
//   - The paper does not prove the cubic term of Lemma lemthree, from which the part of γ beyond
//     2/(1-ᾱ) follows, and the theorems do not need it; see [Moment]. So they hold even as printed;
//     see [Form]. In Main and simpleF, Corrected keeps the term in γ, which is on the safe side. In
//     thm1 it drops the term.
//   - "The smallest solution γ" is ambiguous; see [GammaAt].
//   - γ, g and h are computed at σ_eq(ε, δ), and any larger σ is accepted. The proof bounds α at
//     the real σ but states the result at σ_eq, and γ is not monotone in σ. At σ_eq both agree, and
//     more noise on the same release is post-processing.
//
// # Rounding
//
// Computations are in float64 and err on the side of privacy. σ, ε, γ and T are rounded up and
// sizes down, by a relative 1e-13 at most (for ε see [Epsilon]). So a condition that is met with
// equality by construction counts as met.
package closedform

import (
	"errors"
	"math"

	"proactivedp/dp"
)

const (
	ulp = 0x1p-52
	// slack is the relative amount by which γ, g and T are moved to the safe side. It is far above the
	// rounding errors of their computation, and too small to change a printed digit.
	slack = 5e-14
)

// Sigma returns the least noise multiplier that Theorem simpleF allows for (ε, δ), by its condition
// (treq4): σ_eq(ε, δ) = √(2(ε + ln(1/δ))/ε), rounded up by a few units in the last place. ε must be in
// [1e-60, 1e30] and δ in [MinDelta, 1).
func Sigma(eps, delta float64) (float64, error) {
	if err := errors.Join(checkEpsilon(eps), checkDelta(delta)); err != nil {
		return 0, err
	}
	return sigmaEq(eps, -math.Log(delta)), nil
}

// sigmaEq computes Sigma from l = ln(1/δ).
func sigmaEq(eps, l float64) float64 {
	return math.Sqrt(2+2*(l/eps)) * (1 + 4*ulp)
}

// Epsilon returns the least ε that condition (treq4) of Theorem simpleF allows for noise multiplier σ and
// δ: 2 ln(1/δ)/(σ² - 2). The other conditions may need a larger ε; see [MinEpsilon]. The result is rounded
// up so that Sigma(Epsilon(σ, δ), δ) ≤ σ in float64, by a relative amount of about 1e-15·σ²/(σ²-2). σ must
// be in [MinSigma, 1e20] and δ in [MinDelta, 1). For σ ≤ √2 the theorem gives no ε.
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

// H returns the function h(x) = (√(1+(e/x)²) - e/x)² in the paper's Theorem simpleF, for x > 0. It
// increases from 0 to 1. h(σ) is the ᾱ at which σ(1-ᾱ) = 2e√ᾱ.
func H(x float64) float64 {
	r := rootH(x)
	return r * r
}

// rootH returns √h(x) without the cancellation of the printed formula.
func rootH(x float64) float64 {
	c := math.E / x
	return 1 / (math.Hypot(1, c) + c)
}

// G returns the function g(x) = min{1/(ex), h(x)} in the paper's Theorem simpleF, for x > 0; for h see
// H. It is h(x) for x < 2.467 and 1/(ex) for larger x.
func G(x float64) float64 { return min(1/(math.E*x), H(x)) }
