package closedform

import (
	"errors"
	"math"

	"proactivedp/dp"
)

// Limits has the limits that the paper's Theorem simpleF sets for a client that computes K = kN gradients (k epochs
// of N records) within (ε, δ): the least number of rounds, and the largest mean batch size. [Limit] computes them.
type Limits struct {
	Gamma float64 // constant γ of the theorem (see [Gamma]), rounded up
	// TTreq3 and TTreq1 are the least numbers of rounds by two of the theorem's conditions, (treq3) and (treq1), each
	// taken by itself: γθ²k²/ε and θk/g(σ_eq). θ is the largest batch size divided by the mean one, For the
	// conditions, g and σ_eq see [Conditions].
	TTreq3, TTreq1 float64
	// TMin is the least number of rounds that the theorem allows: the larger of TTreq3 and TTreq1. Binding is the
	// name of the condition that sets it, "treq3" or "treq1".
	TMin    float64
	Binding string
	// SMax = kN/TMin is the largest mean batch size that the theorem allows. A single round may be θ times as large.
	SMax float64
	// TMinAsym is the paper's approximation of TMin, θ²k²/(2ε), and SMaxAsym is the mean batch size with that many
	// rounds. Use them only for comparison: a run with these numbers has no guarantee by the theorem.
	TMinAsym, SMaxAsym float64
}

// Limit returns the limits that the paper's Theorem simpleF sets for a run within (ε, δ): the least number of rounds
// T, and the largest mean batch size. The run has k epochs over n records. θ is its largest batch size divided by its
// mean one, 1 for constant sizes. Its noise multiplier must be at least [Sigma] of (ε, δ). form says whether to take
// the theorem's constant γ as the paper prints it or as corrected here, see [Form]. n must be in [1, MaxN] and θ in [1,
// 1e10]; for k, ε and δ see [Gamma]. The numbers of rounds are rounded up and the sizes down, by a relative 2e-13 at
// most, but not to whole numbers.
func Limit(form Form, n int, k, theta, eps, delta float64) (Limits, error) {
	gamma, err := Gamma(form, eps, delta, k)
	if err := errors.Join(checkN(n), dp.CheckRange("theta", theta, 1, maxTheta), err); err != nil {
		return Limits{}, err
	}
	x := theta * k
	computed := k * float64(n)
	l := Limits{
		Gamma:    gamma,
		TTreq3:   gamma * x * x / eps * (1 + slack),
		TTreq1:   x / safeG(sigmaEq(eps, -math.Log(delta))) * (1 + slack),
		TMinAsym: x * x / (2 * eps),
	}
	l.TMin, l.Binding = l.TTreq3, "treq3"
	if l.TTreq1 > l.TMin {
		l.TMin, l.Binding = l.TTreq1, "treq1"
	}
	l.SMax, l.SMaxAsym = computed/l.TMin*(1-slack), computed/l.TMinAsym
	return l, nil
}
