package tradeoff

import "proactivedp/dp"

// Side says where a computed curve lies, compared with the true trade-off curve of a release (the least
// false-negative rate of an attacker for each false-positive rate). A Lower curve is the safe one to publish.
type Side string

// These are the values of Side.
const (
	Exact         Side = "exact"         // the points lie on the true curve, up to rounding
	Lower         Side = "lower"         // the curve is nowhere above the true one: attackers do no better than it says
	Upper         Side = "upper"         // the curve is nowhere below the true one: attackers may do better than it says
	Approximation Side = "approximation" // the curve may lie on either side of the true one: no guarantee
)

// Label names a curve, and says on which side of the true curve it lies (Side), which accountant proves it, and which
// adjacency and sampling the rounds have. The last three are empty if the curve is not computed from rounds, like that
// of a given (ε, δ).
type Label struct {
	Name       string       `json:"name"`
	Side       Side         `json:"side"` // whether the curve is exact, a Lower or an Upper bound, or an Approximation
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

// Curve holds points of a trade-off function, by increasing type I error α (an attacker's false-positive rate). If
// its Side is Lower (a lower bound on the true curve), draw it in steps: for an α between two points, only the type II
// error β of the right point is proved. A straight line between the points may lie above the true curve, which is
// convex, and promise too much privacy.
type Curve struct {
	Label
	Points []Point `json:"points"`
}

// Sample returns the curve of a function such as [Gaussian]: the points (α, f(α)) for the type I errors in alphas.
func Sample(label Label, f func(alpha float64) float64, alphas []float64) Curve {
	points := make([]Point, len(alphas))
	for i, a := range alphas {
		points[i] = Point{a, f(a)}
	}
	return Curve{label, points}
}
