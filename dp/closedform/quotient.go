package closedform

import (
	"fmt"
	"math"

	"proactivedp/dp"
	"proactivedp/internal/root"
)

// quotient is (treq3) for one release, solved for ε. As ᾱ·rhs(σ, ᾱ) = ε/k
// increases with ᾱ, ᾱ ≥ θ²s̄/N is the same as
//
//	ε ≥ R(ε) = k·q·rhs(σ_eq(ε), q),  q = θ²s̄/N,  √q below the pole at σ_eq(ε)
type quotient struct {
	form   Form
	l      float64 // ln(1/δ) of the δ that is asked about
	delta  float64
	k, q   float64
	root   float64 // √q
	second float64 // the least σ that is allowed, at which √h(σ) = √q
}

func newQuotient(form Form, s Setting) quotient {
	q := s.Theta() * s.MaxSize / float64(s.N)
	r := math.Sqrt(q)
	return quotient{
		form: form, l: -math.Log(s.Delta), delta: s.Delta, k: s.Epochs(), q: q, root: r,
		second: 2 * math.E * r / (1 - q),
	}
}

// top returns the largest σ_eq that the noise of s and the first half of
// (treq1), σ_eq ≤ N/(e·s_max), allow, rounded down. The second half,
// s_max/N ≤ h(σ_eq), follows from (treq3), where ᾱ ≥ θ²s̄/N ≥ s_max/N.
func (q quotient) top(s Setting) (float64, error) {
	top := min(s.Sigma, float64(s.N)/(math.E*s.MaxSize)*(1-2*slack))
	switch first := q.form.firstPole(); {
	case q.root >= first:
		return 0, fmt.Errorf("no guarantee: θ²s̄/N = %v, must be below %v: %w", q.q, first*first,
			dp.ErrNotCovered)
	case top < MinSigma:
		return 0, fmt.Errorf("no guarantee: s_max/N = %v, must be below 1/(e√2) = 0.2601: %w",
			s.MaxSize/float64(s.N), dp.ErrNotCovered)
	}
	return top, nil
}

// at returns k·q·rhs(σ, q), infinite where √q is not below the pole.
func (q quotient) at(sigma float64) float64 {
	c := newCurve(q.form, sigma)
	if q.root >= c.pole {
		return math.Inf(1)
	}
	return q.k * q.q * c.rhs(q.root, c.pole-q.root)
}

// atLeast returns R(ε), infinite outside its domain.
func (q quotient) atLeast(eps float64) float64 { return q.at(sigmaEq(eps, q.l)) }

// turn returns the σ at which rhs(σ, q) is least. All its terms are convex in
// σ: σe^{3/σ²} and a product of positive, falling, convex functions. So its
// derivative, here divided by positive factors such that it keeps increasing,
// has one zero; it lies above √6.
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
// Such ε need not be an interval: next to q = h(√2) = 0.0598 there can be two
// stretches of them, beyond it one or none. As ε grows σ_eq falls, so R falls
// up to ε(turn) and increases after it. In the first part ε - R increases and
// has at most one root. In the second no ε below R(ε₀) can do if ε₀ does not,
// so the steps ε ← R(ε) never pass by a solution.
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
	// A step of 1e-8 goes past a root, and through where the function nearly has
	// one; it is also the most that may be lost.
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
