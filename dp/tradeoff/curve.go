package tradeoff

import "proactivedp/dp"

// Side says where a curve lies, compared with the true trade-off curve of a release.
type Side string

// These are the values of Side.
const (
	Exact         Side = "exact"         // the points lie on the true curve, to rounding
	Lower         Side = "lower"         // the curve is nowhere above the true one, so it never promises too much
	Upper         Side = "upper"         // the curve is nowhere below the true one
	Approximation Side = "approximation" // the curve may lie on either side of the true one: no guarantee
)

// Label names a curve and describes it. Accountant, Adjacency and Sampling are empty if the curve does not belong to
// a release.
type Label struct {
	Name       string       `json:"name"`
	Side       Side         `json:"side"`
	Accountant string       `json:"accountant,omitempty"`
	Adjacency  dp.Adjacency `json:"adjacency,omitempty"`
	Sampling   dp.Sampling  `json:"sampling,omitempty"`
}

// Point is a point of a curve: the type I error α (an attacker's false-positive rate) and the type II error β = f(α)
// (the false-negative rate).
type Point struct {
	Alpha float64 `json:"alpha"`
	Beta  float64 `json:"beta"`
}

// Curve holds points of a trade-off function, by increasing type I error α. Do not interpolate between the points of
// a curve whose Side is Lower: the function is convex, so a straight line between two points may lie above it and
// promise too much.
type Curve struct {
	Label
	Points []Point `json:"points"`
}

// Sample returns the curve of the function f: the points (α, f(α)) for the given type I errors α.
func Sample(label Label, f func(alpha float64) float64, alphas []float64) Curve {
	points := make([]Point, len(alphas))
	for i, a := range alphas {
		points[i] = Point{a, f(a)}
	}
	return Curve{label, points}
}
