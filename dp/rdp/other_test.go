package rdp

import (
	"errors"
	"math"
	"testing"

	"proactivedp/dp"
	"proactivedp/dp/pld"
)

// The divergences of Laplace noise and of randomized response are those of their definition, D = log(E_Q[R^α])/(α-1),
// where that can be computed: for randomized response a sum of two terms, and for Laplace noise of scale 1/ε the integral of
// Mironov 2017, Proposition 6. At small ε, both are close to their first term, αε²/2.
func TestDivergencesOfOtherReleases(t *testing.T) {
	for _, eps := range []float64{1e-5, 1e-3, 0.02, 0.5, 1, 3, 40} {
		for _, a := range []float64{1e-6, 0.01, 0.5, 1, 7, 100, 1e6} {
			alpha := 1 + a
			p := 1 / (1 + math.Exp(-eps))
			ofResponse := math.Log(p*math.Exp(a*eps)+(1-p)*math.Exp(-a*eps)) / a
			ofLaplace := math.Log(alpha/(2*alpha-1)*math.Exp(a*eps)+a/(2*alpha-1)*math.Exp(-alpha*eps)) / a
			first := 0.0 // the relative error of the first term
			if a*eps > 700 {
				ofResponse, ofLaplace = eps+math.Log(p)/a, eps+math.Log(alpha/(2*alpha-1))/a
			} else if alpha*eps < 1e-3 {
				first = alpha * eps
				ofResponse, ofLaplace = alpha*eps*eps/2, alpha*eps*eps/2
			}
			for shape, want := range map[shape]float64{response: ofResponse, laplace: ofLaplace} {
				got := pair{shape, 1, 1 / eps}.divergence(a)
				if !(math.Abs(got-want) <= (first+1e-9)*want+1e-13/a) || !(got <= eps*(1+1e-12)) {
					t.Errorf("ε = %v, α - 1 = %v, shape %d: %v, want %v", eps, a, shape, got, want)
				}
			}
		}
	}
}

// Rounds and other releases are bounded as Rényi divergences add up: above the certified lower end of pld, and ρ-zCDP with
// ρ = 1/(2σ²) costs what Gaussian noise with σ does, also without rounds. The δ of approximate releases is spent.
func TestOtherReleasesCompose(t *testing.T) {
	rounds := dp.Event{Sampling: dp.Poisson, Adjacency: dp.AddOrRemove, NoiseMultiplier: 1.1, Rate: 0.01, Count: 500}
	other := dp.Event{Sampling: dp.Unsampled, Adjacency: dp.AddOrRemove, Count: 2}
	with := func(change func(*dp.Event)) dp.Event {
		e := other
		change(&e)
		return e
	}
	gaussian := with(func(e *dp.Event) { e.Other, e.NoiseMultiplier = dp.GaussianNoise, 5 })
	concentrated := with(func(e *dp.Event) { e.Other, e.Rho = dp.ConcentratedDP, 0.02 })
	cost := func(acc dp.Accountant, events ...dp.Event) dp.Bound {
		t.Helper()
		b, err := acc.Epsilon(t.Context(), events, 1e-5)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	alone := cost(Accountant{}, rounds).Epsilon
	for _, e := range []dp.Event{
		gaussian,
		with(func(e *dp.Event) { e.Other, e.NoiseMultiplier = dp.LaplaceNoise, 10 }),
		with(func(e *dp.Event) { e.Other, e.NoiseMultiplier = dp.LaplaceNoise, 0.5 }),
		with(func(e *dp.Event) { e.Other, e.Epsilon = dp.PureDP, 0.3 }),
	} {
		upper, tight := cost(Accountant{}, rounds, e), cost(pld.Accountant{}, rounds, e)
		if !(upper.Epsilon >= tight.EpsilonLower && upper.Epsilon > alone) || upper.Sampling != dp.Poisson {
			t.Errorf("%s: ε ≤ %v, alone %v, pld has [%v, %v]", e.Other, upper.Epsilon, alone, tight.EpsilonLower, tight.EpsilonUpper)
		}
		if got := cost(Accountant{}, e, rounds).Epsilon; got != upper.Epsilon {
			t.Errorf("%s first: %v, last: %v", e.Other, got, upper.Epsilon)
		}
	}
	if a, b := cost(Accountant{}, rounds, gaussian).Epsilon, cost(Accountant{}, rounds, concentrated).Epsilon; !(math.Abs(a-b) <= 1e-12*a) {
		t.Errorf("Gaussian noise: ε ≤ %v, ρ-zCDP: %v", a, b)
	}
	// δ at ε = 0 is the total variation distance, which Pinsker's inequality bounds for ρ-zCDP: √(ρ/2) for each release.
	small := rounds
	small.Count, small.Rate = 1, 1e-9
	b, err := Accountant{}.Delta(t.Context(), []dp.Event{small, concentrated}, 0)
	if want := 1 - (1-0.1)*(1-0.1); err != nil || !(b.Delta <= want+1e-8) {
		t.Errorf("δ at ε = 0: %v, must be at most %v: %v", b.Delta, want, err)
	}
	if a, b := cost(Accountant{}, gaussian).Epsilon, cost(Accountant{}, concentrated); !(math.Abs(a-b.Epsilon) <= 1e-12*a) ||
		b.Sampling != dp.Unsampled {
		t.Errorf("Gaussian noise: ε ≤ %v, ρ-zCDP: %+v", a, b)
	}
	pure := with(func(e *dp.Event) { e.Other, e.Epsilon = dp.PureDP, 0.3 })
	spending := with(func(e *dp.Event) { e.Other, e.Epsilon, e.Delta = dp.ApproximateDP, 0.3, 1e-6 })
	for _, events := range [][]dp.Event{{rounds}, {concentrated}, {rounds, concentrated}} {
		a, err := Accountant{}.Epsilon(t.Context(), append(events, pure), 8e-6)
		b := cost(Accountant{}, append(events, spending)...)
		if err != nil || !(math.Abs(a.Epsilon-b.Epsilon) <= 1e-6*a.Epsilon) || !(b.Epsilon >= a.Epsilon) {
			t.Errorf("%+v with 2 of (0.3, 1e-6): %v, with 2 of (0.3, 0) at less δ: %v, %v", events, b.Epsilon, a.Epsilon, err)
		}
		d, err := Accountant{}.Delta(t.Context(), append(events, spending), b.Epsilon)
		if err != nil || !(math.Abs(d.Delta-1e-5) <= 1e-9) {
			t.Errorf("%+v: δ = %v at the ε of 1e-5, %v", events, d.Delta, err)
		}
	}
	for _, events := range [][]dp.Event{
		{concentrated, with(func(e *dp.Event) { e.Other, e.Epsilon, e.Delta = dp.ApproximateDP, 1, 5e-6 })},
		{concentrated, with(func(e *dp.Event) { e.Other, e.Epsilon, e.Adjacency = dp.PureDP, 1, dp.ReplaceOne })},
		{rounds, with(func(e *dp.Event) { e.Other, e.Epsilon, e.Adjacency = dp.RandomizedResponse, 1, dp.ReplaceOne })},
	} {
		if _, err := (Accountant{}).Epsilon(t.Context(), events, 1e-5); !errors.Is(err, dp.ErrNotCovered) {
			t.Errorf("%+v: %v", events, err)
		}
	}
}

// A filter lets rounds and other releases through in any order, and its guarantee names the sampling of the rounds.
func TestFilterOfOtherReleases(t *testing.T) {
	rounds := dp.Event{Sampling: dp.Poisson, Adjacency: dp.AddOrRemove, NoiseMultiplier: 1.1, Rate: 0.01, Count: 10}
	laplace := dp.Event{Other: dp.LaplaceNoise, Sampling: dp.Unsampled, Adjacency: dp.AddOrRemove, NoiseMultiplier: 20, Count: 1}
	spent := -1.0
	for _, orders := range [][][]dp.Event{{{laplace}, {rounds}}, {{rounds}, {laplace}}, {{laplace, rounds}}, {{laplace}, {laplace}, {rounds}}} {
		f, err := NewFilter(Limits{Epsilon: 3, Delta: 1e-5, Orders: []float64{8}})
		if err != nil {
			t.Fatal(err)
		}
		for _, events := range orders {
			if err := f.Spend(t.Context(), events); err != nil {
				t.Errorf("%d spends: %v", len(orders), err)
			}
		}
		if g := f.Guarantee(); g.Sampling != dp.Poisson || g.Adjacency != dp.AddOrRemove {
			t.Errorf("%+v", g)
		}
		if used := f.Used(); len(orders) < 3 && spent >= 0 && math.Abs(used-spent) > 1e-12 {
			t.Errorf("%v is used, in another order %v", used, spent)
		} else {
			spent = used
		}
		fixed := rounds
		fixed.Sampling, fixed.Adjacency = dp.FixedSize, dp.ReplaceOne
		if err := f.Spend(t.Context(), []dp.Event{fixed}); !errors.Is(err, dp.ErrNotCovered) {
			t.Errorf("other rounds: %v", err)
		}
	}
}
