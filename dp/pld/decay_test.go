package pld

import (
	"math"
	"math/rand/v2"
	"testing"
)

// fallAt returns the logarithm of |M(λ)/M(λ+it)| of one round, by the rule for t.
func (r *round) fallAt(lambda, t float64) float64 {
	u, _ := r.bulk.ruleFor(r, lambda, t)
	top, sum, re, im := u.top(lambda), 0.0, 0.0, 0.0
	for j, y := range u.y {
		w := math.Exp(u.logP[j] + lambda*y - top)
		sin, cos := math.Sincos(t * y)
		sum, re, im = sum+w, re+w*cos, im+w*sin
	}
	return math.Log(sum / math.Hypot(re, im))
}

// At t and beyond, the transform of a round has fallen at least as far as its decay says, in every direction. Near the
// saddle of a common release, it says more than half of the truth.
func TestDecayIsNotTooLarge(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 21))
	useful := 0
	for range 200 {
		d, lambda := direction(r.IntN(4)), logUniform(r, 0.1, 300)
		s := spec{q: logUniform(r, 1e-4, 0.9), sigma: logUniform(r, 0.3, 30), count: 1}
		one := newRound(d, s, 1e-12, math.Inf(1))
		from := logUniform(r, 0.03, 30) / math.Sqrt(one.bulk.tilt(one, lambda).variance)
		bound := one.decay(lambda).at(from)
		for _, factor := range [...]float64{1, 1.01, 1.3, 2, 5} {
			truth := one.fallAt(lambda, factor*from)
			if !(bound <= truth+1e-12) {
				t.Errorf("direction %v, %+v, λ = %v: %v from t = %v on, but %v at %v times that", d, s, lambda, bound, from, truth, factor)
			}
			if factor == 1 && bound > truth/2 && truth > 1e-6 {
				useful++
			}
		}
	}
	if useful < 30 {
		t.Errorf("%d decays of 200 are more than half of the truth", useful)
	}
	for _, s := range []spec{{q: 0.005, sigma: 0.8, count: 4000}, {q: 0.01, sigma: 1.4, count: 1000}, {q: 0.2, sigma: 500, count: 6000}} {
		e := newRelease(free(t), remove, []spec{s}, 1e-12, math.Inf(1))
		at, ok := e.saddleOf(1e-5)
		last := e.fallen(at, 30, math.Inf(1))
		if fall := s.count * e.rounds[0].fallAt(at.lambda, last); !ok || !(fall < 80) {
			t.Errorf("%+v: the integrand is cut at %v, where it has fallen by e^%v", s, last, fall)
		}
	}
}
