package pld

import (
	"context"
	"math"

	"gonum.org/v1/gonum/integrate/quad"
)

// This file computes distributions of sums by unbiased rounding.
//
// With x ~ N(0, σ²I) in t dimensions, one epoch of allocation has the likelihood ratio
//
//	L = (1/t)·ΣW_i,  W_i = e^(x_i/σ² - 1/(2σ²))
//
// between P = (1/t)·ΣN(e_i, σ²I) and Q = N(0, σ²I). Let K be a random rounding to a grid that keeps
// the mean. The δ of both directions is E_Q of a convex function of L, and so of each W_i.
//
// For an upper end, W_i is replaced with K(W_i), and each partial sum S with K(S). Each step is a
// mean-preserving spread. So E_Q[f(L)] grows for every convex f, and the pair (L·Q, Q) dominates
// (P, Q) at every order, hence also after composition. This is "connecting the dots" (Doroshenko,
// Ghazi, Kamath, Kumar, Manurangsi, "Connect the dots", PETS 2022), carried through sums.
//
// For a lower end, the same tree of roundings is a randomized function of x. Its distributions
// under P and under Q are post-processing of the pair, which it cannot exceed at any order. It needs
// no statement about the likelihood ratio, so any statistic of x serves.
//
// # Rounding of a sum
//
// The grid has the points g_i = e^(h·i). A sum g_j + g_(j-k) = g_j·(1+e^(-hk)), k ≥ 0, is between
// the points j+f and j+f+1 and goes to the upper one with probability w. Both depend on k alone:
//
//	c = log(1+e^(-hk))/h,  f = ⌊c⌋,  w = (e^(h(c-f))-1)/(e^h-1)
//
// From a certain k on, f = 0 and w = e^(-hk)/(e^h-1) ≤ 1/2, and all these k together are two prefix
// sums. All terms are positive, so every probability keeps its relative accuracy.
//
// # Rounding errors
//
//   - Probabilities: an output of a sum adds at most 4K+3n products, each with a relative error of
//     a few units, where K is the number of k that are done one by one, and n the length of the
//     shorter operand. law.units counts this.
//   - Means: the float64 w differs from the exact one by a few units. A wrong f is a w that is wrong
//     by as much. So K changes the mean of a sum by a relative (e^h-1)·|Δw|, where |Δc| ≤ 4 units·c
//     and c ≤ log(2)/h. That is below 16 units. In the prefix sums, w has a relative error of up to
//     2n units, and n·h·e^(-hn) ≤ 1. law.bias has 64 units for each sum of a path, and it moves
//     the losses of an upper end to the safe side: L is made larger for increasing convex
//     functions, and smaller for decreasing ones. The lower end needs no unbiased rounding; it needs
//     one rounding under P and Q, which it has.
//   - Underflow: probabilities below 1e-307 may vanish. A sum has fewer than 1e7·(points) of them, so
//     less than 1e-290 in all. An upper end counts this as the probability of the largest value.

// statistic is a function e^(a·z+b) of one coordinate z, in standard deviations, and the means of the
// special coordinate under the distributions in which one coordinate, at a random place, is special.
type statistic struct {
	a, b  float64
	means []float64 // in standard deviations
}

// law is the distribution of a sum of n statistics: of ordinary ones, and with a special one. The
// points are e^(h·i) for i = first, first+1, …
type law struct {
	n       float64
	h       float64
	first   int
	usual   []float64
	special [][]float64

	// For an upper end only:
	zero float64 // the probability of 0
	over float64 // E[(S-S′)₊] of all sums S that were lowered to S′, the last point

	units float64 // the relative error of the probabilities, in units
	bias  float64 // the relative error of the mean
}

// cut says how much probability of the tails a law may move.
type cut struct {
	upper       bool
	below, over float64
}

// cellNodes is the number of nodes of the Gauss–Legendre rule of one cell.
const cellNodes = 12

var cellX, cellW = func() (x, w [cellNodes]float64) {
	quad.Legendre{}.FixedLocations(x[:], w[:], -1, 1)
	return x, w
}()

// The limits of a cell's width d in z: d ≤ widestCell and d·|z| ≤ steepestCell. With them the rule
// has a relative error below 1e-14. The integrand is φ(z)·w(z). In the ellipse with parameter ρ = 8
// around a cell of half-width r = d/2 and center z, it is at most φ(z)·e^(4.1·r·|z|+8r²)·ρ·e, and the
// integral is at least φ(z)·e^(-r|z|-r²)·r·0.4. By round.logError's bound with 12 nodes, the error is
// at most 4.01·r·ρ^(-24) times the former.
const widestCell, steepestCell = 0.1, 3.5

// newLaw returns the law of one coordinate. ok is false if the tails are too far out for float64.
func newLaw(s statistic, h float64, c cut) (l law, ok bool) {
	low, high := -tailPoint(min(0.25, c.below)), tailPoint(min(0.25, c.over))
	least, most := 0.0, 0.0
	for _, m := range s.means {
		least, most = min(least, m), max(most, m)
	}
	if c.upper { // the excess of e^(az+b) is a tail of a distribution moved by a
		most = s.a
	}
	low, high = low+least, high+most
	far := max(-low, high)
	if !(far <= 36) || far*h/s.a > steepestCell || h/s.a > widestCell {
		return law{}, false
	}
	first := int(math.Floor((s.a*low + s.b) / h))
	last := int(math.Ceil((s.a*high + s.b) / h))
	l = law{n: 1, h: h, first: first, units: 8*(far+s.a+1)*(far+s.a+1) + 256, bias: 64 * unit}
	z := func(i int) float64 { return (h*float64(i) - s.b) / s.a }
	expH := math.Expm1(h)
	var down, up [cellNodes]float64
	for k, x := range cellX {
		u := h * (1 + x) / 2
		weight := cellW[k] * h / (2 * s.a) / math.Sqrt(2*math.Pi)
		up[k], down[k] = weight*math.Expm1(u)/expH, weight*math.Exp(u)*math.Expm1(h-u)/expH
	}
	masses := func(mean float64) []float64 {
		p := make([]float64, last-first+1)
		for i := first; i < last; i++ {
			left := z(i) - mean
			for k, x := range cellX {
				at := left + h*(1+x)/(2*s.a)
				density := math.Exp(-at * at / 2)
				p[i-first] += down[k] * density
				p[i-first+1] += up[k] * density
			}
		}
		p[last-first] += upperTail(z(last) - mean)
		if !c.upper {
			p[0] += upperTail(mean - z(first))
		}
		return p
	}
	l.usual = masses(0)
	for _, m := range s.means {
		l.special = append(l.special, masses(m))
	}
	if c.upper {
		below := upperTail(-z(first))
		// E[e^(az+b); below]/g_first: here e^(az+b) has mean 1.
		kept := min(below, upperTail(s.a-z(first))*math.Exp(-h*float64(first)))
		l.usual[0] += kept
		l.zero = below - kept + 1e-11*below
		l.over = upperTail(z(last)-s.a) * (1 + 1e-11)
	}
	return l, true
}

// refined returns l on a grid that is 2^times as fine. The old points are points of the new grid.
func (l law) refined(times int) law {
	if times <= 0 {
		return l
	}
	factor := 1 << times
	spread := func(p []float64) []float64 {
		out := make([]float64, (len(p)-1)*factor+1)
		for i, v := range p {
			out[i*factor] = v
		}
		return out
	}
	l.h /= float64(factor)
	l.first *= factor
	l.usual = spread(l.usual)
	special := make([][]float64, len(l.special))
	for i, p := range l.special {
		special[i] = spread(p)
	}
	l.special = special
	return l
}

// weights holds f and w for the k that are done one by one.
type weights struct {
	h    float64
	f    []int
	w    []float64
	fall float64 // e^(-h·k) for the first k after those
}

func newWeights(h float64) *weights {
	n := int(math.Ceil(math.Log(2/math.Expm1(h))/h)) + 1
	t := &weights{h: h, f: make([]int, n), w: make([]float64, n), fall: math.Exp(-h * float64(n))}
	for k := range t.f {
		c := math.Log1p(math.Exp(-h*float64(k))) / h
		f := math.Floor(c)
		t.f[k], t.w[k] = int(f), min(1, math.Expm1(h*(c-f))/math.Expm1(h))
	}
	return t
}

// sum adds to out, whose first index is at, the sums of a point of big and a point of small whose
// indexes differ by at least least.
func (t *weights) sum(out []float64, at int, big []float64, bigAt int, small []float64, smallAt, least int) {
	for k := least; k < len(t.f); k++ {
		from, to := max(bigAt, smallAt+k), min(bigAt+len(big), smallAt+len(small)+k)
		if from >= to {
			continue
		}
		w := t.w[k]
		x := big[from-bigAt : to-bigAt]
		y := small[from-k-smallAt:][:len(x)]
		o := out[from+t.f[k]-at:][:len(x)+1]
		before := 0.0
		for i, v := range x {
			v *= y[i]
			o[i] += (1-w)*v + w*before
			before = v
		}
		o[len(x)] += w * before
	}
	n := len(t.f)
	all, weighted := 0.0, 0.0 // Σ small and Σ small·e^(-hk) over k ≥ n
	decay, scale := math.Exp(-t.h), 1/math.Expm1(t.h)
	for j := smallAt + n; j < bigAt+len(big); j++ {
		weighted *= decay
		if i := j - n - smallAt; i < len(small) {
			all += small[i]
			weighted += small[i] * t.fall
		}
		if j < bigAt {
			continue
		}
		v, w := big[j-bigAt], weighted*scale
		out[j-at] += v * (all - w)
		out[j-at+1] += v * w
	}
}

// plus returns the law of the sum of independent sums on the same grid.
func (l law) plus(o law, t *weights) law {
	s := law{
		n: l.n + o.n, h: l.h, first: max(l.first, o.first), zero: l.zero * o.zero, over: l.over + o.over,
		units: l.units + o.units + 4*float64(len(t.f)) + 3*float64(min(len(l.usual), len(o.usual))) + 64,
		bias:  max(l.bias, o.bias) + 64*unit,
	}
	if l.zero > 0 || o.zero > 0 { // 0 plus a point is that point
		s.first = min(l.first, o.first)
	}
	last := max(l.first+len(l.usual), o.first+len(o.usual)) + t.f[0] + 2
	add := func(out, a, b []float64) {
		t.sum(out, s.first, a, l.first, b, o.first, 0)
		t.sum(out, s.first, b, o.first, a, l.first, 1)
	}
	s.usual = make([]float64, last-s.first)
	twice := &l.usual[0] == &o.usual[0] // l and o are equal
	if twice {
		t.sum(s.usual, s.first, l.usual, l.first, l.usual, l.first, 1)
		f, w := t.f[0], t.w[0]
		for i := range s.usual {
			s.usual[i] *= 2
		}
		for i, v := range l.usual {
			s.usual[i+l.first-s.first+f] += (1 - w) * v * v
			s.usual[i+l.first-s.first+f+1] += w * v * v
		}
	} else {
		add(s.usual, l.usual, o.usual)
	}
	if l.zero > 0 || o.zero > 0 {
		for i, v := range l.usual {
			s.usual[i+l.first-s.first] += v * o.zero
		}
		for i, v := range o.usual {
			s.usual[i+o.first-s.first] += v * l.zero
		}
	}
	for i := range l.special {
		inLeft := make([]float64, len(s.usual))
		add(inLeft, l.special[i], o.usual)
		if twice { // l and o are equal, so either may have the special coordinate
			s.special = append(s.special, inLeft)
			continue
		}
		inRight := make([]float64, len(s.usual))
		add(inRight, l.usual, o.special[i])
		a, b := l.n/s.n, o.n/s.n
		for j, v := range inLeft {
			inLeft[j] = a*v + b*inRight[j]
		}
		s.special = append(s.special, inLeft)
	}
	return s
}

// trimmed moves the tails to the ends, within what c allows.
func (l law) trimmed(c cut) law {
	least := func(i int) float64 {
		m := l.usual[i]
		for _, p := range l.special {
			m = max(m, p[i])
		}
		return m
	}
	// From below.
	from, sum := 0, 0.0
	for from < len(l.usual)-1 {
		if sum += least(from); sum > c.below {
			break
		}
		from++
	}
	for i := range from {
		if c.upper {
			part := math.Exp(l.h * float64(i-from))
			l.usual[from] += l.usual[i] * part
			l.zero += l.usual[i] * -math.Expm1(l.h*float64(i-from))
			continue
		}
		l.usual[from] += l.usual[i]
		for _, p := range l.special {
			p[from] += p[i]
		}
	}
	// From above. With T = Σ p_i and M = Σ p_i·g_i/n over the points above, the excess is M - T·g/n.
	to, tail, mean := len(l.usual), 0.0, 0.0
	at := func(i int) float64 { return math.Exp(l.h*float64(l.first+i) - math.Log(l.n)) }
	for to > from+1 {
		tail += least(to - 1)
		mean += l.usual[to-1] * at(to-1)
		if !c.upper && tail > c.over || c.upper && mean-tail*at(to-2) > c.over/2 {
			break
		}
		to--
	}
	for i := to; i < len(l.usual); i++ {
		l.usual[to-1] += l.usual[i]
		if c.upper {
			l.over += l.n * l.usual[i] * (at(i) - at(to-1)) * (1 + 1e-11)
		}
		for _, p := range l.special {
			p[to-1] += p[i]
		}
	}
	l.usual = l.usual[from:to]
	for i, p := range l.special {
		l.special[i] = p[from:to]
	}
	l.first += from
	l.units += float64(from+len(l.usual)) + 16
	return l
}

// lawOfSum returns the law of the sum of n coordinates. halvings returns how often the grid width h
// is halved for a sum of the given number of coordinates.
func lawOfSum(ctx context.Context, s statistic, n int, h float64, halvings func(n float64) int, c cut) (law, bool) {
	power, ok := newLaw(s, h, c)
	if !ok {
		return law{}, false
	}
	var tables []*weights
	add := func(a, b law) law {
		r := halvings(a.n + b.n)
		for len(tables) <= r {
			tables = append(tables, newWeights(math.Ldexp(h, -len(tables))))
		}
		at := func(l law) law { return l.refined(r - int(math.Round(math.Log2(h/l.h)))) }
		x := at(a)
		y := x
		if &a.usual[0] != &b.usual[0] { // plus is faster for a law and itself
			y = at(b)
		}
		return x.plus(y, tables[r]).trimmed(c)
	}
	var sum law
	for ; ctx.Err() == nil; n /= 2 {
		if n%2 == 1 {
			if sum.n == 0 {
				sum = power
			} else {
				sum = add(sum, power)
			}
		}
		if n == 1 {
			return sum, true
		}
		power = add(power, power)
	}
	return law{}, false
}
