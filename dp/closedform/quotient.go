package closedform

import (
	"fmt"
	"math"

	"proactivedp/dp"
	"proactivedp/internal/root"
)

// quotient is condition (treq3) for one release, solved for ε. ᾱ·rhs(σ, ᾱ) = ε/k increases with ᾱ,
// so ᾱ ≥ θ²s̄/N is equivalent to
//
//	ε ≥ R(ε) = k·q·rhs(σ_eq(ε), q),  q = θ²s̄/N,  √q below the pole at σ_eq(ε)
type quotient struct {
	form   Form
	l      float64 // ln(1/δ) of the given δ
	delta  float64
	k, q   float64
	root   float64 // √q
	second float64 // the least allowed σ, where √h(σ) = √q
}

func newQuotient(form Form, s Setting) quotient {
	q := s.Theta() * s.MaxSize / float64(s.N)
	r := math.Sqrt(q)
	return quotient{
		form: form, l: -math.Log(s.Delta), delta: s.Delta, k: s.Epochs(), q: q, root: r,
		second: 2 * math.E * r / (1 - q),
	}
}

// top returns the largest σ_eq, rounded down, that the noise of s and the first half of (treq1),
// σ_eq ≤ N/(e·s_max), allow. The second half, s_max/N ≤ h(σ_eq), follows from (treq3), because ᾱ ≥
// θ²s̄/N ≥ s_max/N.
func (q quotient) top(s Setting) (float64, error) {
	top := min(s.Sigma, float64(s.N)/(math.E*s.MaxSize)*(1-2*slack))
	switch first := q.form.firstPole(); {
	case q.root >= first:
		return 0, fmt.Errorf("no guarantee: θ²s̄/N = %.5g, must be below %.5g: %w", q.q, first*first,
			dp.ErrNotCovered)
	case top < MinSigma:
		return 0, fmt.Errorf("no guarantee: s_max/N = %.5g, must be below 1/(e√2) = 0.2601: %w",
			s.MaxSize/float64(s.N), dp.ErrNotCovered)
	}
	return top, nil
}

// at returns k·q·rhs(σ, q). It is infinite if √q is not below the pole.
func (q quotient) at(sigma float64) float64 {
	c := newCurve(q.form, sigma)
	if q.root >= c.pole {
		return math.Inf(1)
	}
	return q.k * q.q * c.rhs(q.root, c.pole-q.root)
}

// atLeast returns R(ε). It is infinite outside the domain of R.
func (q quotient) atLeast(eps float64) float64 { return q.at(sigmaEq(eps, q.l)) }

// turn returns the σ at which rhs(σ, q) is least. All terms of rhs are convex in σ: σe^{3/σ²}, and
// a product of positive, decreasing, convex functions. So the derivative has one zero, which is
// above √6. The code divides the derivative by positive factors such that it keeps increasing.
func (q quotient) turn() (float64, error) {
	a := q.root
	d := (1 - a) * (1 - a)
	if q.form == Corrected {
		d = (math.Sqrt2 - 1 - a) * (math.Sqrt2 + 1 + a)
	}
	slope := func(s float64) float64 {
		p := s*(1-q.q) - 2*math.E*a
		return (1-6/(s*s))/d - math.Exp(3)/(s*p)*(6/(s*s*s)+1/s+(1-q.q)/p)
	}
	from := max(math.Sqrt(6), q.second*(1+1e-9))
	lo, hi, err := root.Bracket(slope, from, 2*from)
	if err != nil {
		return 0, err
	}
	return root.Find(slope, lo, hi, 1e-12)
}

// smallestFrom returns the smallest ε ≥ least with ε ≥ R(ε).
//
// Such ε need not form one interval: near q = h(√2) = 0.0598 there can be two, and for larger q one
// or none. As ε grows σ_eq falls, so R falls up to ε(turn) and rises after it. In the first part ε
// - R increases and has at most one root. In the second part, if ε₀ < R(ε₀), no ε between ε₀ and
// R(ε₀) is a solution, so the steps ε ← R(ε) never pass one.
func (q quotient) smallestFrom(least float64) (float64, error) {
	none := func(why error) (float64, error) {
		err := fmt.Errorf("no epsilon: (treq3) cannot be met at θ²s̄/N = %v, k = %v, delta = %v: %w", q.q,
			q.k, q.delta, dp.ErrNotCovered)
		if why != nil {
			err = fmt.Errorf("%w: %w", err, why)
		}
		return 0, err
	}
	if q.atLeast(least) <= least {
		return least, nil
	}
	turn, err := q.turn()
	if err != nil {
		return none(err)
	}
	turnEps, err := Epsilon(turn, q.delta)
	if err != nil {
		return none(err)
	}
	eps := least
	if least < turnEps {
		if q.atLeast(turnEps) <= turnEps {
			t, err := root.Find(func(t float64) float64 {
				return math.Log(q.atLeast(math.Exp(t))) - t
			}, math.Log(least), math.Log(turnEps), ulp)
			if err != nil {
				return none(err)
			}
			return math.Exp(t), nil
		}
		eps = turnEps
	}
	// Each step increases ε by a relative 1e-8 at least, so that it passes roots, and places where
	// the function nearly has a root. This is also the most that the result may lose.
	for range 1_000_000 {
		r := q.atLeast(eps)
		switch {
		case r <= eps:
			return eps, nil
		case math.IsInf(r, 0):
			return none(nil)
		}
		eps = max(r, eps*(1+1e-8))
	}
	return none(nil)
}
