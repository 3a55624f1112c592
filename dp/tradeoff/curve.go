package tradeoff

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"proactivedp/dp"
)

// Side says where a curve lies, compared with the true trade-off curve of a release.
type Side string

// These are the values of Side.
const (
	Exact         Side = "exact"         // the true curve, to rounding
	Lower         Side = "lower"         // nowhere above the true curve: safe
	Upper         Side = "upper"         // nowhere below the true curve
	Approximation Side = "approximation" // may be on either side: no guarantee
)

// Label names a curve and says what it is. Accountant, Adjacency and Sampling are empty if the curve is
// not that of a release.
type Label struct {
	Name       string       `json:"name"`
	Side       Side         `json:"side"`
	Accountant string       `json:"accountant,omitempty"`
	Adjacency  dp.Adjacency `json:"adjacency,omitempty"`
	Sampling   dp.Sampling  `json:"sampling,omitempty"`
}

// Point is a point of a curve: the type I error α and the type II error β = f(α).
type Point struct {
	Alpha float64 `json:"alpha"`
	Beta  float64 `json:"beta"`
}

// Curve holds points of a trade-off function, by increasing α. Do not interpolate a Lower curve: the
// function is convex, so a straight line between two of its points may lie above it, which would not be
// safe.
type Curve struct {
	Label
	Points []Point `json:"points"`
}

// Sample returns the curve with the points (α, f(α)) for the given type I errors α.
func Sample(label Label, f func(alpha float64) float64, alphas []float64) Curve {
	points := make([]Point, len(alphas))
	for i, a := range alphas {
		points[i] = Point{a, f(a)}
	}
	return Curve{label, points}
}

// Check returns an error if c is not a trade-off function: α must increase from 0 to 1, and β must
// be in [0, 1-α], non-increasing and convex (Dong, Roth, Su 2022, Proposition 2.2), all to within
// 1e-12.
func (c Curve) Check() error {
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

// LeastGap returns the least difference between the β of c and the β of d at equal α, and the α where it
// occurs. At these α, c is nowhere below d if and only if the gap is not negative. The curves must have
// the same α, and at least one point.
func (c Curve) LeastGap(d Curve) (gap, alpha float64, err error) {
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
