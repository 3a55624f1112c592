package pld

import (
	"context"
	"math"
	"math/cmplx"
	"math/rand/v2"
	"testing"

	"proactivedp/dp"
	"proactivedp/dp/rdp"
	"proactivedp/internal/testkit"
)

// The product of a cell's transforms is within the cell's errors of the product of all transforms, which are
// evaluated one by one, and where the errors are useless, below the cell's bound. So is its part with jumps.
func TestCellsHoldAllRounds(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 7))
	used, useless := 0, 0
	n := 40 * testkit.Sweeps(t)
	for range n {
		d := direction(r.IntN(4))
		rate, sigma, qSpan, sSpan := logUniform(r, 1e-4, 0.2), logUniform(r, 0.5, 8), logUniform(r, 1, 3), logUniform(r, 1, 2)
		if r.IntN(5) == 0 {
			sSpan = 1
		}
		var specs []spec
		total := 0.0
		for range 60 {
			s := spec{q: rate * math.Pow(qSpan, r.Float64()), sigma: sigma * math.Pow(sSpan, r.Float64()), count: float64(1 + r.IntN(3))}
			specs = append(specs, s)
			total += s.count
		}
		threshold := math.Inf(1)
		if r.IntN(2) == 0 {
			threshold = logUniform(r, 0.1, 2)
		}
		last, lambda := logUniform(r, 1, 300), logUniform(r, 0.3, 20)
		want := tolerances{lambda: lambda, bulk: 1e-3 / total, jump: 1e-3 / total}
		for _, at := range []float64{0, 0.1, 0.25, 0.5, 1} {
			want.times, want.weight = append(want.times, at*last), append(want.weight, math.Exp(-50*at*at))
		}
		all, alone := cells(t.Context(), d, specs, 1e-10, threshold, want)
		if len(all) != 1 || len(alone) > 0 {
			continue
		}
		used++
		c := all[0]
		const points = 9
		of := &contour{lambda: lambda, step: last / (points - 1), fast: new(fast)}
		got := make([]product, points)
		w := c.compose(context.Background(), got, of, last)
		logScale := 0.0
		direct := make([][2]complex128, points) // Σ log B and Σ log(1 + J/B), less their values at t = 0
		for _, s := range specs {
			one := c.node(s)
			b := one.bulk.transform(one, of, last, 0, points)
			logScale += s.count * b.logMass
			j, ratio := transform{re: make([]float64, points), im: make([]float64, points)}, 0.0
			if one.jump != nil {
				j = one.jump.transform(one, of, last, 0, points)
				ratio = math.Exp(j.logMass - b.logMass)
			}
			for i := range points {
				bulk := complex(b.re[i], b.im[i])
				x := 1 + complex(ratio, 0)*complex(j.re[i], j.im[i])/bulk
				direct[i][0] += complex(s.count*math.Log(math.Hypot(b.re[i], b.im[i])), s.count*math.Atan2(b.im[i], b.re[i]))
				direct[i][1] += complex(s.count*math.Log(math.Hypot(real(x), imag(x))), s.count*math.Atan2(imag(x), real(x)))
			}
		}
		const rounding = 1e-10
		if off := math.Abs(of.logScale - logScale); off > c.bulkErr[0]+rounding {
			t.Errorf("direction %v, λ = %v: log scale %v, want %v ± %v", d, lambda, of.logScale, logScale, c.bulkErr[0])
		}
		if off := math.Abs(w - real(direct[0][1])); c.edge < c.to && off > c.jumpErr[0]+rounding {
			t.Errorf("direction %v, λ = %v: w = %v, want %v ± %v", d, lambda, w, direct[0][1], c.jumpErr[0])
		}
		for i, p := range got {
			moved := of.logScale - logScale // the errors are those of the product with its scale
			if p.bulkErr > 0 {
				useless++
				if real(direct[i][0]) > p.mostL+moved+rounding {
					t.Errorf("direction %v, λ = %v, t = %v: log size %v, must be at most %v", d, lambda, float64(i)*of.step,
						real(direct[i][0]), p.mostL)
				}
				more := real(direct[i][0]) + math.Log(cmplx.Abs(cmplx.Exp(direct[i][1])-1))
				if most := p.mostL + moved + math.Log(math.Expm1(p.mostW)); c.edge < c.to && more > most+rounding {
					t.Errorf("direction %v, λ = %v, t = %v: log size of what jumps add %v, must be at most %v", d, lambda,
						float64(i)*of.step, more, most)
				}
				continue
			}
			l := direct[i][0] - complex(p.lRe+moved, p.lIm)
			x := direct[i][1] - complex(p.wRe, p.wIm)
			if math.Hypot(real(l), imag(l)) > p.logErr+rounding || math.Hypot(real(x), imag(x)) > p.ratioErr+rounding {
				t.Errorf("direction %v, λ = %v, t = %v: off by %v and %v, must be at most %v and %v", d, lambda, float64(i)*of.step,
					l, x, p.logErr, p.ratioErr)
			}
		}
	}
	if used < n/3 || useless == 0 || useless > used*5 {
		t.Errorf("%d of %d mixtures are one cell, with %d points without a useful error", used, n, useless)
	}
}

// In cells, the interval overlaps that of the same rounds composed one by one, and is not wider if both are as
// narrow as was asked for. Rényi accounting costs more. There are whole batches, a rare round with large losses, and
// releases with Laplace noise among the rounds.
func TestCellsAgreeWithRoundsOneByOne(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 8))
	for i := range 3 * testkit.Sweeps(t) {
		var events []dp.Event
		span, count := logUniform(r, 1.02, 3), int(logUniform(r, 1, 500))
		for _, s := range different(r, 385, logUniform(r, 0.0005, 0.02), logUniform(r, 0.7, 3), span) {
			events = append(events, event(s.q, s.sigma, count*int(s.count)))
		}
		switch i % 3 {
		case 1:
			events = append(events, event(1, 20, 3), event(1e-6, 0.2, 1))
			events = replaced(events...)
		case 2:
			for j := range events {
				events[j].Adjacency, events[j].Sampling = dp.ReplaceOne, dp.FixedSize
				events[j].NoiseMultiplier *= 2
			}
		}
		if i%6 == 3 {
			events = append(events, otherRelease(dp.LaplaceNoise, 5, 0, 1))
		}
		delta := logUniform(r, 1e-9, 1e-4)
		of := func(alone int) (lower, upper float64) {
			q, err := Accountant{UpperEnd: true}.query(t.Context(), events, nil)
			if err != nil {
				t.Fatal(err)
			}
			_, most, err := q.ends(lost * delta)
			if err != nil {
				t.Fatal(err)
			}
			q = most[0]
			q.alone = alone
			return q.composeEpsilon(delta)
		}
		lower, upper := of(maxAlone)
		least, most := of(0)
		if !(least <= upper*(1+1e-9) && most >= lower*(1-1e-9) && least <= most) {
			t.Errorf("%d: [%v, %v] in cells, [%v, %v] one by one", i, least, most, lower, upper)
		}
		if upper <= 1.001*lower && most > 1.003*least {
			t.Errorf("%d: [%v, %v] is wider than [%v, %v]", i, least, most, lower, upper)
		}
		if r, err := (rdp.Accountant{}).Epsilon(t.Context(), events, delta); err == nil && r.EpsilonUpper < least {
			t.Errorf("%d: at least %v, but Rényi accounting has %v", i, least, r.EpsilonUpper)
		}
	}
}

// When rounds are gathered into other cells, the edges between bulk and jumps move. The bound of the bulk that a
// contour leaves out is then that of the bulk at hand.
func TestRestIsThatOfTheCells(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 10))
	specs := different(r, 768, 0.01, 1, 3)
	const delta, eps = 1e-6, 3.0
	e := free(t)
	e.alone = 0
	p, s := peeled(e, remove, specs, delta, eps, 1e-3, 4)
	if p == nil || len(p.rest) != 1 {
		t.Fatal("the release is not peeled")
	}
	before := p.rest[0]
	c := p.contour(p.shapeFor(s, math.Log(delta), 1e-3*eps, 5))
	bulk, _ := p.tilts(before.lambda)
	if len(c.bulk) != 1 || c.bulk[0].logMoment != bulk.certain(before.lambda, 0) || c.bulk[0] == before {
		t.Errorf("rest %+v of the bulk with %+v, before %+v", c.bulk, bulk, before)
	}
}

// Thousands of different rounds have an interval as narrow as was asked for.
func TestThousandsOfDifferentRounds(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 9))
	for _, c := range []struct {
		n    int
		span float64
	}{{1000, 1.2}, {10000, 3}} {
		var events []dp.Event
		for _, s := range different(r, c.n, 0.003, 1, c.span) {
			events = append(events, event(s.q, s.sigma, int(s.count)))
		}
		b := epsilon(t, Accountant{}, 1e-5, events...)
		if !sound(b) || b.EpsilonUpper > 1.001001*b.EpsilonLower || b.Kind != dp.Interval {
			t.Errorf("%d rounds: [%v, %v]", c.n, b.EpsilonLower, b.EpsilonUpper)
		}
		d, err := Accountant{}.Delta(t.Context(), events, b.Epsilon)
		if err != nil || !sound(d) || d.DeltaLower > 1.01e-5 || d.DeltaUpper < 0.99e-5 || d.DeltaUpper > 1.02*d.DeltaLower {
			t.Errorf("%d rounds, ε = %v: %+v, %v", c.n, b.Epsilon, d, err)
		}
		if r := epsilon(t, rdp.Accountant{}, 1e-5, events...); r.EpsilonUpper < b.EpsilonUpper {
			t.Errorf("%d rounds: %v, but Rényi accounting has %v", c.n, b.EpsilonUpper, r.EpsilonUpper)
		}
	}
}

// What a contour leaves out beyond its last point is bounded by the exact transform at t = 0, which is far above
// the estimate of a cell with a single node.
func TestCutCountsTheErrorsOfCells(t *testing.T) {
	specs := different(rand.New(rand.NewPCG(3, 11)), 768, 0.01, 1, 3)
	const delta = 1e-6
	e := free(t)
	e.alone = 0
	r := newRelease(e, remove, specs, lost*delta, math.Inf(1))
	s, ok := r.saddleOf(delta)
	if !ok {
		t.Fatal("no saddle")
	}
	coarse := r.shapeFor(s, math.Log(delta), 1e-2*s.epsilon, 5)
	coarse.tolerance, coarse.aliases = 1e6, []alias{{0, 0}}
	c := r.contour(coarse)
	exact := newRelease(free(t), remove, specs, lost*delta, math.Inf(1)).tilt(c.lambda).k + c.smooth*c.lambda*(c.lambda+1)/2
	last := c.points[len(c.points)-1].t
	most := math.Exp(exact-c.logScale-c.decay*last*last/2) / (math.Pi * c.decay * last * last * last)
	if exact < c.logScale+1 || !(c.delta.cut >= most) {
		t.Errorf("cut %v, must be at least %v; log M = %v, estimated as %v", c.delta.cut, most, exact, c.logScale)
	}
}

// If the ends of a node's branches move, its transform changes by at most the bound, with which the rounding of the ends is
// counted. The bound may be many units.
func TestRoundedEndsOfNodes(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 12))
	large := 0
	for range 60 {
		d, lambda, edge := direction(r.IntN(4)), logUniform(r, 1, 300), logUniform(r, 0.01, 1)
		s := spec{q: logUniform(r, 1e-6, 0.1), sigma: logUniform(r, 0.1, 2), count: 1}
		const h = 1e-7 // instead of a unit
		of := func(sign float64) *round {
			one := emptyRound(d, s)
			lo, hi := one.span(d, 1e-9)
			one.cut(d, lo+sign*h*(math.Abs(lo)+1), hi+sign*h*(math.Abs(hi)+1), func(b branch) float64 {
				x := emptyRound(d, s).edge(b, edge)
				return x + sign*h*(math.Abs(x)+1)
			})
			return one
		}
		here, moved := of(0), of(1)
		parts := [][2]*part{{&here.bulk, &moved.bulk}}
		if here.jump != nil && moved.jump != nil {
			parts = append(parts, [2]*part{here.jump, moved.jump})
		}
		for _, p := range parts {
			k := p[0].tilt(here, lambda).k
			off := math.Abs(p[1].tilt(moved, lambda).k - k)
			bound := p[0].ends(here, lambda, k)
			if off > 1.001*h*bound+1e-11 {
				t.Errorf("direction %v, %+v, λ = %v: log of the transform moved by %v, must be at most %v", d, s, lambda, off, h*bound)
			}
			if off > sumsRounding*h {
				large++
			}
		}
	}
	if large == 0 {
		t.Error("no change is large")
	}
}

// At small times, the bound of how far |B| falls does not suffer from cancellation.
func TestDropAtSmallTimes(t *testing.T) {
	for x := 1.1e-5; x < 0.2; x *= 1.07 {
		// This is 1 - sin(x)/x.
		sinc := x * x / 6 * (1 - x*x/20*(1-x*x/42*(1-x*x/72)))
		if got, most := dropAt([][]stretch{{{length: 2, density: 0.2}}}, x, x), -math.Log1p(-0.4*sinc); got > most {
			t.Errorf("x = %v: %v, must be at most %v", x, got, most)
		}
		var some []stretch // of which the first and the last are x apart
		for range pairs {
			some = append(some, stretch{length: 1. / (pairs - 2), most: 1. / (pairs - 2)})
		}
		some[0].mass, some[pairs-1].mass = 0.3, 0.3
		cos := x * x / 2 * (1 - x*x/12*(1-x*x/30*(1-x*x/56)))
		if got, most := dropAt([][]stretch{some}, x, x), -math.Log1p(-0.18*cos)/2; got > most*(1+1e-13) {
			t.Errorf("x = %v: %v of pairs, must be at most %v", x, got, most)
		}
	}
}
