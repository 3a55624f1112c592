// Package closedform implements the paper's theorems about DP-SGD: formulas that give (ε, δ) directly from noise,
// batch sizes and number of rounds. They are Theorem Main and the more general Theorems simpleF and thm1; these names
// are the labels in the paper's source. The package also has planning formulas that follow from the theorems: limits
// of rounds and batch sizes, growing batch sizes, and the use of one data set for several trainings.
//
// The theorems hold only for add-or-remove adjacency and Poisson sampling: under replace-one adjacency
// some settings meet all conditions and cost more than ε. The theorems are upper bounds. For constant
// sizes at δ = 1/N they are 2 to 8 times too large in ε, and more for growing sizes. Their merit is that
// they can be solved by hand for any parameter.
//
// To begin: [Sigma] and [Limit] plan a run for (ε, δ). [Conditions] says by how much a run meets each
// requirement of the theorems. Two accountants compute the ε of a run: [Accountant] by simpleF and
// [MomentAccountant] by thm1. [Budget] divides one (ε, δ) among several learning tasks.
//
// # Notation
//
//	N       number of records of the data set, of the larger of two neighbours
//	s_i     batch size of round i;  q_i = s_i/N  its sample rate
//	K       gradients that the client computes, Σ s_i;  k = K/N epochs
//	T       rounds;  s̄ = K/T mean batch size,  s_max = max s_i,  θ = s_max/s̄ ≥ 1
//	σ       noise multiplier
//	σ_eq    least σ that the theorems allow for (ε, δ): √(2(ε + ln(1/δ))/ε), see [Sigma]
//	γ       constant of Theorems Main and simpleF, above 2, see [Gamma];  ᾱ = ε/(γk)
//
// # Where the paper is corrected
//
//   - The paper makes an algebra error when it derives γ; see [Form].
//   - The paper's proof of the cubic term of Lemma lemthree has a gap; see [Moment]. The part of γ
//     beyond 2/(1-ᾱ) comes from this term. The theorems do not need the term, so they hold even as
//     printed; see [Form]. Main and simpleF keep the term in γ, which is on the safe side. The
//     corrected thm1 leaves it out.
//   - "The smallest solution γ" is ambiguous; see [GammaAt].
//   - γ and the functions g and h (see [Conditions]) are computed at σ_eq, and any larger σ is accepted. The paper's
//     proof uses the real σ, but the theorem is stated with σ_eq, and γ does not simply fall with σ.
//     A run with the noise σ_eq satisfies both, and more noise on the same release is post-processing.
//
// # Rounding
//
// Computations are in float64 and err on the side of privacy. σ, ε, γ and T are rounded up and sizes down,
// by a relative 1e-13 at most (for ε see [Epsilon]). So a condition that is met with equality by
// construction counts as met.
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

// Sigma returns the least noise multiplier that the paper's Theorem simpleF allows for a privacy budget (ε, δ):
// σ_eq(ε, δ) = √(2(ε + ln(1/δ))/ε), rounded up by a few units in the last place. It does not depend on batch sizes or
// rounds; the theorem limits those separately, see [Limit]. ε must be in [1e-60, 1e30] and δ in [MinDelta, 1).
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

// Epsilon returns the ε that goes with noise multiplier σ and δ in the paper's Theorem simpleF: 2 ln(1/δ)/(σ² - 2).
// It is the inverse of [Sigma] and the least ε that the theorem's condition on the noise allows. The conditions on
// rounds and batch sizes may need a larger ε; see [MinEpsilon] for all conditions together. The result is rounded up
// so that Sigma(Epsilon(σ, δ), δ) ≤ σ in float64, by a relative amount of about 1e-15·σ²/(σ²-2). σ must be in
// [MinSigma, 1e20] and δ in [MinDelta, 1). For σ ≤ √2 the theorem gives no ε.
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

// hOf returns h(x) = (√(1+(e/x)²) - e/x)² of Theorem simpleF, for x > 0. It increases from 0 to 1. h(σ) is the upper
// limit of ᾱ = ε/(γk): the denominator σ(1-ᾱ) - 2e√ᾱ of RHS is positive for smaller ᾱ, and 0 at ᾱ = h(σ).
func hOf(x float64) float64 {
	r := rootH(x)
	return r * r
}

// rootH returns √h(x) without the cancellation of the printed formula.
func rootH(x float64) float64 {
	c := math.E / x
	return 1 / (math.Hypot(1, c) + c)
}

// gOf returns g(x) = min{1/(ex), h(x)} of Theorem simpleF, for x > 0. The theorem allows sample rates of at most
// g(σ_eq). g(x) is h(x) for x < 2.467 and 1/(ex) for larger x.
func gOf(x float64) float64 { return min(1/(math.E*x), hOf(x)) }
