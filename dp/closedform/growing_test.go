package closedform

import (
	"errors"
	"math"
	"math/rand/v2"
	"strings"
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

// A plan meets the conditions as its sequence really is, computes almost all of
// K, and one size more would not do.
func TestGrow(t *testing.T) {
	for _, tt := range []struct {
		n, k       int
		power, eps float64
	}{{10000, 5, 1, 0.05}, {60000, 6, 1, 0.15}, {50000, 7, 0.5, 0.5}, {10000, 20, 2, 1}, {50000, 7, 0, 0.52534}, {10000,
		4, 1, 3}} {
		delta := 1 / float64(tt.n)
		g, err := Grow(tt.n, tt.k*tt.n, tt.power, tt.eps, delta)
		if err != nil {
			t.Fatalf("%+v: %v", tt, err)
		}
		if !Holds(g.Conditions, SimpleF) || g.Theta > 1+tt.power || g.Theta < 1+0.8*tt.power || g.Run.Remainder < 0 ||
			float64(g.Run.Remainder) > 0.1*float64(tt.k*tt.n) {
			t.Errorf("%+v: s_max = %d, %+v, θ = %v, %+v", tt, g.Sizes.Largest, g.Run, g.Theta, g.Conditions)
		}
		mech := dp.Mechanism{Sampling: dp.Poisson, Adjacency: dp.AddOrRemove, ClipNorm: 1, NoiseMultiplier: g.Sigma,
			DatasetSize: tt.n, Sizes: g.Sizes}
		events := mech.Events(g.Sizes.Rounds)
		simple, err := Accountant{}.Epsilon(t.Context(), events, delta)
		if err != nil || simple.Epsilon > tt.eps*(1+1e-12) || simple.Epsilon < 0.95*tt.eps {
			t.Errorf("%+v: ε = %v, %v", tt, simple.Epsilon, err)
		}
		moments, err := MomentAccountant{}.Epsilon(t.Context(), events, delta)
		if err != nil || moments.Epsilon > tt.eps*(1+1e-12) {
			t.Errorf("%+v: ε by moments = %v, %v", tt, moments.Epsilon, err)
		}
		more := g.Sizes
		more.Largest++
		run := more.Run(tt.k * tt.n)
		s := Setting{tt.n, float64(run.Rounds), float64(run.Computed), float64(run.Max), g.Sigma, tt.eps, delta}
		if run.Remainder >= 0 && Holds(must[[]Condition](t)(Conditions(Corrected, s)), SimpleF) {
			t.Errorf("%+v: s_max = %d would do as well", tt, more.Largest)
		}
	}
	// p = 0 is a constant size, the one that Limit allows with whole rounds: 800.
	g := must[Growth](t)(Grow(50000, 350000, 0, 0.525338, 2e-5))
	if g.Sizes.Largest != 798 && g.Sizes.Largest != 799 && g.Sizes.Largest != 800 {
		t.Errorf("constant: %+v", g.Sizes)
	}
	if _, err := Grow(10000, 10000*2000, 1, 0.2, 1e-4); !errors.Is(err, dp.ErrNotCovered) {
		t.Errorf("beyond the limit of reuse: %v", err)
	}
	if _, err := Grow(10000, 10000*1e6, 1, 0.2, 1e-4); !errors.Is(err, dp.ErrNotCovered) ||
		!strings.Contains(err.Error(), "rounds") {
		t.Errorf("too many rounds: %v", err)
	}
	_, err := Grow(0, 0, math.NaN(), -1, 2)
	for _, want := range []string{"N = 0", "computed = 0", "power = NaN", "epsilon = -1", "delta = 2"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want an error with %q, got %v", want, err)
		}
	}
}

// A sequence that was not made by Grow has no sizes, rather than sizes of 1.
func TestGrowingOfNothing(t *testing.T) {
	for _, g := range []Growing{{}, {Largest: 5}, {Largest: 5, Rounds: 3, Power: math.NaN()}, {Rounds: 3}} {
		if at := g.At(1); at != 0 {
			t.Errorf("%+v: %d", g, at)
		}
	}
}
