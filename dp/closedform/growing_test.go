package closedform

import (
	"math"
	"math/rand/v2"
	"testing"

	"proactivedp/dp"
)

// growing is the polynomially increasing sequence of sample sizes
//
//	s_i = ⌈s_max·((i+1)/T)^p⌉,  i < T
//
// of the paper's Remark "Increasing Sample Size Sequence", s_i ~ (i+1)^p. Because sizes are rounded up, θ
// ≤ 1+p holds for every T and not only in the limit: Σ s_i ≥ s_max·∫₀^T (x/T)^p dx = s_max·T/(1+p). After
// T rounds the size stays at s_max.
type growing struct {
	Largest int     // s_max ≥ 1
	Rounds  int     // T ≥ 1
	Power   float64 // p ≥ 0; 1 is linear growth
}

var _ dp.Sizes = growing{}

// At returns the sample size s_i of round i. If g is invalid, At returns 0, which dp.Mechanism.Validate
// refuses.
func (g growing) At(i int) int {
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
func (g growing) String() string {
	list := make(dp.ListSizes, g.Rounds)
	for i := range list {
		list[i] = g.At(i)
	}
	return list.String()
}

// Run returns the T rounds of g as a dp.Run. Its Remainder is how many of k gradient computations they
// leave, and is negative if they need more than k.
func (g growing) Run(k int) dp.Run {
	r := dp.Run{Rounds: g.Rounds, Max: g.Largest}
	for i := range g.Rounds {
		r.Computed += g.At(i)
	}
	r.Remainder = k - r.Computed
	return r
}

// Remark "Increasing Sample Size Sequence": θ = 1+p, here a bound for every T
// and its limit for large ones; 2T/(T+1) for s_i = i+1.
func TestGrowingTheta(t *testing.T) {
	r := rand.New(rand.NewPCG(10, 1))
	for range 500 {
		g := growing{Largest: 1 + r.IntN(5000), Rounds: 1 + r.IntN(3000), Power: 5 * r.Float64()}
		run := g.Run(0)
		if th := run.Theta(); th > 1+g.Power || g.At(g.Rounds-1) != g.Largest || g.At(g.Rounds+7) != g.Largest ||
			g.At(0) < 1 {
			t.Fatalf("%+v: θ = %v, last size %d", g, th, g.At(g.Rounds-1))
		}
		for i := 1; i < g.Rounds; i++ {
			if g.At(i) < g.At(i-1) {
				t.Fatalf("%+v falls at %d", g, i)
			}
		}
		if want := dp.Cut(g, run.Computed); want.Rounds != run.Rounds || want.Max != run.Max {
			t.Fatalf("%+v: %+v, cut %+v", g, run, want)
		}
	}
	near(t, "θ of i+1", growing{100, 100, 1}.Run(0).Theta(), 200./101, 1e-12)
	near(t, "θ, large T", growing{1e6, 1e5, 2}.Run(0).Theta(), 3, 1e-4)
	near(t, "θ, constant", growing{77, 500, 0}.Run(0).Theta(), 1, 0)
	if s := (growing{4, 4, 1}).String(); s != "list:1,2,3,4" {
		t.Errorf("%s", s)
	}
}

// An invalid sequence has sizes of 0, and not of 1.
func TestGrowingOfNothing(t *testing.T) {
	for _, g := range []growing{{}, {Largest: 5}, {Largest: 5, Rounds: 3, Power: math.NaN()}, {Rounds: 3}} {
		if at := g.At(1); at != 0 {
			t.Errorf("%+v: %d", g, at)
		}
	}
}
