package rdp

import (
	"math"

	"proactivedp/internal/root"
)

// logMoment returns log(E_Q[R^(1+a)] - 1), R = P/Q. Because E_Q[R] = 1, this is the integral of
// excess ≥ 0 over Q, which does not cancel however small it is.
//
// The integrand is large near the origin, and may be large near the fixed points of balance, where
// Q·R^(1+a) has its peaks. The panels of the quadrature begin at these places and go outwards.
func (p pair) logMoment(a float64) float64 {
	var s logSum
	width := panelWidth * min(p.sigma, p.sigma*p.sigma)
	f := func(x float64) float64 { return p.integrand(x, a) }
	matters := func(x float64) bool { return f(x)+math.Log(width) > s.top-negligible }

	// The terms of R up to the second degree have their peaks in [lo, hi].
	reach := math.Sqrt(2*negligible) * p.sigma
	lo, hi := -1-reach, 2+reach
	if p.shape == symmetric {
		lo = 0.5
	}
	n := math.Ceil((hi - lo) / width)
	for i := range int(n) {
		s.panel(f, lo+(hi-lo)*float64(i)/n, lo+(hi-lo)*float64(i+1)/n)
	}
	low, high := p.fixedPoint(0, a), p.fixedPoint(2+2*a, a)
	// Begin at the high peak: the integrand may rise all the way to it.
	first := max(hi, high)
	for left := first; left > hi && matters(left); left = first {
		first = max(hi, left-width)
		s.panel(f, first, left)
	}
	for right := max(hi, high); matters(right); right += width {
		s.panel(f, right, right+width)
	}
	if low = max(hi, low); low < first {
		for left := low; left > hi && matters(left); left -= width {
			s.panel(f, max(hi, left-width), left)
		}
		for right := low; right < first && matters(right); right += width {
			s.panel(f, right, min(first, right+width))
		}
	}
	return s.log()
}

// Panels are panelWidth·min(sigma, sigma²) wide. The integrand is left out where it is smaller than
// its maximum by a factor of e^negligible.
const (
	panelWidth = 4.0
	negligible = 45.0
)

// integrand returns log(Q(x)·excess(L(x))). For the symmetric pair it includes the mirror image.
func (p pair) integrand(x, a float64) float64 {
	l := p.loss(x)
	z := x / p.sigma
	logNormal := -z*z/2 - math.Log(p.sigma*math.Sqrt(2*math.Pi))
	switch p.shape {
	case opposite:
		back := p.loss(-x)
		return logNormal + back + logExcess(l-back, a)
	case symmetric:
		plus, minus := logExcess(l, a), l+logExcess(-l, a)
		if plus < minus {
			plus, minus = minus, plus
		}
		if math.IsInf(plus, -1) {
			return plus
		}
		return logNormal + plus + math.Log1p(math.Exp(minus-plus))
	}
	return logNormal + logExcess(l, a)
}

// balance returns x plus sigma² times the slope of log(Q·R^(1+a)) at x. Its fixed points are the
// peaks and troughs of the integrand away from the origin.
func (p pair) balance(x, a float64) float64 {
	b := (1 + a) * p.share(x)
	if p.shape == opposite {
		b += a * p.share(-x)
	}
	return b
}

// fixedPoint returns the fixed point of balance nearest to x, to within a tenth of sigma. x must be
// below or above all fixed points. It iterates balance. If an iteration passes a fixed point, that
// point is between the last two values.
func (p pair) fixedPoint(x, a float64) float64 {
	off := func(x float64) float64 { return p.balance(x, a) - x }
	d := off(x)
	for math.Abs(d) > p.sigma/10 {
		next := x + d
		dNext := off(next)
		if dNext < 0 != (d < 0) {
			between, err := root.Find(off, min(x, next), max(x, next), 1e-6)
			if err != nil {
				return next // near enough to start from
			}
			return between
		}
		x, d = next, dNext
	}
	return x
}
