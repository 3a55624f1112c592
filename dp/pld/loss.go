package pld

import (
	"math"

	"proactivedp/internal/root"
)

// direction names the pair of distributions (P, Q) of one round. Its privacy loss log dP/dQ is
// composed. With the density φ of N(0, σ²), in units of the clipping norm, and
//
//	g(x) = 1 - q + q·e^((2x-1)/(2σ²)),  L(x) = log g(x)
//
// g is the likelihood ratio of (1-q)N(0, σ²) + qN(1, σ²) to N(0, σ²).
type direction int

const (
	// remove is P = φ·g and Q = φ: the record is in the data set of P only.
	remove direction = iota
	// add is P = φ and Q = φ·g.
	add
	// replace is P(x) = φ(x)·g(x) and Q(x) = φ(x)·g(-x): the record is replaced by one
	// with the opposite gradient.
	replace
	// fixed is the symmetric pair of the trade-off function C_q(G_{2/σ}) (Dong, Roth, Su 2022,
	// Theorem 4.2), with σ/2 instead of σ. Where the loss of remove is positive, fixed has that
	// loss. It also has the mirror image of that part, and an atom at 0.
	fixed
)

// branch is the part of P on an interval of x, where P(dx) = φ(x)·g(x)^weight dx and the loss Y(x)
// = up·L(x) + down·L(-x) is monotone.
type branch struct {
	weight, up, down float64
	lo, hi           float64
}

// round is one kind of round of a release. Its loss is restricted to a range that has all but a
// probability out of P.
type round struct {
	q, sigma float64 // of the pair; for fixed, sigma is half the round's σ
	count    float64 // T, the number of such rounds
	out      float64 // the probability outside the parts
	variance float64 // a guess of the loss's variance, from a moderate σ
	logNorm  float64 // log(σ√(2π))

	bulk part
	jump *part // the large losses, if the release is peeled
}

// part is a part of a round's loss.
type part struct {
	branches []branch
	atom     float64 // the probability of the loss 0
	given    *rule   // the whole part, if its losses are discrete

	last *rule            // the rule that tilt used last
	seen map[float64]seen // what tilt returned before, for each λ
}

// newRound restricts the loss so that each tail that is cut off has a probability of at most tail,
// in (0, 1/4). If threshold is finite, losses above it are jumps.
func newRound(d direction, s spec, tail, threshold float64) *round {
	r := emptyRound(d, s)
	lo, hi := r.span(d, tail)
	r.out = r.outside(d, lo, hi)
	r.cut(d, lo, hi, func(b branch) float64 { return r.edge(b, threshold) })
	return r
}

func emptyRound(d direction, s spec) *round {
	q, sigma := s.q, s.sigma
	if d == fixed {
		sigma /= 2
	}
	return &round{q: q, sigma: sigma, count: s.count, variance: q * q * math.Expm1(min(1/(sigma*sigma), 5)),
		logNorm: math.Log(sigma * math.Sqrt(2*math.Pi))}
}

// span returns a range of x such that each tail outside has a probability of at most tail.
func (r *round) span(d direction, tail float64) (lo, hi float64) {
	lo = -r.sigma * tailPoint(tail)
	hi = max(r.sigma*tailPoint(tail/2), 1+r.sigma*tailPoint(tail/(2*r.q)))
	switch d {
	case add:
		hi = -lo
	case fixed:
		lo = 0.5
	}
	return lo, hi
}

// outside returns the probability of x outside [lo, hi].
func (r *round) outside(d direction, lo, hi float64) (p float64) {
	q, sigma := r.q, r.sigma
	below := func() float64 { return (1-q)*upperTail(-lo/sigma) + q*upperTail((1-lo)/sigma) }
	above := func() float64 { return (1-q)*upperTail(hi/sigma) + q*upperTail((hi-1)/sigma) }
	switch d {
	case add:
		p = upperTail(-lo/sigma) + upperTail(hi/sigma)
	case fixed:
		p = above() + upperTail(hi/sigma)
	default:
		p = below() + above()
	}
	return p * (1 + 1e-12) // for the rounding of erfc and of the sums
}

// cut sets the parts for x in [lo, hi]. edge returns the x above which losses are jumps.
func (r *round) cut(d direction, lo, hi float64, edge func(branch) float64) {
	var large branch // the branch with the large losses
	switch d {
	case remove:
		large = branch{1, 1, 0, lo, hi}
	case add:
		r.bulk.branches = []branch{{0, -1, 0, lo, hi}} // because losses are at most -log(1-q)
		return
	case replace:
		large = branch{1, 1, -1, lo, hi}
	case fixed:
		large = branch{1, 1, 0, 0.5, hi}
		r.bulk.branches = []branch{{0, -1, 0, 0.5, hi}}
		r.bulk.atom = (1 - r.q) * math.Erf(1/(2*math.Sqrt2*r.sigma))
	}
	if at := edge(large); at < large.hi {
		upper := large
		large.hi, upper.lo = at, at
		r.jump = &part{branches: []branch{upper}}
	}
	r.bulk.branches = append(r.bulk.branches, large)
}

// edge returns the x at which the increasing loss of b is threshold, or an end of b.
func (r *round) edge(b branch, threshold float64) float64 {
	if !(b.value(r, b.hi) > threshold) {
		return b.hi
	}
	if b.value(r, b.lo) > threshold {
		return b.lo
	}
	x, err := root.Find(func(x float64) float64 { return b.value(r, x) - threshold }, b.lo, b.hi, 1e-6)
	if err != nil {
		return b.hi
	}
	return x
}

// upperTail is P(Z > z) of a standard normal Z.
func upperTail(z float64) float64 { return 0.5 * math.Erfc(z/math.Sqrt2) }

// tailPoint returns a z ≥ 0 with P(Z > z) ≤ p, by P(Z > z) ≤ e^(-z²/2)/2.
func tailPoint(p float64) float64 { return math.Sqrt(max(0, -2*math.Log(2*p))) }

// total returns the total variation distance of the pair, which is an upper bound of one round's
// δ(0).
func total(d direction, q, sigma float64) float64 {
	if d == replace || d == fixed {
		sigma /= 2
	}
	return q * math.Erf(1/(2*math.Sqrt2*sigma))
}

// exponent is log(e^((2x-1)/(2σ²))).
func (r *round) exponent(x float64) float64 { return (2*x - 1) / (2 * r.sigma * r.sigma) }

// loss is L(x), to a few units in the last place.
func (r *round) loss(x float64) float64 {
	w := r.exponent(x)
	if w > 500 { // e^w may overflow, and 1-q is negligible against q·e^w unless q is tiny
		return w + math.Log(r.q+(1-r.q)*math.Exp(-w))
	}
	if u := r.q * math.Expm1(w); u > -0.5 {
		return math.Log1p(u)
	}
	return math.Log(1 - r.q + r.q*math.Exp(w))
}

// lossAndShare is loss, with a share that may be larger by a rounding error.
func (r *round) lossAndShare(x float64) (loss, share float64) {
	if w := r.exponent(x); w <= 500 {
		e := math.Expm1(w)
		if u := r.q * e; u > -0.5 {
			return math.Log1p(u), min(1, r.q*(e+1+4*unit)/(1+u))
		}
	}
	return r.loss(x), r.share(x)
}

// share returns q·e^w/g, the probability in (0, 1) that the record was used, given x. The slope of
// L is share/σ².
func (r *round) share(x float64) float64 {
	return 1 / (1 + (1-r.q)/r.q*math.Exp(-r.exponent(x)))
}

// value is Y(x).
func (b branch) value(r *round, x float64) float64 {
	y := 0.0
	if b.up != 0 {
		y += b.up * r.loss(x)
	}
	if b.down != 0 {
		y += b.down * r.loss(-x)
	}
	return y
}

// at is logDensity and value.
func (b branch) at(r *round, x float64) (logDensity, value float64) {
	if b.weight == 0 || b.up == 0 {
		return b.logDensity(r, x), b.value(r, x)
	}
	loss := r.loss(x)
	logDensity, value = -x*x/(2*r.sigma*r.sigma)-r.logNorm+b.weight*loss, b.up*loss
	if b.down != 0 {
		value += b.down * r.loss(-x)
	}
	return logDensity, value
}

// logDensity is log(P(dx)/dx).
func (b branch) logDensity(r *round, x float64) float64 {
	l := -x*x/(2*r.sigma*r.sigma) - r.logNorm
	if b.weight != 0 {
		l += b.weight * r.loss(x)
	}
	return l
}
