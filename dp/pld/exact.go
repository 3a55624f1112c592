package pld

import (
	"errors"
	"math"

	"proactivedp/dp/gdp"
)

// exactRounding bounds the relative rounding error of the closed forms of δ.
const exactRounding = 1e-11

// exactForm is a closed form of δ(ε) and its inverse.
type exactForm struct {
	delta   func(eps float64) float64
	epsilon func(delta float64) (float64, error)
}

// exact returns the closed form, or nil. One exists if no round samples, or if there is a single
// round with Poisson sampling under add-or-remove adjacency or with fixed-size sampling.
func (q query) exact() *exactForm {
	var squares, rounds float64
	sampled := false
	for _, s := range q.specs {
		if s.given != nil {
			return nil
		}
		squares += s.count / (s.sigma * s.sigma)
		rounds += s.count
		sampled = sampled || s.q < 1
	}
	d := q.directions[0]
	switch {
	case !sampled:
		mu := math.Sqrt(squares) // for a sensitivity of 1
		if d != remove {
			mu *= 2
		}
		return &exactForm{
			func(eps float64) float64 { return gdp.Delta(mu, eps) },
			func(delta float64) (float64, error) { return gdp.Epsilon(mu, delta) },
		}
	case rounds == 1 && d != replace:
		s := q.specs[0]
		if d == fixed { // C_q(G_{2/σ}) has the same δ at every ε ≥ 0
			s.sigma /= 2
		}
		return &exactForm{
			func(eps float64) float64 { return oneDelta(s, eps) },
			func(delta float64) (float64, error) { return oneEpsilon(s, delta) },
		}
	}
	return nil
}

// boundDelta returns the bounds of δ(ε) > 0. If δ is not a normal float64, the lower bound is 0.
func (f *exactForm) boundDelta(eps float64) (lower, upper float64) {
	delta := f.delta(eps)
	if delta < gdp.LeastExact {
		return 0, delta + math.SmallestNonzeroFloat64
	}
	return delta * (1 - exactRounding), min(1, delta*(1+exactRounding))
}

// boundEpsilon returns the bounds of ε(δ). Both the rounding of ε and that of δ(ε) are treated as
// an error of δ, because near δ(0) a small change of δ is a large change of ε.
func (f *exactForm) boundEpsilon(delta float64) (lower, upper float64, err error) {
	lower, lowErr := f.epsilon(min(delta*(1+exactRounding), 1-unit))
	upper, upErr := f.epsilon(delta * (1 - exactRounding))
	if err := errors.Join(lowErr, upErr); err != nil {
		return 0, 0, err
	}
	return lower * (1 - exactRounding), upper * (1 + exactRounding), nil
}

// oneDelta returns δ(ε), ε ≥ 0, of one round with Poisson sampling under add-or-remove adjacency: q
// times the δ of the Gaussian mechanism at log(1 + (e^ε-1)/q). For one round, removing a record
// costs more than adding one.
func oneDelta(s spec, eps float64) float64 {
	amplified := math.Log1p(math.Expm1(eps) / s.q)
	if eps > 30 { // e^ε may overflow, and 1-q is negligible against e^ε
		amplified = eps - math.Log(s.q) + math.Log1p(-(1-s.q)*math.Exp(-eps))
	}
	return s.q * gdp.Delta(1/s.sigma, amplified)
}

// oneEpsilon is the inverse of oneDelta.
func oneEpsilon(s spec, delta float64) (float64, error) {
	if delta >= s.q {
		return 0, nil
	}
	eps, err := gdp.Epsilon(1/s.sigma, delta/s.q)
	if err != nil {
		return 0, err
	}
	if eps > 30 {
		return eps + math.Log(s.q+(1-s.q)*math.Exp(-eps)), nil
	}
	return math.Log1p(s.q * math.Expm1(eps)), nil
}
