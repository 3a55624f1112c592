package pld

import (
	"math"
	"testing"
)

// The bounds of the copies of the loss are from tilts on either side of the saddle,
// and the period that they allow is nearly the least of all tilts: a longer one is as
// certain, and costs more steps. Where δ is tiny, the bound δ ≤ 1 is far from it.
func TestAliasesAllowAShortPeriod(t *testing.T) {
	for _, c := range []struct {
		spec
		delta float64
	}{
		{spec{q: 0.01, sigma: 1, count: 1000}, 1e-5}, {spec{q: 0.1, sigma: 2, count: 100}, 1e-5}, {spec{q: 0.003, sigma: 0.8, count: 1612}, 1e-8},
		{spec{q: 0.01, sigma: 1, count: 1000}, 1e-100}, {spec{q: 0.1, sigma: 2, count: 100}, 1e-100}, {spec{q: 0.3, sigma: 5, count: 1000}, 1e-90},
	} {
		r := newRelease(&effort{ctx: t.Context()}, remove, []spec{c.spec}, 1e-120, math.Inf(1))
		s, ok := r.saddleOf(c.delta)
		if !ok {
			t.Fatalf("%+v: no saddle", c)
		}
		logTolerance := math.Log(c.delta) - 20
		aliases, period := r.aliasesFor(s, r.gauss, 20, logTolerance)
		if above, below := aliases[0].lambda, aliases[1].lambda; !(above > s.lambda && s.lambda > below && below >= 0) {
			t.Errorf("%+v: tilts %v and %v, the saddle's is %v", c, above, below, s.lambda)
		}
		least := [2]float64{math.Inf(1), math.Inf(1)} // above and below the saddle
		for i := range 300 {
			a := alias{}
			if a.lambda = 5 * s.lambda * float64(i) / 300; i > 0 {
				a.logMoment = r.tilt(a.lambda).certain(a.lambda, 0)
			}
			side := 0
			if a.lambda < s.lambda {
				side = 1
			}
			least[side] = min(least[side], (a.logDelta(s.epsilon)-logTolerance)/math.Abs(a.lambda-s.lambda))
		}
		if most := 1.25 * max(least[0], least[1]); period > most {
			t.Errorf("%+v: period %v, other tilts allow %v above and %v below", c, period, least[0], least[1])
		}
	}
}

// Panels are split until the rule's error is lost in the rounding, down to 1e-7 of σ.
// Little noise and a long way along the contour take panels that are far smaller than
// the first ones.
func TestPanelsAreAsFineAsTheNoiseAsks(t *testing.T) {
	const q, lambda, along = 0.5, 1, 8e4
	r := newRound(remove, spec{q: q, sigma: MinSigma, count: 1}, 1e-3, math.Inf(1))
	if u, wrong := r.bulk.ruleFor(r, lambda, along); wrong > 1e-8 {
		t.Errorf("error %v with %d panels, want less than 1e-8", wrong, len(u.panels))
	}
}

// Where e^w is large the loss is log(1-q+q·e^w) as elsewhere; where e^w overflows it is finite.
func TestLossesWhereTheirExponentIsLarge(t *testing.T) {
	for _, q := range []float64{0.5, 1e-3, 1e-100, 1e-200} {
		r := &round{q: q, sigma: 0.1}
		for _, w := range []float64{499, 501, 505, 600, 700} {
			x := w*r.sigma*r.sigma + 0.5
			want := math.Log1p(q * math.Expm1(r.exponent(x)))
			if got := r.loss(x); math.Abs(got-want) > 1e-13*want {
				t.Errorf("q = %v, w = %v: loss %v, want %v", q, w, got, want)
			}
		}
		x := 2000*r.sigma*r.sigma + 0.5
		if got, want := r.loss(x), r.exponent(x)+math.Log(q); math.Abs(got-want) > 1e-13*want {
			t.Errorf("q = %v, w = 2000: loss %v, want %v", q, got, want)
		}
	}
}
