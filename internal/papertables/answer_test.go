package papertables

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"proactivedp/dp"
	"proactivedp/internal/paper"
)

// simple is an accountant that can be searched by hand: ε = q√T/σ.
type simple struct{ dp.Accountant }

func (simple) Epsilon(ctx context.Context, events []dp.Event, delta float64) (dp.Bound, error) {
	e := events[0]
	eps := e.SampleRate() * math.Sqrt(float64(e.Count)) / e.NoiseMultiplier
	return dp.Bound{Epsilon: eps, EpsilonUpper: eps}, nil
}

// The searches find the same results as trying every batch size and every σ.
func TestSearches(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 1))
	for range 300 {
		p := paper.Case{N: 10 + r.IntN(500)}
		p.GradComps = 1 + r.IntN(20*p.N)
		a := auditor{t.Context(), p, simple{}}
		sigma := math.Exp(2 * r.NormFloat64())
		eps := math.Exp(r.NormFloat64()-2) / sigma
		want := 0
		for s := 1; s <= min(p.N, p.GradComps); s++ {
			if ok, _ := a.fits(dp.AddOrRemove, sigma, s, eps); !ok {
				break
			}
			want = s
		}
		got, err := a.largestSize(dp.AddOrRemove, sigma, eps)
		if err != nil || got != want {
			t.Fatalf("N = %d, K = %d, σ = %v, ε = %v: s = %d, %v, want %d", p.N, p.GradComps, sigma, eps, got, err,
				want)
		}
		s := 1 + r.IntN(min(p.N, p.GradComps))
		text, err := a.leastSigma(dp.AddOrRemove, s, eps)
		if err != nil {
			t.Fatal(err)
		}
		if text == "above 1000" {
			continue
		}
		least := num(t, text)
		enough, _ := a.fits(dp.AddOrRemove, least, s, eps)
		less, _ := a.fits(dp.AddOrRemove, least-0.001, s, eps)
		if !enough || less && least > 0.001 {
			t.Fatalf("s = %d, ε = %v: σ = %s is enough: %v; a thousandth less is: %v", s, eps, text, enough, less)
		}
	}
}
