package pld

import (
	"math"
	"testing"
)

// A contour moves away from the saddle only as far as the rounding of the transforms stays a small part
// of the width. How much rounding that is depends on the tilt, not on the spread of the loss.
func TestContoursMoveNoFartherThanRoundingAllows(t *testing.T) {
	for _, c := range []struct {
		spec
		eps, accuracy float64
	}{
		{spec{q: 1e-6, sigma: 0.3, count: 1000}, 8, 1e-6}, {spec{q: 1e-6, sigma: 0.3, count: 1e7}, 0.1, 1e-3}, {spec{q: 1e-6, sigma: 0.4, count: 1e7}, 3, 1e-3},
	} {
		q := query{effort: free(t), directions: []direction{remove}, specs: []spec{c.spec}}
		r, s, ok := q.truncated(remove, c.eps)
		if !ok {
			t.Fatalf("%+v has no saddle", c)
		}
		width := c.accuracy * c.eps
		p := r.shapeFor(s, s.logDelta, width, 1+s.lambda)
		most := math.Log(roundingShare * min(0.5, width*s.lambda) / (300 * unit * c.count))
		if p.lambda != s.lambda && p.excess > most {
			t.Errorf("%+v: tilt %v at a saddle of %v, excess %v, must be at most %v", c, p.lambda,
				s.lambda, p.excess, most)
		}
	}
}
