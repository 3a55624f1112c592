package closedform

import (
	"math"

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
