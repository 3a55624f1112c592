package pld

import (
	"math"
	"slices"
)

// contour holds the integrand of
//
//	δ(ε) = (1/2π) ∫ M(λ+it)·e^(-(λ+it)ε) / ((λ+it)(λ+1+it)) dt
//
// (Zhu, Dong, Wang 2022; Alghamdi et al. 2023) at t = 0, h, 2h, …, for any ε. M is the transform of
// the restricted loss plus a Gaussian loss with μ² = smooth, which makes M decay. The sum gives
// bounds of δ(ε) from both sides. They hold for every λ, h, smooth and number of points; a bad
// choice only makes them wide.
type contour struct {
	lambda, step float64
	smooth       float64 // μ² of the Gaussian that is added to the loss
	decay        float64 // μ² of all Gaussian parts together: |M| falls as e^(-decay·t²/2)
	logScale     float64 // K(λ) with the Gaussian parts
	center       float64 // Σ T·c: the phase t·center is taken out of the points
	out          float64

	points             []point
	delta, most, least sumError // the errors of the sums for δ and for the gap

	relative float64 // how far rounding moves the discrete measure's probabilities
	shift    float64 // how far rounding moves its losses, in ε
	aliases  []alias
	bulk     []alias // Chernoff bounds of the δ of what is peeled off

	fast *fast
}

// point holds M(λ+it)·e^(it·center)/e^logScale times the step's weight, divided by z(z+1) and
// multiplied by the transforms of the gap's bounds.
type point struct {
	t                  float64
	delta, most, least complex128
}

// sumError is the error of a sum over the points.
type sumError struct {
	fixed float64
	turn  float64 // how fast it grows with |center-ε|
	cut   float64 // the error of leaving out points
}

func (e sumError) at(turn float64) float64 { return e.fixed + e.turn*turn + e.cut }

func (e *sumError) add(wrong, size, t float64) {
	e.fixed += wrong
	e.turn += 3 * unit * t * size
}

// alias is a Chernoff bound for the copies of δ at ε + m·period, m ≠ 0. A sum with step 2π/period
// adds these copies to the integral.
type alias struct {
	lambda    float64
	logMoment float64 // K(λ), rounded up
}

// logDelta returns the logarithm of a bound of δ(ε).
func (a alias) logDelta(eps float64) float64 {
	return a.logMoment + logChernoff(a.lambda) - a.lambda*eps
}

// shape holds the parameters of a contour.
type shape struct {
	saddle
	smooth  float64
	period  float64 // 2π/h
	excess  float64 // logarithm of the integrand's size over δ
	cut     float64 // largest t
	aliases []alias

	fallen           bool    // whether |M| is small at the cut without smoothing
	copies           float64 // logarithm of what the copies on one side may add to δ
	decay, tolerance float64 // |M| falls as e^(-decay·t²/2), and the wanted relative error of δ
}

// tolerances returns what the contour wants of cells up to t = last. The integrand's size is that of the sketch.
func (r *release) tolerances(s shape, last float64) tolerances {
	const growth, times = 1.6, 12
	want := tolerances{lambda: s.lambda, times: []float64{0}, weight: []float64{1}, bulk: cellShare * s.tolerance,
		jump: cellShare * s.tolerance}
	for _, a := range s.aliases {
		if a.lambda > 0 {
			want.others = append(want.others, a.lambda)
		}
	}
	below := 0.0
	for i := range times {
		t := last * math.Pow(growth, float64(i+1-times))
		size := math.Exp(-r.planner().drop(s.lambda, below)-s.decay*below*below/2) * s.lambda * (s.lambda + 1) /
			(math.Hypot(s.lambda, below) * math.Hypot(s.lambda+1, below))
		want.times, want.weight = append(want.times, t), append(want.weight, size)
		below = t
	}
	return want
}

// drop estimates log(M(λ)/|M(λ+it)|) of the bulk by the rules at hand, without the Gaussian parts.
func (r *release) drop(lambda, t float64) (sum float64) {
	if t == 0 {
		return 0
	}
	for _, one := range r.rounds {
		k := one.bulk.tilt(one, lambda)
		u := one.bulk.last
		for j, y := range u.y {
			if w := math.Exp(u.logP[j] + lambda*y - k.k); w > 1e-18 {
				sin := math.Sin(t * (y - k.mean) / 2)
				sum += one.count * w * 2 * sin * sin
			}
		}
	}
	return sum
}

// steps is the number of points.
func (s shape) steps() int { return int(math.Ceil(s.cut*s.period/(2*math.Pi))) + 1 }

// contour evaluates M at the points of the shape.
func (r *release) contour(s shape) *contour {
	n := s.steps()
	last := float64(n-1) * 2 * math.Pi / s.period
	if r.loose != nil {
		r.gather(r.tolerances(s, last))
	}
	c := &contour{
		lambda: s.lambda, step: 2 * math.Pi / s.period, smooth: s.smooth, decay: r.gauss + s.smooth,
		aliases: s.aliases, bulk: r.rest, out: r.out, fast: &r.fast,
	}
	if r.sketch != nil {
		c.aliases = slices.Clone(c.aliases)
		for i, a := range c.aliases {
			if a.lambda > 0 {
				c.aliases[i].logMoment = r.tilt(a.lambda).certain(a.lambda, c.smooth)
			}
		}
	}
	last = float64(n-1) * c.step
	products := make([]product, n)
	var jumps float64                             // w at t = 0
	different, largest, farthest := 0.0, 0.0, 0.0 // the sizes of the sums logScale and center
	grown := func(terms int) {
		different += float64(terms)
		largest, farthest = max(largest, math.Abs(c.logScale)), max(farthest, math.Abs(c.center))
	}
	for _, one := range slices.Concat(r.rounds, r.alone) {
		if r.ctx.Err() != nil {
			break
		}
		jumps += one.compose(products, c, last)
		grown(1)
	}
	for _, cell := range r.cells {
		jumps += cell.compose(r.ctx, products, c, last)
		grown(len(cell.nodes))
	}
	c.logScale += c.decay * c.lambda * (c.lambda + 1) / 2
	whole := 1.0
	if r.peeled {
		whole = math.Expm1(jumps)
		c.logScale += math.Log(whole)
	}
	scale := unit * (8 + 4*math.Abs(c.logScale) + 4*different)
	if r.loose != nil { // there may be so many terms that the rounding of the sums matters
		scale += unit * different * largest
		c.shift += unit * different * farthest
	}
	c.relative = math.Expm1(1.01 * (c.relative + scale)) // (1+e)^T
	// The factor 1.1 is needed because the upper bound of δ does not quite fall with ε: the lower
	// bound of the gap is subtracted from it.
	c.shift = 1.1 * (c.shift + unit*4*(math.Abs(c.center)+different))

	c.points = make([]point, n)
	for i, m := range products {
		t := float64(i) * c.step
		re, im, rounding := m.value(r.peeled)
		wrong := m.wrong(r.peeled, math.Hypot(re, im)) + unit*rounding
		damp := math.Exp(-c.decay*t*t/2) / whole
		sin, cos := math.Sincos(c.decay * t * (2*c.lambda + 1) / 2)
		re, im = (re*cos-im*sin)*damp, (re*sin+im*cos)*damp
		size := math.Hypot(re, im)
		// 1/(z(z+1)) with z = λ+it
		a, b := c.lambda*(c.lambda+1)-t*t, t*(2*c.lambda+1)
		weight := c.step / math.Pi
		if i == 0 {
			weight /= 2
		}
		value := complex(weight*re, weight*im)
		most, sizeMost := c.gapMost(t)
		least, sizeLeast := c.gapLeast(t)
		c.points[i] = point{t, value * complex(a, -b) / complex(a*a+b*b, 0), value * most, value * least}

		wrong = weight * (damp*wrong +
			size*unit*(32+4*chunk+c.decay*t*(t+2*c.lambda+1)+float64(n))) // 4*chunk for the rotations of sums
		size *= weight
		small := 1 / math.Hypot(a, b)
		c.delta.add(wrong*small, size*small, t)
		c.most.add(wrong*sizeMost, size*sizeMost, t)
		c.least.add(wrong*sizeLeast, size*sizeLeast, t)
	}
	// This is ∫ e^(-D-V·t²/2)·f dt beyond t, where f·t² decreases for δ, and f/t⁴ for the gaps. |M| is at most
	// e^(-D-V·t²/2) of M at t = 0, which the errors of cells may make larger than its estimate.
	v := c.decay * last * last
	rest := math.Exp(-v/2) / math.Pi
	if s.fallen {
		rest *= math.Exp(-r.decays(c.lambda)(last))
	}
	if r.cells != nil || s.fallen {
		rest *= products[0].most(r.peeled) / whole * (1 + 3*c.relative) // for the scale's error, also where 1-relative multiplies
	}
	c.delta.cut = rest / (last * max(1, v))
	if c.smooth == 0 {
		return c
	}
	rest /= c.decay * last
	if v <= 4 {
		rest = math.Inf(1)
	} else {
		rest /= 1 - 3/v
	}
	_, sizeMost := c.gapMost(last)
	_, sizeLeast := c.gapLeast(last)
	c.most.cut, c.least.cut = rest*sizeMost, rest*sizeLeast
	return c
}

// product is the transform of the composed rounds at one point. It is divided by the bulk's
// transform at t = 0, and the phase of the center is taken out. The bulk is e^l, and the part that
// is peeled from it is e^l·(e^w - 1).
//
// Its factors are rounds to the power T, and cells. With β the bulk's transform of a factor and η what its jumps add,
// it is Π(β+η) - Πβ, a polynomial in the β and η with positive coefficients; for a round also one in B and J. mostL
// and mostW are sums of an L and a W of each factor with |β| ≤ e^L and |η| ≤ e^L·(e^W - 1), both for the exact values
// and for the estimates. So the exact product and the estimate are at most e^mostL·(e^mostW - 1) in size, and so are
// all products in which some factors are exact and the others estimates. If one factor after the other is replaced by
// its estimate, these changes add up:
//
//   - of a round: the effect of errors of B and J is largest if they all make |B| and |J| larger. The derivative at
//     the upper end bounds it.
//   - of a cell without a useful error: twice the bound, so it adds 2 to bulkErr.
//   - at last all cells together whose logarithms are off by at most logErr and ratioErr: e^l·(e^w - 1) changes by at most
//     |e^l·(e^w - 1)|·(e^logErr - 1) + |e^(l+w)|·e^logErr·(e^ratioErr - 1).
type product struct {
	lRe, lIm, wRe, wIm float64
	mostL, mostW       float64 // l and w at the upper ends
	bulkErr, jumpErr   float64 // Σ T·(error of B)/|B|, Σ T·(error of J)/|B+J| there
	logErr, ratioErr   float64 // the errors of l and w from cells
}

// value returns the transform and its rounding error in units.
func (m product) value(peeled bool) (re, im, rounding float64) {
	size := math.Exp(m.lRe)
	sin, cos := math.Sincos(m.lIm)
	re, im = size*cos, size*sin
	rounding = size * (4 + math.Abs(m.lRe) + 2*math.Abs(m.lIm))
	if !peeled {
		return re, im, rounding
	}
	if m.wRe > 20 { // e^w may overflow, but e^l·e^w does not
		all := math.Exp(m.lRe + m.wRe)
		sin, cos := math.Sincos(m.lIm + m.wIm)
		rounding += all * (4 + math.Abs(m.lRe) + math.Abs(m.wRe) + 2*(math.Abs(m.lIm)+math.Abs(m.wIm)))
		return all*cos - re, all*sin - im, rounding
	}
	half, _ := math.Sincos(m.wIm / 2)
	sin, cos = math.Sincos(m.wIm)
	a, b := math.Expm1(m.wRe)*cos-2*half*half, math.Exp(m.wRe)*sin
	rounding = math.Hypot(a, b) * size * (16 + math.Abs(m.lRe) + 2*math.Abs(m.lIm))
	return re*a - im*b, re*b + im*a, rounding
}

// most bounds the size of the exact transform.
func (m product) most(peeled bool) float64 {
	if !peeled {
		return math.Exp(m.mostL)
	}
	return math.Exp(m.mostL) * math.Expm1(m.mostW)
}

// wrong bounds the error of value that results from the errors of the rounds' transforms and of cells. size is
// that of value.
func (m product) wrong(peeled bool, size float64) float64 {
	wrong := size*math.Expm1(m.logErr) + m.most(peeled)*m.bulkErr
	if !peeled {
		return wrong
	}
	return wrong + math.Exp(m.lRe+m.wRe+m.logErr)*math.Expm1(m.ratioErr) + math.Exp(m.mostL+m.mostW)*m.jumpErr
}

// compose multiplies the products at the contour's points up to t = last by r's rounds. It returns
// r's part of w at t = 0.
func (r *round) compose(products []product, c *contour, last float64) (w float64) {
	bulk := r.bulk.transform(r, c, last, math.NaN(), len(products))
	c.logScale += r.count * bulk.logMass
	c.center += r.count * bulk.center
	moved, weighed := bulk.moved, bulk.weighed
	var jump transform
	ratio := 0.0
	if r.jump != nil {
		jump = r.jump.transform(r, c, last, bulk.center, len(products))
		ratio = math.Exp(jump.logMass - bulk.logMass)
		w = r.count * math.Log1p(ratio)
		moved, weighed = max(moved, jump.moved), max(weighed, jump.weighed+2*math.Abs(jump.logMass-bulk.logMass))
	}
	c.relative += r.count * unit * weighed
	c.shift += r.count * unit * moved

	for i := range products {
		t := float64(i) * c.step
		m := &products[i]
		re, im := bulk.re[i], bulk.im[i]
		size, wrong := math.Hypot(re, im), bulk.wrong(t, c.step)
		m.lRe += r.count * math.Log(max(size, 1e-300))
		m.lIm += r.count * math.Atan2(im, re)
		most := size + wrong
		m.mostL += r.count * math.Log(most)
		m.bulkErr += r.count * wrong / most
		if r.jump == nil {
			continue
		}
		jr, ji := ratio*jump.re[i], ratio*jump.im[i]
		square := max(size*size, 1e-300)
		qr, qi := (jr*re+ji*im)/square, (ji*re-jr*im)/square
		grown := 2*qr + qr*qr + qi*qi // |1+J/B|² - 1
		if grown > -0.5 {
			grown = 0.5 * math.Log1p(grown)
		} else {
			grown = math.Log(max(math.Hypot(1+qr, qi), 1e-300))
		}
		m.wRe += r.count * grown
		m.wIm += r.count * math.Atan2(qi, 1+qr)
		wrong = ratio * jump.wrong(t, c.step)
		large := math.Hypot(jr, ji) + wrong
		m.mostW += r.count * math.Log1p(large/most)
		m.jumpErr += r.count * (wrong + 8*unit*large) / (most + large)
	}
	return w
}

// transform is the transform of a part at the points, divided by its value at t = 0 and with a
// phase taken out.
type transform struct {
	re, im          []float64
	logMass, center float64
	base, spread    float64 // errors: at t = 0, and per unit of phase
	grows           float64 // how the first one grows with t²
	moved, weighed  float64
}

// wrong bounds the error of re+i·im at t: the error of the rule and of the sums, and the error of
// the phases t·(y-center). Phases are computed at the start of a chunk, and turned step by step
// from there.
func (f *transform) wrong(t, step float64) float64 {
	return f.base*(1+f.grows*t*t) + 4*unit*(t+chunk*step)*f.spread
}

// transform evaluates the part. If center is NaN, the part is centered at its mean.
func (p *part) transform(r *round, c *contour, last, center float64, n int) transform {
	u, wrong := p.ruleFor(r, c.lambda, last)
	top := u.top(c.lambda)
	w := make([]float64, len(u.y))
	var sum, first float64
	for j, y := range u.y {
		w[j] = math.Exp(u.logP[j] + c.lambda*y - top)
		sum += w[j]
		first += w[j] * y
	}
	if math.IsNaN(center) {
		center = first / sum
	}
	f := transform{re: make([]float64, n), im: make([]float64, n), logMass: top + math.Log(sum), center: center}
	for j, y := range u.y {
		w[j] /= sum
		f.spread += w[j] * math.Abs(y-center)
		f.moved = max(f.moved, u.moved[j])
		f.weighed = max(f.weighed, u.weighed[j]+2*c.lambda*math.Abs(y)+2*math.Abs(f.logMass)+2*math.Abs(top))
	}
	units, edge := fourier(f.re, f.im, w, u.y, center, c.step, c.fast)
	f.base = wrong/sum + unit*(units+16)
	if c.smooth == 0 { // no Gaussian bounds the transform of the rounded nodes beyond the cut, so their rounding counts at each point
		f.base += unit * (f.weighed + c.lambda*f.moved)
		f.spread += f.moved / 4
	}
	f.grows = (edge - 1) / max(last*last, 1e-300)
	return f
}

// sums holds the integrals for δ(ε), -δ'(ε) and the gap's bounds, for the smoothed loss, divided by
// e^(logScale-λε).
type sums struct{ delta, slope, most, least float64 }

func (c *contour) sums(eps float64) sums {
	var s sums
	turn := c.center - eps
	var sin, cos float64
	stepSin, stepCos := math.Sincos(c.step * turn)
	for n, p := range c.points {
		if n%chunk == 0 {
			sin, cos = math.Sincos(p.t * turn)
		}
		re := real(p.delta)*cos - imag(p.delta)*sin
		s.delta += re
		s.slope += c.lambda*re - p.t*(real(p.delta)*sin+imag(p.delta)*cos)
		s.most += real(p.most)*cos - imag(p.most)*sin
		s.least += real(p.least)*cos - imag(p.least)*sin
		sin, cos = sin*stepCos+cos*stepSin, cos*stepCos-sin*stepSin
	}
	return s
}

// bounds returns a lower and an upper bound of δ(ε), and the sums.
func (c *contour) bounds(eps float64) (lower, upper float64, s sums) {
	s = c.sums(eps)
	scale := math.Exp(c.logScale - c.lambda*eps)
	relative := c.relative + 4*unit*math.Abs(c.lambda*eps)
	turn := math.Abs(c.center - eps)
	wrong := c.delta.at(turn)
	most := c.smooth * scale * max(0, s.most+c.most.at(turn))
	// The copies are those of the exact losses, which may be closer by the shift.
	nearer := eps - 2*c.shift
	least := c.smooth*scale*(s.least-c.least.at(turn)) - relative*most - c.copies(nearer, c.density)
	most *= math.Exp(c.smooth/8) * (1 + relative)
	upper = max(0, scale*(s.delta+wrong))*(1+relative) - max(0, least)
	upper = max(0, upper) + c.rest(nearer) + c.out
	lower = scale*max(0, s.delta-wrong)*max(0, 1-relative) - most - c.copies(nearer, alias.logDelta)
	// The conditions are written such that NaN, which results from overflow, is not a bound.
	if !(lower > 0) {
		lower = 0
	}
	if !(upper < 1) {
		upper = 1
	}
	return lower, upper, s
}

// certified returns bounds of δ(ε) that include the rounding of the losses, and the sums.
func (c *contour) certified(eps float64) (lower, upper float64, s sums) {
	lower, _, _ = c.bounds(eps + c.shift)
	_, upper, s = c.bounds(eps - c.shift)
	return lower, upper, s
}

// rest bounds the δ(ε) of the bulk, which is not integrated if the release is peeled.
func (c *contour) rest(eps float64) float64 {
	if len(c.bulk) == 0 {
		return 0
	}
	least := 1.0
	for _, a := range c.bulk {
		least = min(least, math.Exp(a.logDelta(eps)))
	}
	return least
}

// density returns the logarithm of a bound of smooth·leastAt0 times the density of the smoothed
// loss at ε, from sup N(w; μ²/2, μ²)·e^(λw).
func (c *contour) density(a alias, eps float64) float64 {
	return a.logMoment - a.lambda*eps + math.Log(leastAt0*math.Sqrt(c.smooth/(2*math.Pi)))
}

// copies bounds what the copies add to a sum. log must bound the logarithm of the integral by an
// alias.
func (c *contour) copies(eps float64, log func(alias, float64) float64) float64 {
	right, left := math.Inf(1), math.Inf(1)
	period := 2 * math.Pi / c.step
	for _, a := range c.aliases {
		fall := math.Abs(a.lambda-c.lambda) * period
		mass := math.Exp(log(a, eps)-fall) / -math.Expm1(-fall)
		if a.lambda > c.lambda {
			right = min(right, mass)
		} else {
			left = min(left, mass)
		}
	}
	return (right + left) * (1 + 1e-9)
}
