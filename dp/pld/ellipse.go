package pld

import "math"

// fields are bounds of the logarithms in Bernstein ellipses around an axis, at each time.
type fields struct {
	times      []float64
	rho, angle []float64
	bulk, jump [][]float64
	point      bool // the axis is a point, at which nothing is interpolated
	peeled     bool
}

// errors returns bounds of the errors of m nodes at time i, for a round.
func (f fields) errors(m, i int) (bulk, jump float64) {
	if f.point {
		return 0, 0
	}
	bulk, jump = math.Inf(1), math.Inf(1)
	for j, rho := range f.rho {
		factor := 4 * math.Exp(float64(1-m)*math.Log(rho)) / (rho - 1)
		bulk, jump = min(bulk, factor*f.bulk[j][i]), min(jump, factor*f.jump[j][i])
	}
	return bulk, jump
}

// rounding bounds the effect of rounding in a and b, and in the weights, per unit of the sum of
// weights. A point of the axis has the distance angle·(ϱ-1)/(ϱ+1) from the ellipse, so the derivative is at
// most F over that. a and b are known to 16 units of 28, and the weights to 1e-13.
func (f fields) rounding(i int) (bulk, jump float64) {
	bulk, jump = math.Inf(1), math.Inf(1)
	for j, rho := range f.rho {
		factor := 1e-12 + 16*28*unit*(rho+1)/((rho-1)*f.angle[j])
		bulk, jump = min(bulk, factor*f.bulk[j][i]), min(jump, factor*f.jump[j][i])
	}
	return bulk, jump
}

// nodes returns the number of nodes that the tolerances need, or maxNodes+1 if more are needed.
func (f fields) nodes(want tolerances) int {
	for m := 1; m <= maxNodes; m++ {
		ok := true
		for i, weight := range want.weight {
			bulk, jump := f.errors(m, i)
			round, roundJump := f.rounding(i)
			bulk, jump = bulk+10*round, jump+10*roundJump
			ok = ok && min(1, bulk)*weight <= want.bulk && (!f.peeled || min(1, jump)*weight <= want.jump)
		}
		if ok {
			return m
		}
	}
	return maxNodes + 1
}

// side bounds g - 1 on an interval of w: |g-1| ≤ d, and 1 + τ(g-1) with 0 ≤ τ ≤ 1 has a logarithm with a
// real part in [low, up] and an imaginary part of at most arg.
type side struct{ d, up, low, arg float64 }

// sideOf bounds g - 1 = q(e^w - 1) for w between l and r, |q| ≤ most and |arg q| ≤ angle < π/2.
func sideOf(most, angle, l, r float64) side {
	one := func(w float64) side {
		d := most * math.Abs(math.Expm1(w))
		sin, cos := math.Sincos(angle)
		if w >= 0 {
			return side{d, math.Log1p(d), 0, math.Atan2(d*sin, 1+d*cos)}
		}
		if !(d < 1) {
			return side{d, 0, math.Inf(-1), math.Inf(1)}
		}
		s := side{d: d, low: math.Log1p(-d), arg: math.Asin(d)}
		if cos >= d {
			s.arg = math.Atan2(d*sin, 1-d*cos)
		}
		if angle > 1 { // otherwise |1 - τd·e^(i·angle)| ≤ 1
			s.up = math.Log1p(d)
		}
		return s
	}
	return one(l).hull(one(r))
}

// hull bounds both.
func (s side) hull(t side) side {
	return side{max(s.d, t.d), max(s.up, t.up), min(s.low, t.low), max(s.arg, t.arg)}
}

// mirrored bounds g - 1 = q(e^(u-iβ) - 1) for u between l and r, |β| ≤ angle, and a real q.
func mirrored(q, angle, l, r float64) side {
	if !(angle < math.Pi/2) {
		return side{math.Inf(1), 0, math.Inf(-1), math.Inf(1)}
	}
	one := func(u float64) side {
		e := q * math.Exp(u)
		sin, cos := math.Sincos(angle)
		return side{q*math.Abs(math.Expm1(u)) + e*angle, max(0, math.Log1p(q*math.Expm1(u))), math.Log1p(-q),
			math.Atan2(e*sin, 1-q+e*cos)}
	}
	return one(l).hull(one(r))
}

// power bounds |(1+τ(g-1))^p| for p = re ± it.
func (s side) power(re, t float64) float64 {
	return math.Exp(max(re*s.up, re*s.low) + t*s.arg)
}

// rest bounds |g^p - 1 - p(g-1)|, by the second term of Taylor's series or by the sum of all.
func (s side) rest(re, t float64) float64 {
	p := math.Hypot(re, t)
	return min(p*math.Hypot(re-1, t)/2*s.d*s.d*s.power(re-2, t), s.power(re, t)+1+p*s.d)
}

// angles are the imaginary semi-axes of the ellipses that are tried, pointAngles those around an axis that is a
// point, for the effect of rounding.
var angles, pointAngles = []float64{0.03, 0.1, 0.25, 0.5, 0.9, 1.4}, []float64{1e-3, 0.1}

// analytic bounds |log B| and |log(1 + J/B)| for all rounds of the cell, if a (or b) is in an ellipse around
// the axis, λ is given and |t| is at most a time.
//
// The means of 1 and of g - 1 under k_v are 1 and 0 for complex q and v too. So B - 1 is the integral of
// g^p - 1 - p(g-1) over the bulk, less that of 1 + p(g-1) outside; p = 1+z if a record is removed, and -z
// if one is added. The integrals of the absolute values over short intervals of w are bounded by the
// largest value of each factor. For |arg v| ≤ angle, |v| between v1 and v2, and c = cos(angle),
//
//	|k_v(w)| ≤ e^(-c(w²/(2|v|) + |v|/8) - w/2)/√(2πv1).
func (c *cell) analytic(dim int, lambda float64, times []float64) fields {
	f := fields{times: times, point: c.axes[dim].lo == c.axes[dim].hi, peeled: c.edge < c.to}
	half := c.axes[dim].half()
	tried := angles
	if f.point {
		tried = pointAngles
	}
	for _, angle := range tried {
		ratio := angle / max(half, leastHalf)
		rho := ratio + math.Sqrt(1+ratio*ratio)
		if rho < 1.2 {
			continue
		}
		reach := max(half, leastHalf) * (rho + 1/rho) / 2
		lo, hi := c.axes[dim].mid()-reach, c.axes[dim].mid()+reach
		e := ellipse{c: c, cos: 1}
		if dim == 0 {
			e.most, e.v1, e.v2, e.angle = math.Exp(hi), math.Exp(c.axes[1].lo), math.Exp(c.axes[1].hi), angle
		} else {
			e.most, e.v1, e.v2, e.tilt, e.cos = math.Exp(c.axes[0].hi), math.Exp(lo), math.Exp(hi), angle, math.Cos(angle)
		}
		bulk, jump := e.integrals(lambda, times)
		for i := range times {
			if x := jump[i] / (1 - bulk[i]); bulk[i] < 1 && x < 1 {
				bulk[i], jump[i] = -math.Log1p(-bulk[i]), -math.Log1p(-x)
			} else {
				if !(bulk[i] < 1) {
					bulk[i] = math.Inf(1)
				} else {
					bulk[i] = -math.Log1p(-bulk[i])
				}
				jump[i] = math.Inf(1)
			}
		}
		f.rho, f.angle, f.bulk, f.jump = append(f.rho, rho), append(f.angle, angle), append(f.bulk, bulk), append(f.jump, jump)
	}
	return f
}

// ellipse is a region of complex q, with |q| ≤ most and |arg q| ≤ angle, and of v, with |v| in [v1, v2]
// and |arg v| ≤ tilt, whose cosine is cos. One of q and v is real.
type ellipse struct {
	c                 *cell
	most, angle       float64
	v1, v2, tilt, cos float64
}

// pieceWidth is the width of the intervals of w as a fraction of the standard deviation.
const pieceWidth = 0.08

// integrals bounds |B - 1| and |J| at each time.
func (e ellipse) integrals(lambda float64, times []float64) (bulk, jump []float64) {
	bulk, jump = make([]float64, len(times)), make([]float64, len(times))
	step := pieceWidth * math.Sqrt(e.v2)
	piece := func(l, r float64, isJump bool) {
		near, far := l, r // from 0
		if r <= 0 {
			near, far = r, l
		}
		near = math.Abs(near)
		v := min(max(2*near, e.v1), e.v2)
		k := math.Exp(-e.cos*(near*near/(2*v)+v/8)-l/2) / math.Sqrt(2*math.Pi*e.v1) * (r - l)
		g := sideOf(e.most, e.angle, far, far)
		var back side
		if e.c.d == replace {
			if e.tilt > 0 {
				back = mirrored(e.most, e.v2*math.Sin(e.tilt), -r-e.v2, -l-e.v1*e.cos)
			} else {
				back = sideOf(e.most, e.angle, -r-e.v2, -l-e.v1)
			}
		}
		for i, t := range times {
			up, down := math.Hypot(lambda+1, t), math.Hypot(lambda, t) // |1+z| and |z|
			var h, j float64
			switch e.c.d {
			case remove:
				if isJump {
					h, j = 1+up*g.d, g.power(lambda+1, t)
				} else {
					h = g.rest(lambda+1, t)
				}
			case add:
				h = g.rest(-lambda, t)
			case replace:
				whole := g.power(lambda+1, t) * back.power(-lambda, t)
				first := 1 + up*g.d + down*back.d
				if isJump {
					h, j = first, whole
				} else {
					h = min(whole+first, g.rest(lambda+1, t)*back.power(-lambda, t)+(1+up*g.d)*back.rest(-lambda, t)+
						up*down*g.d*back.d)
				}
			case fixed:
				if isJump {
					h, j = g.power(-lambda, t)+2+g.d, g.power(lambda+1, t)
				} else {
					h = min(up*g.d*g.power(lambda, t), g.power(lambda+1, t)+1) *
						min(down*g.d*g.power(-lambda-1, t), g.power(-lambda, t)+1)
				}
			}
			bulk[i] += h * k
			jump[i] += j * k
		}
	}
	pieces := func(from, to float64, isJump bool) {
		if !(to > from) {
			return
		}
		n := math.Ceil((to - from) / step)
		for i := range int(n) {
			piece(from+(to-from)*float64(i)/n, from+(to-from)*float64(i+1)/n, isJump)
		}
	}
	edge := min(e.c.edge, e.c.to)
	pieces(e.c.from, min(0, edge), false)
	pieces(min(0, edge), min(0, e.c.to), true)
	pieces(max(0, e.c.from), max(0, edge), false)
	pieces(max(0, edge), e.c.to, true)

	// beyond bounds ∫ e^(nw)·|k_v(w)| dw over w above edge.
	//
	// With s = |v|/cos(arg v) and m = n - 1/2 the integral of the bound is that of a density N(ms, s) times a
	// factor. The argument of its tail is least at an end of the range of s, or where its slope is 0.
	beyond := func(n, edge float64) float64 {
		m, most := n-0.5, e.v2/e.cos
		at := func(s float64) float64 { return (edge - m*s) / math.Sqrt(s) }
		least := min(at(e.v1), at(most), at(min(max(-edge/m, e.v1), most)))
		return math.Sqrt(most/e.v1) * math.Exp(m*m*most/2-e.cos*e.v1/8) * upperTail(least)
	}
	for i, t := range times {
		p := math.Hypot(lambda+1, t)
		out := (2+4*p*e.most)*beyond(0, e.c.to) + p*e.most*beyond(1, e.c.to)
		if e.c.d != fixed { // with -w instead of w
			out += (1+2*p*e.most)*beyond(1, -e.c.from) + p*e.most*beyond(2, -e.c.from)
		}
		bulk[i] += out
		bulk[i] *= 1 + 1e-9
		jump[i] *= 1 + 1e-9
	}
	return bulk, jump
}

// stretch is a part of the tilted loss of a round that is spread evenly over an interval of this length, or
// a longer one, with at least this density.
//
// The whole interval has at least the probability mass, and the loss grows in it by at most most.
type stretch struct{ length, density, mass, most float64 }

// stretches returns parts of the tilted loss that all rounds of the cell have, in several divisions of w.
//
// In an interval of w, the loss grows by at least the least slope times its length. The density of the
// loss there is at least that of w divided by the largest slope.
func (c *cell) stretches(lambda float64) (all [][]stretch) {
	lo, hi := math.Exp(c.axes[0].lo), math.Exp(c.axes[0].hi)
	v1, v2 := math.Exp(c.axes[1].lo), math.Exp(c.axes[1].hi)
	e := ellipse{c: c, most: hi, v1: v1, v2: v2, cos: 1}
	bulk, _ := e.integrals(lambda, []float64{0})
	if !(bulk[0] < math.Inf(1)) {
		return nil
	}
	share := func(q, w float64) float64 { return 1 / (1 + (1-q)/q*math.Exp(-w)) }
	loss := func(q, w float64) float64 { return math.Log1p(q * math.Expm1(w)) }
	// least bounds exponent·L(w) for q in [lo, hi] and w in [l, r].
	least := func(exponent, l, r float64) float64 {
		m := math.Inf(1)
		for _, q := range [...]float64{lo, hi} {
			m = min(m, exponent*loss(q, l), exponent*loss(q, r))
		}
		return m
	}
	s := math.Sqrt(v2)
	first, last := max(c.from, -3*s), min(c.to, c.edge, 3*s)
	for n := 4; n <= 64; n *= 2 {
		var some []stretch
		for i := range n {
			l, r := first+(last-first)*float64(i)/float64(n), first+(last-first)*float64(i+1)/float64(n)
			if !(r > l) {
				break
			}
			steep, flat := share(hi, r), share(lo, l)
			var logG float64
			switch c.d {
			case remove, fixed:
				logG = least(lambda+1, l, r)
			case add:
				logG = least(-lambda, l, r)
			case replace:
				logG = least(lambda+1, l, r) + least(-lambda, -r-v2, -l-v1)
				steep, flat = steep+share(hi, -l-v1), flat+share(lo, -r-v2)
			}
			logK := math.Inf(1)
			for _, v := range [...]float64{v1, v2} { // the density has no minimum between
				for _, w := range [...]float64{l, r} {
					logK = min(logK, -(w+v/2)*(w+v/2)/(2*v)-math.Log(2*math.Pi*v)/2)
				}
			}
			density := (1 - 1e-9) * math.Exp(logG+logK) / (1 + bulk[0])
			some = append(some, stretch{flat * (r - l), density / steep, density * (r - l), steep * (r - l)})
		}
		all = append(all, some)
	}
	return all
}

// partWidth is the size of the parts of a cell for which decay is bounded.
const partWidth = 0.2

// dropAt returns a lower bound of log(B(λ)/|B(λ+iτ)|) for each round and all τ in [t, last].
//
// A part that is spread evenly over length L has a transform whose size is |sin x|/x times its probability,
// x = τL/2. For x ≥ 2 this is at most 1/x, and sin(x)/x falls up to there. And the square of the size is the mean
// of cos(τ(Y-Y')) over two independent losses, for which pairs of intervals are taken.
func dropAt(divisions [][]stretch, t, last float64) float64 {
	most := 0.0
	for _, some := range divisions {
		sum := 0.0
		for _, s := range some {
			x := t * s.length / 2
			switch {
			case x > 2:
				sum += s.density * s.length * (1 - 1/x)
			case x > 0.1:
				sum += s.density * s.length * (1 - math.Sin(x)/x)
			default: // without the cancellation, by Taylor's series
				sum += s.density * s.length * x * x / 6 * (1 - x*x/20)
			}
		}
		most = max(most, sum)
	}
	best := math.Log1p(-min(most*(1-1e-9), 1-1e-9))
	for _, some := range divisions {
		if len(some) != pairs {
			continue
		}
		sum := 0.0
		for i, a := range some {
			near, far := 0.0, a.most // bounds of the distance
			for _, b := range some[i+1:] {
				far += b.most
				lo, hi := t*near, last*far
				if hi >= 6 { // near 2π
					break
				}
				sin := math.Sin(lo / 2)
				part := 2 * sin * sin // 1 - cos
				if hi > math.Pi {
					part = min(part, 1-math.Cos(hi))
				}
				sum += 2 * a.mass * b.mass * part
				near += b.length
			}
		}
		best = min(best, math.Log1p(-min(sum*(1-1e-9), 1-1e-9))/2)
	}
	return -best
}

// pairs is the number of intervals of which pairs are taken.
const pairs = 16
