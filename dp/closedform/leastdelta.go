package closedform

import (
	"fmt"
	"math"

	"proactivedp/dp"
	"proactivedp/internal/root"
)

// leastDelta returns the smallest δ ≥ MinDelta at which MinEpsilon of a covered s is at most
// s.Epsilon. It is rounded up as [MinEpsilon] rounds ε.
//
// At a fixed ε, the smallest δ belongs to the largest σ_eq(ε, δ) = √(2 + 2l/ε), l = ln(1/δ).
// (treq4) and (treq1) bound σ_eq from above. So does (treq3), ε ≥ k·q·rhs(σ_eq, q): rhs falls with
// σ up to a turning point and rises after it. So the answer is either the upper bound, or the zero
// between the turning point and the upper bound.
func leastDelta(form Form, s Setting) (float64, error) {
	enough := func(delta float64) bool {
		of := s
		of.Delta = delta
		eps, err := MinEpsilon(form, of)
		return err == nil && eps <= s.Epsilon
	}
	if enough(MinDelta) {
		return MinDelta, nil
	}
	q := newQuotient(form, s)
	top, err := q.top(s)
	if err != nil {
		return 0, err
	}
	logOf := func(sigma float64) float64 { return s.Epsilon * (math.FMA(sigma, sigma, -2) / 2) }
	excess := func(l float64) float64 { return math.Log(q.at(sigmaEq(s.Epsilon, l)) / s.Epsilon) }
	l := min(-math.Log(MinDelta), logOf(top))
	if excess(l) > 0 {
		turn, err := q.turn()
		if err == nil {
			l, err = root.Find(excess, logOf(turn), l, ulp)
		}
		if err != nil {
			return 0, fmt.Errorf("no delta: (treq3) cannot be met at θ²s̄/N = %v, k = %v, epsilon = %v: "+
				"%w: %w", q.q, q.k, s.Epsilon, err, dp.ErrNotCovered)
		}
	}
	return raise("delta", math.Exp(-l), enough)
}
