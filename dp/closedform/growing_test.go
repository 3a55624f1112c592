package closedform

import (
	"math"
	"math/rand/v2"
	"testing"

	"proactivedp/dp"
)

// Remark "Increasing Sample Size Sequence": θ = 1+p, here a bound for every T
// and its limit for large ones; 2T/(T+1) for s_i = i+1.
func TestGrowingTheta(t *testing.T) {
	r := rand.New(rand.NewPCG(10, 1))
	for range 500 {
		g := Growing{Largest: 1 + r.IntN(5000), Rounds: 1 + r.IntN(3000), Power: 5 * r.Float64()}
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
	near(t, "θ of i+1", Growing{100, 100, 1}.Run(0).Theta(), 200./101, 1e-12)
	near(t, "θ, large T", Growing{1e6, 1e5, 2}.Run(0).Theta(), 3, 1e-4)
	near(t, "θ, constant", Growing{77, 500, 0}.Run(0).Theta(), 1, 0)
	if s := (Growing{4, 4, 1}).String(); s != "list:1,2,3,4" {
		t.Errorf("%s", s)
	}
}

// An invalid sequence has no sizes, rather than sizes of 1.
func TestGrowingOfNothing(t *testing.T) {
	for _, g := range []Growing{{}, {Largest: 5}, {Largest: 5, Rounds: 3, Power: math.NaN()}, {Rounds: 3}} {
		if at := g.At(1); at != 0 {
			t.Errorf("%+v: %d", g, at)
		}
	}
}
