package tradeoff

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"proactivedp/dp/gdp"
	"proactivedp/internal/root"
)

// subsampled returns the trade-off function of one round at sample rate q, C_q(G_μ)(α) (Dong, Roth,
// Su 2022, Theorem 4.2), to an absolute error of about 1e-15. q and α must be in [0, 1] and μ in
// [0, gdp.Largest].
//
// With noise multiplier σ, use μ = 1/σ for Poisson sampling under add-or-remove adjacency, where
// the curve is exact. Use μ = 2/σ for fixed-size sampling under replace-one adjacency, where it is
// a lower bound.
func subsampled(q, mu, alpha float64) float64 {
	if !(q >= 0 && q <= 1 && mu >= 0 && mu <= gdp.Largest && alpha >= 0 && alpha <= 1) {
		return 0
	}
	// f_q is the curve of N(0,1) against the mixture, and its inverse is the curve of the mixture
	// against N(0,1). Their minimum is not convex. At the fixed point of G_μ the slope of f_q is
	// -1; from there on, a line replaces the minimum.
	mixed := func(alpha float64) float64 { return q*Gaussian(mu, alpha) + (1-q)*(1-alpha) }
	fixed := gdp.Tail(mu / 2)
	image := mixed(fixed)
	switch {
	case alpha <= fixed:
		return mixed(alpha)
	case alpha <= image:
		return fixed + image - alpha
	}
	return mixtureInverse(q, mu, alpha)
}

// mixtureInverse returns the inverse of f_q = q·G_μ + (1-q)(1-α) at α. It is P(Z > z) at the
// threshold z that the mixture exceeds with probability 1-α:
//
//	q·P(Z > z-μ) + (1-q)·P(Z > z) = 1-α
func mixtureInverse(q, mu, alpha float64) float64 {
	if alpha == 1 {
		return 0
	}
	l := math.Log1p(-alpha)
	excess := func(z float64) float64 {
		return math.Log(q*gdp.Tail(z-mu)+(1-q)*gdp.Tail(z)) - l
	}
	// z is between the thresholds of the mixture's two parts.
	normal := gdp.TailQuantile(1 - alpha)
	z, err := root.Find(excess, normal-1, normal+mu+1, 1e-15)
	if err != nil {
		return 0
	}
	return gdp.Tail(z)
}

// check returns an error if c is not a trade-off function: α must increase from 0 to 1, and β must
// be in [0, 1-α], non-increasing and convex (Dong, Roth, Su 2022, Proposition 2.2), all to within
// 1e-12.
func (c Curve) check() error {
	const slack = 1e-12
	var errs []error
	fail := func(i int, what string) {
		errs = append(errs, fmt.Errorf("curve %q at alpha = %v: beta = %v, %s", c.Name, c.Points[i].Alpha,
			c.Points[i].Beta, what))
	}
	n := len(c.Points)
	if n < 2 || c.Points[0].Alpha != 0 || c.Points[n-1].Alpha != 1 {
		return fmt.Errorf("curve %q: alphas must go from 0 to 1", c.Name)
	}
	for i, p := range c.Points {
		if !(p.Beta >= 0 && p.Beta <= 1-p.Alpha+slack) {
			fail(i, "must be in [0, 1-alpha]")
		}
		if i == 0 {
			continue
		}
		before := c.Points[i-1]
		width := p.Alpha - before.Alpha
		if !(width > 0) {
			fail(i, "alphas must increase")
		}
		if !(p.Beta <= before.Beta+slack) {
			fail(i, "must not increase")
		}
		if i+1 == n {
			continue
		}
		after := c.Points[i+1]
		if chord := before.Beta + (after.Beta-before.Beta)*width/(after.Alpha-before.Alpha); !(p.Beta <= chord+slack) {
			fail(i, "must be convex")
		}
	}
	return errors.Join(errs...)
}

// leastGap returns the least difference between the β of c and the β of d at equal α, and the α where it
// occurs. At these α, c is nowhere below d if and only if the gap is not negative. The curves must have
// the same α, and at least one point.
func (c Curve) leastGap(d Curve) (gap, alpha float64, err error) {
	if len(c.Points) == 0 || !slices.EqualFunc(c.Points, d.Points,
		func(p, q Point) bool { return p.Alpha == q.Alpha }) {
		return 0, 0, fmt.Errorf("curves %q and %q must have the same alphas", c.Name, d.Name)
	}
	gap = math.Inf(1)
	for i, p := range c.Points {
		if g := p.Beta - d.Points[i].Beta; g < gap || math.IsNaN(g) {
			gap, alpha = g, p.Alpha
		}
	}
	return gap, alpha, nil
}
