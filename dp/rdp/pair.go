package rdp

import (
	"errors"
	"fmt"
	"math"

	"proactivedp/dp"
)

// pair is the dominating pair of distributions (P, Q) of one round, in terms of the density φ of
// N(0, sigma²) and
//
//	g(x) = 1 - q + q·e^((2x-1)/(2·sigma²)),  L(x) = log g(x)
type pair struct {
	shape    shape
	q, sigma float64
}

type shape int

const (
	// gaussian is P = N(1, sigma²) and Q = φ, without sampling.
	gaussian shape = iota
	// mixture is P = φ·g and Q = φ.
	mixture
	// opposite is P(x) = φ(x)·g(x) and Q(x) = φ(x)·g(-x).
	opposite
	// symmetric is the pair of the trade-off function C_q(G_{1/sigma}). For x > ½ it is the
	// mixture, and elsewhere its mirror image with P and Q exchanged. The remaining probability has
	// P = Q.
	symmetric
	// laplace is Laplace noise of scale sigma around 1 and around 0, without sampling.
	laplace
	// response is randomized response with epsilon = 1/sigma. Of all pairs with losses of at most epsilon, it has the
	// largest divergences, because each of them is obtained from it by post-processing (Kairouz, Oh, Viswanath,
	// "The composition theorem for differential privacy", ICML 2015).
	response
	// concentrated is any pair that is ρ-zCDP with ρ = 1/(2·sigma²). Its divergences are at most those of gaussian.
	concentrated
)

// pairOf returns the pair of a release that is not a round of training.
func pairOf(e dp.Event) (pair, error) {
	switch e.Other {
	case dp.GaussianNoise:
		if err := dp.CheckRange("noise multiplier", e.NoiseMultiplier, MinSigma, MaxSigma); err != nil {
			return pair{}, fmt.Errorf("%w: %w", err, dp.ErrNotCovered)
		}
		return pair{gaussian, 1, e.NoiseMultiplier}, nil
	case dp.LaplaceNoise:
		return pair{laplace, 1, e.NoiseMultiplier}, nil
	case dp.RandomizedResponse, dp.PureDP:
		return pair{response, 1, 1 / e.Epsilon}, nil
	case dp.ConcentratedDP:
		return pair{concentrated, 1, math.Sqrt(0.5 / e.Rho)}, nil
	}
	return pair{}, fmt.Errorf("mechanism %s has no Rényi divergence, use pld: %w", e.Other, dp.ErrNotCovered)
}

// newPair returns the dominating pair of a round of e.
func newPair(e dp.Event) (pair, error) {
	q, sigma := e.SampleRate(), e.NoiseMultiplier
	var errs []error
	refuse := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf(format+": %w", append(args, dp.ErrNotCovered)...))
	}
	p := pair{q: q, sigma: sigma}
	switch scheme, err := e.Scheme(); {
	case err != nil:
		errs = append(errs, err)
	case scheme == dp.PoissonAddOrRemove:
		p.shape = mixture
	case scheme == dp.PoissonReplaceOne:
		p.shape = opposite
	case scheme == dp.FixedReplaceOne:
		p.shape = symmetric
		p.sigma /= 2
	default:
		refuse("%v has no dominating pair here", scheme)
	}
	switch {
	case sigma == 0:
		refuse("noise multiplier = 0, must be positive: without noise there is no guarantee")
	case !(sigma >= MinSigma && sigma <= MaxSigma):
		refuse("noise multiplier = %v, must be in [%v, %v]", sigma, MinSigma, MaxSigma)
	}
	if q < MinRate {
		refuse("sample rate = %v, must be in [%v, 1]", q, MinRate)
	}
	if q == 1 {
		if p.shape == opposite {
			p.sigma /= 2
		}
		p.shape = gaussian
	}
	return p, errors.Join(errs...)
}

// totalVariation returns the total variation distance of P and Q, or an upper bound.
func (p pair) totalVariation() float64 {
	distance := 1.0
	switch p.shape {
	case opposite:
		distance = 2
	case laplace:
		return -math.Expm1(-0.5 / p.sigma)
	case response:
		return math.Tanh(0.5 / p.sigma)
	case concentrated: // by Pinsker's inequality: the divergence of order 1 is at most ρ
		return min(1, 0.5/p.sigma)
	}
	return p.q * math.Erf(distance/(2*math.Sqrt2*p.sigma))
}

// exponent returns (2x-1)/(2·sigma²), the exponent in g(x).
func (p pair) exponent(x float64) float64 { return (2*x - 1) / (2 * p.sigma * p.sigma) }

// loss returns L(x), to a few units in the last place.
func (p pair) loss(x float64) float64 {
	w := p.exponent(x)
	if w > 500 { // e^w may overflow
		return w + math.Log(p.q+(1-p.q)*math.Exp(-w))
	}
	if u := p.q * math.Expm1(w); u > -0.5 {
		return math.Log1p(u)
	}
	return math.Log(1 - p.q + p.q*math.Exp(w))
}

// share returns q·e^w/g at x, with w = exponent(x). This is also sigma² times the slope of L.
func (p pair) share(x float64) float64 {
	return 1 / (1 + (1-p.q)/p.q*math.Exp(-p.exponent(x)))
}
