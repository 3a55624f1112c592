package tradeoff

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"proactivedp/dp"
	"proactivedp/dp/closedform"
	"proactivedp/dp/gdp"
)

func gamma(form closedform.Form) func(sigma, x float64) (float64, error) {
	return func(sigma, x float64) (float64, error) { return closedform.GammaAt(form, sigma, x) }
}

// The paper's three settings: N, k, σ, with ε_target = 2 ln N/(σ² - 2).
var settings = []struct {
	n        int
	k, sigma float64
}{{10000, 5, 19.29962}, {60000, 6, 12.10881}, {50000, 7, 6.571}}

func paper(n int, k, sigma float64) (Paper, float64) {
	p := Paper{N: n, K: k * float64(n), Sigma: sigma, Gamma: gamma(closedform.Corrected)}
	return p, 2 * math.Log(float64(n)) / (sigma*sigma - 2)
}

// ĥ_{σ,T} ≥ g_{σ,ε_target} for T ≥ γk²/ε_target, and the true h_{σ,T} is above
// both. The true curve is here its central limit, far above.
func TestCurvesOfThePaper(t *testing.T) {
	for _, s := range settings {
		p, target := paper(s.n, s.k, s.sigma)
		if target >= 0.5 { // Theorem Main has nothing to say
			gs, err := p.ForAllRounds(target, 100)
			if err != nil || len(gs) != 0 {
				t.Errorf("N = %d: %d guarantees, %v", s.n, len(gs), err)
			}
			continue
		}
		gs, err := p.ForAllRounds(target, 100)
		if err != nil || len(gs) < 50 {
			t.Fatalf("N = %d: %d guarantees, %v", s.n, len(gs), err)
		}
		g := checked(t, "g", gs.At)
		if l := p.Label("g"); l != (Label{"g", Lower, "closed-form", dp.AddOrRemove, dp.Poisson}) {
			t.Errorf("label %+v", l)
		}
		near(t, "the least δ at ε_target, 1/N", gs[0].Delta*float64(s.n), 1, 1e-9)
		least, err := p.RoundsFor(target)
		if err != nil {
			t.Fatal(err)
		}
		for _, rounds := range []float64{least * (1 + 1e-9), 3 * least, p.K} {
			hs, err := p.AtRounds(rounds, 100)
			if err != nil {
				t.Fatal(err)
			}
			h := checked(t, "ĥ", hs.At)
			atLeast(t, h, g, 1e-12)
			mu, err := gdp.MuPoisson(s.k/rounds, s.sigma, rounds)
			if err != nil {
				t.Fatal(err)
			}
			clt := checked(t, "CLT", func(a float64) float64 { return Gaussian(mu, a) })
			atLeast(t, clt, h, 0)
		}
		// For too few rounds ε_target is out, and so is part of the set.
		hs, err := p.AtRounds(least/2, 100)
		if err != nil || len(hs) >= len(gs) {
			t.Errorf("N = %d: %d guarantees at half the rounds, %d at enough (%v)", s.n, len(hs), len(gs), err)
		}
	}
}

// Every guarantee meets the conditions of Theorem Main as package closedform
// checks them.
func TestGuaranteesMeetTheoremMain(t *testing.T) {
	for _, s := range settings[:2] {
		p, target := paper(s.n, s.k, s.sigma)
		for _, from := range []float64{target, 0.2, 0.4} {
			gs, err := p.ForAllRounds(from, 40)
			if err != nil || len(gs) == 0 {
				t.Fatalf("%d guarantees, %v", len(gs), err)
			}
			rounds, err := p.RoundsFor(from)
			if err != nil {
				t.Fatal(err)
			}
			for _, g := range gs {
				if g.Epsilon < from {
					t.Errorf("ε = %v is below the target %v", g.Epsilon, from)
				}
				cs, err := closedform.Conditions(closedform.Corrected, closedform.Setting{
					N: s.n, Rounds: rounds, Computed: p.K, MaxSize: p.K / rounds, Sigma: s.sigma, Epsilon: g.Epsilon,
					Delta: g.Delta,
				})
				if err != nil {
					t.Fatal(err)
				}
				for _, c := range cs {
					if c.Theorem == closedform.SimpleF && !c.Met || c.Theorem == closedform.Main && !c.Met &&
						c.Name != "minK" {
						t.Errorf("N = %d, ε = %v, δ = %v, T = %v: %+v", s.n, g.Epsilon, g.Delta, rounds, c)
					}
				}
			}
		}
	}
}

// Where k < εσe/γ, as the corrected (minK) has it, ε is left out.
func TestTooFewEpochs(t *testing.T) {
	p, target := paper(10000, 1, 19.29962)
	gs, err := p.ForAllRounds(target, 100)
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range gs {
		gamma, err := closedform.GammaAt(closedform.Corrected, p.Sigma, g.Epsilon)
		if err != nil || 1 < math.Sqrt(2*g.Epsilon*(g.Epsilon-math.Log(g.Delta)))*math.E/gamma*(1-1e-9) {
			t.Errorf("ε = %v: k = 1 is too small at γ = %v (%v)", g.Epsilon, gamma, err)
		}
	}
	if len(gs) == 0 || len(gs) == 100 {
		t.Errorf("%d of 100 guarantees", len(gs))
	}
}

func TestPaperRefusesBadArguments(t *testing.T) {
	bad := Paper{N: 1, K: 0, Sigma: 1.4}
	for _, n := range []int{0, MaxGuarantees + 1, math.MaxInt} {
		want := fmt.Sprintf("number of guarantees = %d, must be in [1, %d]", n, MaxGuarantees)
		for _, err := range []error{second(bad.AtRounds(1, n)), second(bad.ForAllRounds(0.1, n))} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("error %v, want one with %q", err, want)
			}
		}
	}
	for name, err := range map[string]error{
		"rounds":    second(bad.AtRounds(math.Inf(1), 0)),
		"target":    second(bad.ForAllRounds(math.NaN(), 0)),
		"roundsFor": second(bad.RoundsFor(0)),
	} {
		joined, ok := err.(interface{ Unwrap() []error })
		if !ok || len(joined.Unwrap()) < 2 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func second[T any](_ T, err error) error { return err }
