package closedform

import (
	"errors"
	"fmt"
	"math"
	"sort"

	"proactivedp/dp"
)

// Growing is the polynomially increasing sequence of sample sizes
//
//	s_i = ⌈s_max·((i+1)/T)^p⌉,  i < T
//
// of the paper's Remark "Increasing Sample Size Sequence", s_i ~ (i+1)^p. Because sizes are rounded up, θ
// ≤ 1+p holds for every T and not only in the limit: Σ s_i ≥ s_max·∫₀^T (x/T)^p dx = s_max·T/(1+p). After
// T rounds the size stays at s_max.
type Growing struct {
	Largest int     // s_max ≥ 1
	Rounds  int     // T ≥ 1
	Power   float64 // p ≥ 0; 1 is linear growth
}

var _ dp.Sizes = Growing{}

// At returns the sample size s_i of round i. If g is invalid, At returns 0, which dp.Mechanism.Validate
// refuses.
func (g Growing) At(i int) int {
	if g.Largest < 1 || g.Rounds < 1 || !(g.Power >= 0) {
		return 0
	}
	x := float64(min(i+1, g.Rounds)) / float64(g.Rounds)
	size := float64(g.Largest) * math.Pow(x, g.Power)
	if whole := math.Round(size); math.Abs(size-whole) <= 4*ulp*size {
		size = whole // a rounding error must not add 1
	}
	return max(1, int(min(math.Ceil(size), float64(g.Largest))))
}

// String returns the list of all T sizes in the form that dp.ParseSizes reads.
func (g Growing) String() string {
	list := make(dp.ListSizes, g.Rounds)
	for i := range list {
		list[i] = g.At(i)
	}
	return list.String()
}

// Run returns the T rounds of g as a dp.Run. Its Remainder is how many of k gradient computations they
// leave, and is negative if they need more than k.
func (g Growing) Run(k int) dp.Run {
	r := dp.Run{Rounds: g.Rounds, Max: g.Largest}
	for i := range g.Rounds {
		r.Computed += g.At(i)
	}
	r.Remainder = k - r.Computed
	return r
}

// Growth is the result of [Grow]: a plan with growing sample sizes that stays within (ε, δ).
type Growth struct {
	Sizes      Growing
	Run        dp.Run      // the rounds of Sizes, and what is left of K
	Theta      float64     // θ of Run, at most 1+p
	Sigma      float64     // σ_eq(ε, δ), the noise multiplier to use
	Conditions []Condition // conditions of Run at ε and Sigma; all of Theorem simpleF are met
}

// Grow plans a run whose sample sizes grow with the round i in proportion to (i+1)^p, where p is power.
// The run computes at most computed gradients on n records, and stays within (ε, δ) by Theorem simpleF
// with the corrected γ. Grow returns the plan with the fewest rounds T that the theorem allows at θ = 1+p.
// The size s_max of its last round is the largest with which T rounds compute no more than computed
// gradients, and with which their actual sizes meet the theorem's conditions.
//
// n and computed must be in [1, MaxN], p in [0, 100], ε in [1e-60, 1e30] and δ in [MinDelta, 1).
// The error wraps dp.ErrNotCovered if no such sequence of at most dp.MaxRounds rounds exists; then
// computed is near or above the limit of [ReuseLimit].
func Grow(n, computed int, power, eps, delta float64) (Growth, error) {
	if err := errors.Join(checkN(n), dp.CheckRange("computed", float64(computed), 1, MaxN),
		dp.CheckRange("power", power, 0, maxPower), checkEpsilon(eps), checkDelta(delta)); err != nil {
		return Growth{}, err
	}
	limit, err := Limit(Corrected, n, float64(computed)/float64(n), 1+power, eps, delta)
	if err != nil {
		return Growth{}, err
	}
	if limit.TMin > dp.MaxRounds {
		return Growth{}, fmt.Errorf("rounds = %.4g, must be at most %d: %w", limit.TMin, dp.MaxRounds,
			dp.ErrNotCovered)
	}
	rounds := math.Ceil(limit.TMin)
	most := int(min((1+power)*float64(computed)/rounds, float64(n)))
	try := func(largest int) (Growth, bool) {
		g := Growth{Sizes: Growing{largest, int(rounds), power}, Sigma: sigmaEq(eps, -math.Log(delta))}
		g.Run = g.Sizes.Run(computed)
		g.Theta = g.Run.Theta()
		if g.Run.Remainder < 0 {
			return g, false
		}
		var err error
		g.Conditions, err = conditions(Corrected, Setting{
			N: n, Rounds: rounds, Computed: float64(g.Run.Computed), MaxSize: float64(largest),
			Sigma: g.Sigma, Epsilon: eps, Delta: delta,
		})
		return g, err == nil && Holds(g.Conditions, SimpleF)
	}
	// The search decreases the size step by step, so the first success is the largest size.
	down := sort.Search(most, func(down int) bool {
		_, ok := try(most - down)
		return ok
	})
	g, ok := try(most - down)
	if !ok {
		return Growth{}, fmt.Errorf("no sequence of sizes for %.0f rounds meets the conditions with %d "+
			"gradient computations: %w", rounds, computed, dp.ErrNotCovered)
	}
	return g, nil
}
