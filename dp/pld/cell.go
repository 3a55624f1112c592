package pld

import (
	"context"
	"math"
	"slices"
)

// cell has many different rounds. The logarithms of their transforms B and of 1 + J/B are interpolated between a few
// nodes by polynomials in a = log q and b = log v, v = 1/σ². So the logarithm of the product of all is a sum over
// the nodes, whose weights may be negative.
//
// In terms of w = (2x-1)/(2σ²), the likelihood ratio g = 1 + q(e^w - 1) does not depend on σ, and
// the density of w under Q, k_v(w) = N(w; -v/2, v), does not depend on q. All nodes and all rounds
// have the same range of w, and the same edge between bulk and jumps. So both logarithms are analytic in a and b.
//
// The error has a proved bound. A function of modulus at most F in the Bernstein ellipse with parameter ϱ around an
// interval has Chebyshev coefficients of at most 2F·ϱ^(-k) (Trefethen, Approximation Theory and Approximation
// Practice, Theorem 8.1). At the roots of T_m, each T_k with k ≥ m is equal to a T_j, j < m, or to its negative, or
// is 0. So the polynomial through the m roots is off by at most Σ 4F·ϱ^(-k) = 4F·ϱ^(1-m)/(ϱ-1), summed over k ≥ m.
// In two variables, let f be the function, f_a its interpolation in a, and f_ab that of f_a in b. Then
// f - f_ab = (f - f_a) + (f - f_b)_a. The second term is a combination of errors in b at the nodes of a; the
// moduli of its weights have the sum axes[0].sum over all rounds (see errors). analytic bounds F.
type cell struct {
	d     direction
	count float64 // T, the number of rounds
	axes  [2]axis // of a and b
	nodes []*round
	out   float64 // Σ of the rounds' probabilities outside the range
	sum   float64 // Σ|weight of a round at a node|, over rounds and nodes

	different int // the number of different rounds
	fields    [2]fields

	from, edge, to float64 // of w

	// For t from times[i] to the next time, each round has a D ≥ 0 such that |B| is at most e^(-D) of its value at t = 0.
	// drop[i] is the sum of the rounds' D, and deepest[i] the largest of them.
	drop, deepest []float64

	// At times[i] and below, the error of Σ log B over the rounds is at most bulkErr[i], and that of Σ
	// log(1 + J/B) is at most jumpErr[i]. J and B are the transforms of jumps and bulk.
	times, bulkErr, jumpErr []float64
}

// axis is an interval with the roots of a Chebyshev polynomial.
type axis struct {
	lo, hi float64
	nodes  int
	sum    float64 // Σ|weight of a round at a node|, for this axis
}

func (x axis) mid() float64  { return x.lo + (x.hi-x.lo)/2 }
func (x axis) half() float64 { return (x.hi - x.lo) / 2 }

// at returns node k.
func (x axis) at(k int) float64 {
	return x.mid() + x.half()*math.Cos((2*float64(k)+1)*math.Pi/(2*float64(x.nodes)))
}

// weights sets w to the values at v of the polynomials that are 1 at one node and 0 at the others, by the
// barycentric formula (Berrut, Trefethen, SIAM Review 46, 2004).
func (x axis) weights(v float64, w []float64) {
	if x.nodes == 1 || x.lo == x.hi {
		w[0] = 1
		clear(w[1:])
		return
	}
	var sum float64
	t := max(-1, min(1, (v-x.mid())/x.half()))
	for k := range w {
		sin, cos := math.Sincos((2*float64(k) + 1) * math.Pi / (2 * float64(x.nodes)))
		if t == cos {
			clear(w)
			w[k] = 1
			return
		}
		w[k] = sin / (t - cos)
		if k%2 == 1 {
			w[k] = -w[k]
		}
		sum += w[k]
	}
	for k := range w {
		w[k] /= sum
	}
}

// place returns a and b of a round.
func (s spec) place(d direction) [2]float64 {
	sigma := s.sigma
	if d == fixed {
		sigma /= 2
	}
	return [2]float64{math.Log(s.q), -2 * math.Log(sigma)}
}

// specAt returns the round at a and b.
func specAt(d direction, a, b float64) spec {
	sigma := math.Exp(-b / 2)
	if d == fixed {
		sigma *= 2
	}
	return spec{q: min(math.Exp(a), 1-unit), sigma: sigma}
}

const (
	maxNodes = 14 // of an axis. If more are needed, two smaller cells need about as many
	fewSpecs = 12 // are not worth a cell
)

// tolerances are the errors of a round that are wanted, and where they matter.
type tolerances struct {
	lambda     float64
	times      []float64
	weight     []float64 // the size of the integrand at each time
	bulk, jump float64
	// At t = 0 and these other λ, the error may be tilt.
	others []float64
	tilt   float64
}

// placed is a round with its a and b.
type placed struct {
	spec
	at [2]float64
}

// cells divides the rounds into cells and rounds that are left alone. tail and threshold are those of
// newRound. Once ctx is done the result is incomplete.
func cells(ctx context.Context, d direction, specs []spec, tail, threshold float64, want tolerances) (all []*cell, alone []spec) {
	todo := [][]placed{make([]placed, len(specs))}
	for i, s := range specs {
		todo[0][i] = placed{s, s.place(d)}
	}
	for len(todo) > 0 && ctx.Err() == nil {
		rounds := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if len(rounds) > fewSpecs {
			c := newCell(d, rounds, tail, threshold, want)
			m, n := c.axes[0].nodes, c.axes[1].nodes
			if m <= maxNodes && n <= maxNodes && m*n < len(rounds) {
				c.fill(rounds, want)
				all = append(all, c)
				continue
			}
			if left, right := c.halves(rounds); len(left) > 0 && len(right) > 0 {
				todo = append(todo, right, left)
				continue
			}
		}
		for _, p := range rounds {
			alone = append(alone, p.spec)
		}
	}
	return all, alone
}

// newCell returns a cell without its nodes. It has the numbers of nodes that the tolerances need.
func newCell(d direction, rounds []placed, tail, threshold float64, want tolerances) *cell {
	c := &cell{d: d, times: want.times}
	for i := range c.axes {
		x := &c.axes[i]
		x.lo, x.hi = math.Inf(1), math.Inf(-1)
		for _, p := range rounds {
			x.lo, x.hi = min(x.lo, p.at[i]), max(x.hi, p.at[i])
		}
		if half := x.half(); half > 0 && half < leastHalf { // rounding would matter
			x.lo, x.hi = x.lo-leastHalf, x.hi+leastHalf
			if i == 0 && x.hi >= 0 { // q stays below 1
				x.lo, x.hi = x.lo-leastHalf, x.hi-leastHalf
			}
		}
	}
	c.restrict(tail, threshold)
	for i := range c.axes {
		c.fields[i] = c.analytic(i, want.lambda, want.times)
		c.axes[i].nodes = c.fields[i].nodes(want)
		for _, lambda := range want.others {
			other := tolerances{weight: []float64{1}, bulk: want.tilt, jump: want.tilt}
			c.axes[i].nodes = max(c.axes[i].nodes, c.analytic(i, lambda, want.times[:1]).nodes(other))
		}
	}
	return c
}

// halves divides the rounds at the middle of the axis that takes more nodes.
func (c *cell) halves(rounds []placed) (left, right []placed) {
	a, b := c.axes[0], c.axes[1]
	i := 0
	if b.nodes > a.nodes || b.nodes == a.nodes && b.half() > a.half() {
		i = 1
	}
	for _, p := range rounds {
		if p.at[i] <= c.axes[i].mid() {
			left = append(left, p)
		} else {
			right = append(right, p)
		}
	}
	return left, right
}

// fill sets the nodes and the bounds.
func (c *cell) fill(rounds []placed, want tolerances) {
	m, n := c.axes[0].nodes, c.axes[1].nodes
	weights := make([]float64, m*n)
	wa, wb := make([]float64, m), make([]float64, n)
	for _, p := range rounds {
		c.count += p.count
		c.out += p.count * c.outside(p.spec)
		c.axes[0].weights(p.at[0], wa)
		c.axes[1].weights(p.at[1], wb)
		var sa, sb float64
		for _, w := range wb {
			sb += math.Abs(w)
		}
		for k, w := range wa {
			sa += math.Abs(w)
			for l, u := range wb {
				weights[k*n+l] += p.count * w * u
			}
		}
		c.axes[0].sum += p.count * sa
		c.sum += p.count * sa * sb
	}
	for k := range m {
		for l := range n {
			s := specAt(c.d, c.axes[0].at(k), c.axes[1].at(l))
			s.count = weights[k*n+l]
			c.nodes = append(c.nodes, c.node(s))
		}
	}
	c.different = len(rounds)
	c.bulkErr, c.jumpErr = c.errors(c.fields)
	c.drop, c.deepest = c.drops(rounds, want)
}

// drops returns c.drop and c.deepest. It divides the rounds into smaller parts, for which the bound is sharper.
func (c *cell) drops(rounds []placed, want tolerances) (drop, deepest []float64) {
	type key [2]float64
	parts := map[key]*cell{}
	var order []*cell
	for _, p := range rounds {
		k := key{math.Floor(p.at[0] / partWidth), math.Floor(p.at[1] / partWidth)}
		part, ok := parts[k]
		if !ok {
			part = &cell{d: c.d, from: c.from, edge: c.edge, to: c.to}
			for i, x := range p.at {
				part.axes[i] = axis{lo: x, hi: x}
			}
			parts[k] = part
			order = append(order, part)
		}
		part.count += p.count
		for i, x := range p.at {
			part.axes[i].lo, part.axes[i].hi = min(part.axes[i].lo, x), max(part.axes[i].hi, x)
		}
	}
	drop, deepest = make([]float64, len(want.times)), make([]float64, len(want.times))
	for _, part := range order {
		some := part.stretches(want.lambda)
		for i, t := range want.times {
			last := math.Inf(1)
			if i+1 < len(want.times) {
				last = want.times[i+1]
			}
			one := dropAt(some, t, last)
			drop[i] += part.count * one
			deepest[i] = max(deepest[i], one)
		}
	}
	return drop, deepest
}

// sumsRounding bounds in units the rounding of sums over the nodes, per node.
const sumsRounding = 256

// leastHalf is the least half-width of an axis that is not a point.
const leastHalf = 1e-5

// restrict chooses the range of w and the edge.
func (c *cell) restrict(tail, threshold float64) {
	c.from, c.to, c.edge = math.Inf(1), math.Inf(-1), math.Inf(1)
	for _, b := range [...]float64{c.axes[1].lo, c.axes[1].hi} {
		r := emptyRound(c.d, specAt(c.d, c.axes[0].hi, b))
		lo, hi := r.span(c.d, tail)
		c.from, c.to = min(c.from, r.exponent(lo)), max(c.to, r.exponent(hi))
	}
	if c.d == fixed {
		c.from = 0
	}
	if c.d != add && !math.IsInf(threshold, 1) {
		r := emptyRound(c.d, specAt(c.d, c.axes[0].hi, c.axes[1].hi)) // which has the largest losses
		r.cut(c.d, r.placeOf(c.from), r.placeOf(c.to), func(b branch) float64 {
			if at := r.edge(b, threshold); at < b.hi {
				c.edge = min(c.to, r.exponent(at))
			}
			return b.hi
		})
	}
}

// placeOf returns the x at which the exponent is w.
func (r *round) placeOf(w float64) float64 { return r.sigma*r.sigma*w + 0.5 }

// node returns the round at a node.
func (c *cell) node(s spec) *round {
	r := emptyRound(c.d, s)
	r.cut(c.d, r.placeOf(c.from), r.placeOf(c.to), func(b branch) float64 { return min(b.hi, r.placeOf(c.edge)) })
	return r
}

// ends bounds in units how far the rounding of the ends of p changes its transform, relative to the transform e^k at
// t = 0. An end σ²w + ½ is off by at most 4(|x|+1) units.
func (p *part) ends(r *round, lambda, k float64) (sum float64) {
	for _, b := range p.branches {
		for _, x := range [...]float64{b.lo, b.hi} {
			sum += 4 * (math.Abs(x) + 1) * math.Exp(b.logDensity(r, x)+lambda*b.value(r, x)-k)
		}
	}
	return sum
}

// offBy bounds the error of a logarithm, from both sides, if the relative error is at most err.
func offBy(err float64) float64 { return -math.Log1p(-min(err, 1)) }

// outside bounds the probability that a round of s is outside the range.
func (c *cell) outside(s spec) float64 {
	r := emptyRound(c.d, s)
	return r.outside(c.d, r.placeOf(c.from), r.placeOf(c.to))
}

// errors returns the cell's errors at each time: those of the interpolation in a and b, and those of the rounding of
// nodes and weights, whose sums have at most as many terms as there are different rounds.
func (c *cell) errors(f [2]fields) (bulk, jump []float64) {
	for i := range f[0].times {
		a, aJump := f[0].errors(c.axes[0].nodes, i)
		b, bJump := f[1].errors(c.axes[1].nodes, i)
		ra, raJump := f[0].rounding(i)
		rb, rbJump := f[1].rounding(i)
		sums := unit * float64(c.different) * 4 / 1e-13
		bulk = append(bulk, 1.01*(c.count*a+c.axes[0].sum*b+c.sum*(ra+rb)*(1+sums)))
		jump = append(jump, 1.01*(c.count*aJump+c.axes[0].sum*bJump+c.sum*(raJump+rbJump)*(1+sums)))
	}
	return bulk, jump
}

// index returns the first of the cell's times that is at least t, or -1.
func (c *cell) index(t float64) int {
	i, _ := slices.BinarySearch(c.times, t*(1-1e-12))
	if i == len(c.times) {
		return -1
	}
	return i
}

// tilt returns the cell's part of the bulk's logarithm and of w, with bounds of their errors.
func (c *cell) tilt(r *release, lambda float64) (bulk, w tilted) {
	f := [2]fields{c.analytic(0, lambda, []float64{0}), c.analytic(1, lambda, []float64{0})}
	wrong, wrongJump := c.errors(f)
	for _, n := range c.nodes {
		if r.ctx.Err() != nil {
			break
		}
		b := n.bulk.tilt(n, lambda)
		r.left -= tiltWork * float64(len(n.bulk.last.y))
		bulk.k += n.count * b.k
		bulk.mean += n.count * b.mean
		bulk.variance += n.count * b.variance
		off := math.Abs(n.count) * (offBy(b.err) + unit*(sumsRounding+n.bulk.ends(n, lambda, b.k)))
		bulk.err += off
		if n.jump == nil {
			continue
		}
		j := n.jump.tilt(n, lambda)
		k := w.add(n.count, b, j)
		w.err += (math.Abs(n.count)*(offBy(j.err)+unit*n.jump.ends(n, lambda, j.k)) + off) * k
	}
	bulk.err += wrong[0]
	if c.edge < c.to {
		w.err += wrongJump[0]
	}
	return bulk, w
}

// compose multiplies the products at the contour's points up to t = last by the cell's rounds. It returns
// the cell's part of w at t = 0.
//
// Some weights are negative. So all errors of a node count as errors of its transform: those of probabilities,
// and those of losses, which change a transform by |z| times as much.
//
// At a point where the errors of the logarithms are not small, the cell has only bounds L and W (see product). There
// are two pairs, and that with the smaller L + W is used. The estimate is then e^l with l ≤ L, without jumps.
//
//   - β is at most e^L if L is the estimate of l and its error. If w has an error too, η = β·(e^w - 1), so W is the
//     largest |w|.
//   - Let B, J be the transforms of a round at t = 0, and θ in [0, 1]. At t, |B| is at most e^(-D) ≤ e^(-θD) of that at
//     0, and |J| at most that at 0. So |β| is at most e^L with L = ΣT·log B - θ·ΣTD, and |η| at most
//     Π(B·e^(-θD) + J)^T - ΠB^T·e^(-θDT) = e^L·(Π(1 + e^(θD)·J/B)^T - 1). Because log(1+cx) ≤ c·log(1+x) for c ≥ 1,
//     W = e^(θ·deepest)·ΣT·log(1+J/B) is large enough. Both sums at t = 0 are estimates with their errors. This is true
//     for every θ; the one that is chosen makes L + W least.
func (c *cell) compose(ctx context.Context, products []product, k *contour, last float64) (w float64) {
	type sum struct{ re, im, wrong float64 }
	sums := float64(sumsRounding + 2*len(c.nodes)) // the rounding of logarithms and of the sums, in units
	scale := 0.0
	l, jumps := make([]sum, len(products)), make([]sum, len(products))
	for _, n := range c.nodes {
		if ctx.Err() != nil {
			return 0
		}
		weight := math.Abs(n.count)
		bulk := n.bulk.transform(n, k, last, 0, len(products)) // the same center for all
		scale += n.count * bulk.logMass
		rounding := sums + n.bulk.ends(n, k.lambda, bulk.logMass)
		var jump transform
		ratio, roundingJump := 0.0, 0.0
		if n.jump != nil {
			jump = n.jump.transform(n, k, last, 0, len(products))
			roundingJump = sums + n.jump.ends(n, k.lambda, jump.logMass)
			ratio = math.Exp(jump.logMass - bulk.logMass)
		}
		for i := range products {
			t := float64(i) * k.step
			z := math.Hypot(k.lambda, t)
			re, im := bulk.re[i], bulk.im[i]
			size, wrong := math.Hypot(re, im), bulk.wrong(t, k.step)+unit*1.01*(bulk.weighed+z*bulk.moved+rounding)
			l[i].re += n.count * math.Log(max(size, 1e-300))
			l[i].im += n.count * math.Atan2(im, re)
			if !(wrong < size/2 && re > 0) {
				l[i].wrong = math.Inf(1)
				continue
			}
			l[i].wrong += weight * (wrong/(size-wrong) + unit*sums*math.Abs(bulk.logMass))
			if n.jump == nil {
				continue
			}
			x := complex(ratio*jump.re[i], ratio*jump.im[i]) / complex(re, im)
			abs := math.Hypot(real(x), imag(x))
			off := (ratio*(jump.wrong(t, k.step)+unit*1.01*(jump.weighed+z*jump.moved+roundingJump+2*math.Abs(jump.logMass-bulk.logMass))) +
				abs*wrong) / (size - wrong)
			if !(abs+off < 0.9) {
				jumps[i].wrong = math.Inf(1)
				continue
			}
			jumps[i].re += n.count * 0.5 * math.Log1p(2*real(x)+abs*abs)
			jumps[i].im += n.count * math.Atan2(imag(x), 1+real(x))
			jumps[i].wrong += weight * off / (1 - abs - off)
		}
	}
	k.logScale += scale
	w = jumps[0].re
	for i := range products {
		j := c.index(float64(i) * k.step)
		p := &products[i]
		if j >= 0 {
			l[i].wrong += c.bulkErr[j]
			if c.edge < c.to {
				jumps[i].wrong += c.jumpErr[j]
			}
		} else {
			l[i].wrong = math.Inf(1)
		}
		if l[i].wrong < 0.5 && jumps[i].wrong < 0.5 {
			p.lRe += l[i].re
			p.lIm += l[i].im
			p.mostL += l[i].re + l[i].wrong
			p.wRe += jumps[i].re
			p.wIm += jumps[i].im
			p.mostW += math.Hypot(jumps[i].re, jumps[i].im) + jumps[i].wrong
			p.logErr += l[i].wrong
			p.ratioErr += jumps[i].wrong
			continue
		}
		if j < 0 {
			j = len(c.times) - 1
		} else if c.times[j] > float64(i)*k.step {
			j--
		}
		theta, jump := 1.0, jumps[0].re+jumps[0].wrong
		if jump > 0 && c.deepest[j] > 0 {
			theta = max(0, min(1, math.Log(c.drop[j]/(jump*c.deepest[j]))/c.deepest[j]))
		}
		most, mostW := l[0].re+l[0].wrong-theta*c.drop[j], math.Exp(theta*c.deepest[j])*jump
		if at := l[i].re + l[i].wrong; jumps[i].wrong < math.Inf(1) {
			if w := math.Hypot(jumps[i].re, jumps[i].im) + jumps[i].wrong; at+w < most+mostW {
				most, mostW = at, w
			}
		}
		p.lRe += min(most, l[i].re)
		p.mostL += most
		p.mostW += mostW
		p.bulkErr += 2
	}
	return w
}
