package rdp

import (
	"errors"
	"math"

	"proactivedp/dp"
)

// Divergence returns the Rényi divergence of one round of DP-SGD, of order alpha in (1, 1e10], with sample rate q in
// (0, 1] and noise multiplier sigma. It is the largest divergence between the releases of two neighbouring data sets
// or, under fixed-size sampling, an upper bound on it. Divergences of rounds add up, and [Epsilon] converts the sum to
// ε. The relative error is 1e-11, and the result is not rounded up. The error wraps dp.ErrNotCovered for what
// [Accountant] does not cover.
//
// The result is the divergence of a dominating pair, two distributions that are at least as far apart as the releases
// of any neighbours; the package comment lists these pairs. Under Poisson sampling, the releases of some neighbours
// have exactly these two distributions, so the result is exact. Under fixed-size sampling, the releases of no
// neighbours have exactly these two distributions, so the true divergence may be smaller than the result. Only the δ
// that follows from the pair is exact there: that of a single round, at every ε ≥ 0.
func Divergence(sampling dp.Sampling, adjacency dp.Adjacency, q, sigma, alpha float64) (float64, error) {
	// Proof that the pair of Poisson sampling under replace-one adjacency dominates.
	//
	//  1. Let the replaced record have the clipped gradient u in one data set and v in the other, in units of
	//     C, so |u|, |v| ≤ 1. Suppose first that the sample of the other records is known. Around their sum,
	//     the releases have the distributions P = (1-q)N(0,σ²I) + qN(u,σ²I) and
	//     Q = (1-q)N(0,σ²I) + qN(v,σ²I). Samples are not known, and mixing over them lowers divergences.
	//  2. For k ≥ 1, the hockey-stick divergence of P and Q is q·E[(1 - kX - cY)₊] with
	//     c = (k-1)(1-q)/q ≥ 0. X and Y are log-normal with mean 1. Their logarithms have the variances
	//     |u-v|²/σ² and |u|²/σ² and the covariance u·(u-v)/σ².
	//  3. All second derivatives in (X, Y) are non-negative, so the divergence grows with each of these three
	//     numbers (the interpolation of Kahane's inequality). All three are largest if u and v are opposite
	//     unit vectors. For k < 1 exchange P and Q.
	//  4. So the pair dominates all others in every hockey-stick divergence, and therefore in every Rényi
	//     divergence. (Lebeda, Regehr, Kamath, Steinke, arXiv 2405.20769, also study pairs for replace-one
	//     adjacency.)
	e := dp.Event{Sampling: sampling, Adjacency: adjacency, NoiseMultiplier: sigma, Rate: q, Count: 1}
	if err := errors.Join(e.Validate(), CheckOrder(alpha)); err != nil {
		return 0, err
	}
	p, err := newPair(e)
	if err != nil {
		return 0, err
	}
	return p.divergence(alpha - 1), nil
}

// divergence is D_(1+a)(P‖Q) = log(E_Q[(P/Q)^(1+a)])/a, for a > 0.
func (p pair) divergence(a float64) float64 {
	eps := 1 / p.sigma // of laplace and response
	switch p.shape {
	case gaussian, concentrated:
		return (1 + a) / (2 * p.sigma * p.sigma)
	case laplace: // Mironov 2017, Table II
		if a*eps < 1 {
			return math.Log1p(((1+a)*pastLinear(a*eps)+a*pastLinear(-(1+a)*eps))/(1+2*a)) / a
		}
		return eps + math.Log1p(a/(1+2*a)*math.Expm1(-(1+2*a)*eps))/a
	case response: // E_Q[R^(1+a)] = p·e^(aε) + (1-p)·e^(-aε) with p = e^ε/(1+e^ε) = (1+tanh(ε/2))/2
		if a*eps < 1 {
			half := math.Sinh(a * eps / 2)
			return math.Log1p(2*half*half+math.Tanh(eps/2)*math.Sinh(a*eps)) / a
		}
		return eps + math.Log1p(math.Expm1(-2*a*eps)/(1+math.Exp(eps)))/a
	}
	return ofLogMoment(p.logMoment(a), a)
}

// pastLinear returns e^x - 1 - x.
func pastLinear(x float64) float64 {
	if math.Abs(x) > 0.1 {
		return math.Expm1(x) - x
	}
	term, sum := x*x/2, 0.0
	for k := 3.0; math.Abs(term) > 1e-17*sum; k++ {
		sum += term
		term *= x / k
	}
	return sum
}

// ofLogMoment returns the divergence for log(E_Q[(P/Q)^(1+a)] - 1) = l.
func ofLogMoment(l, a float64) float64 {
	if l > 0 {
		return (l + math.Log1p(math.Exp(-l))) / a
	}
	return math.Log1p(math.Exp(l)) / a
}

// logExcess returns log(R^(1+a) - 1 - (1+a)(R-1)) for R = e^l and a > 0. The argument is the excess
// of R^(1+a) over its tangent at 1, which is not negative.
func logExcess(l, a float64) float64 {
	y := a * l
	if y > negligible { // the subtracted terms are negligible against e^y
		return l + y + math.Log1p(-math.Exp(-y)*(1-a*math.Expm1(-l)))
	}
	if v := math.Expm1(l); math.Abs(v)*(1+a) < 0.1 { // the binomial series converges fast
		term, sum := 1.0, 1.0
		for j := 2.0; math.Abs(term) > 1e-17; j++ {
			term *= v * (1 + a - j) / (1 + j)
			sum += term
		}
		return math.Log(a*(1+a)/2) + 2*math.Log(math.Abs(v)) + math.Log(sum)
	}
	if l < 0 {
		return math.Log(math.Exp(l)*math.Expm1(y) - a*math.Expm1(l))
	}
	return l + math.Log(math.Expm1(y)+a*math.Expm1(-l))
}
