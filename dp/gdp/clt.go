package gdp

import (
	"errors"
	"math"

	"proactivedp/dp"
)

// MinSigma and MaxSigma are the limits of the noise multiplier σ in [MuPoisson] and [MuUniform]. The limits
// themselves are allowed. Below MinSigma, e^{1/σ²} overflows float64. Above MaxSigma, the formulas lose their digits
// to cancellation.
const (
	MinSigma = 0.04
	MaxSigma = 1e6
)

// MuPoisson returns an approximate μ for T rounds (rounds) of Poisson sampling at rate q with noise multiplier σ,
// under add-or-remove adjacency. [Epsilon] converts μ to ε. It is the limit by the central limit theorem:
//
//	μ = q·√(T·(e^{1/σ²} - 1))
//
// (Bu, Dong, Long, Su, "Deep Learning with Gaussian Differential Privacy", arXiv 1911.11607). It is
// the limit for T → ∞ with q√T constant, not a bound: the true ε may be much larger if T or δ is
// small.
//
// q must be in (0, 1], σ in [MinSigma, MaxSigma], and T positive and finite, not necessarily whole.
// The relative error is at most 1e-9.
func MuPoisson(q, sigma, rounds float64) (float64, error) {
	if err := checkRounds(q, sigma, rounds); err != nil {
		return 0, err
	}
	return q * math.Sqrt(rounds*math.Expm1(1/(sigma*sigma))), nil
}

// MuUniform returns an approximate μ for T rounds (rounds) that each draw a fixed fraction q of the records without
// replacement. [Epsilon] converts μ to ε. Here σ is the standard deviation of the noise divided by the most that one
// record can change the sum. It is the limit by the central limit theorem:
//
//	μ = q·√T·√2·√(e^{1/σ²}·Φ(3/(2σ)) + 3Φ(-1/(2σ)) - 2)
//
// (Dong, Roth, Su 2022, Corollary 5.4). Φ is the standard normal distribution function.
//
// In this project the noise has standard deviation C·σ, and replacing a record changes a sum of gradients of norm C
// by up to 2C. So for a noise multiplier σ of this project, under replace-one adjacency, call MuUniform(q, σ/2, T).
// The tables of that paper, and compute_mu_uniform of public libraries, define σ relative to 2C. Pass their σ
// unchanged.
//
// The ranges and the accuracy are those of [MuPoisson]. The result is not a bound either.
func MuUniform(q, sigma, rounds float64) (float64, error) {
	if err := checkRounds(q, sigma, rounds); err != nil {
		return 0, err
	}
	// The constants of the three terms cancel: Φ(x) = ½ + ½·erf(x/√2).
	u := 1 / sigma
	v := u / math.Sqrt(8)
	h2 := math.Expm1(u*u)*Tail(-1.5*u) + (math.Erf(3*v)-3*math.Erf(v))/2
	return q * math.Sqrt(2*rounds*h2), nil
}

func checkRounds(q, sigma, rounds float64) error {
	return errors.Join(dp.CheckRate(q), dp.CheckRange("noise multiplier", sigma, MinSigma, MaxSigma),
		dp.CheckPositive("rounds", rounds))
}
