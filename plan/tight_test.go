package plan

import (
	"context"
	"encoding/json"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"proactivedp/dp"
	"proactivedp/dp/gdp"
	"proactivedp/dp/pld"
	"proactivedp/dp/rdp"
)

// The paper's three settings: at the same σ, k and ε a tight accountant allows
// s up to 365, 3549 and 7073 under add-or-remove and 92, 908 and 1880 under
// replace-one, and at the closed form's s σ = 5.67, 4.20 and 2.34 (at s = 31,
// 414 and 811), by an independent PLD accountant (connect-the-dots).
func TestTightenPaperSettings(t *testing.T) {
	for _, tt := range []struct {
		n               int
		k, sigma        float64
		remove, replace int
		least           float64
	}{
		{10000, 5, 19.29962, 361, 91, 5.67},
		{60000, 6, 12.10881, 3514, 905, 4.20},
		{50000, 7, 6.572, 6936, 1870, 2.34},
	} {
		p := solve(t, Request{Method: ClosedForm, N: tt.n, Delta: 1 / float64(tt.n), Epochs: tt.k, Sigma: tt.sigma})
		if err := p.Tighten(t.Context(), pld.Accountant{Accuracy: 1e-4}); err != nil {
			t.Fatal(err)
		}
		k := int(tt.k) * tt.n
		for _, c := range []struct {
			what dp.Adjacency
			got  Allowed
			size int
		}{{dp.AddOrRemove, p.Tight.AddOrRemove, tt.remove}, {dp.ReplaceOne, p.Tight.ReplaceOne, tt.replace}} {
			s := c.got.LargestSample
			if s == nil || s.SampleSize > c.size || s.SampleSize < c.size-1-c.size/3000 || s.Rounds != roundsOf(k, s.SampleSize) ||
				s.Sigma != p.Sigma || s.EpsilonUpper > p.Epsilon {
				t.Errorf("N = %d, %s: s up to %+v, want %d", tt.n, c.what, s, c.size)
			}
			l := c.got.LeastNoise
			if l == nil || c.what == dp.AddOrRemove && math.Abs(l.Sigma/tt.least-1) > 0.006 ||
				l.SampleSize != p.Run.SampleSize || l.Rounds != p.Run.Rounds || l.EpsilonUpper > p.Epsilon {
				t.Errorf("N = %d, %s: least σ %+v, want %v", tt.n, c.what, l, tt.least)
			}
			if b := c.got.Run; b == nil || b.Adjacency != c.what || b.Kind != dp.Interval ||
				!(b.EpsilonUpper < p.Epsilon) {
				t.Errorf("N = %d, %s: the run costs %+v", tt.n, c.what, b)
			}
		}
		if a, r := p.Tight.AddOrRemove.LeastNoise.Sigma, p.Tight.ReplaceOne.LeastNoise.Sigma; !(r > 1.8*a && r < 2*a) {
			t.Errorf("N = %d: least σ %v under replace-one, %v under add-or-remove", tt.n, r, a)
		}
		var b strings.Builder
		if err := p.WriteText(&b); err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"accountant pld", "ε of the run", "largest s, same σ and k",
			"least σ, same s and T"} {
			if !strings.Contains(b.String(), want) {
				t.Errorf("no %q in\n%s", want, b.String())
			}
		}
		for _, want := range []string{`"tight":{"accountant":"pld","add_or_remove":{"run":{`,
			`"largest_sample":{"sigma":`, `"least_noise":{"sigma":`, `"replace_one":{"run":{`} {
			if !strings.Contains(string(text), want) {
				t.Errorf("no %s in %s", want, text)
			}
		}
	}
}

// Theorem simpleF with the corrected γ is never below a tight accountant under
// add-or-remove adjacency.
func TestClosedFormIsAboveTight(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 1))
	feasible := 0
	for range 40 {
		p := solve(t, Request{Method: ClosedForm, N: int(logUniform(r, 1e4, 1e6)), Epochs: logUniform(r, 2, 100),
			Epsilon: logUniform(r, 0.05, 2)})
		if !p.Feasible {
			continue
		}
		feasible++
		if err := p.Tighten(t.Context(), pld.Accountant{Accuracy: 1e-2}); err != nil {
			t.Fatal(err)
		}
		a := p.Tight.AddOrRemove
		if a.Run == nil || a.Run.EpsilonUpper > p.Epsilon/1.8 || a.LargestSample.SampleSize < p.SMax ||
			a.LeastNoise.Sigma > p.Sigma {
			t.Errorf("%+v: %+v", p, p.Tight)
		}
	}
	if feasible < 20 {
		t.Errorf("%d feasible", feasible)
	}
}

// Every size up to the largest is within the budget, and the next is not.
func TestLargestSampleIsTheFirstCrossing(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 2))
	several := 0
	for range 25 {
		p := &Plan{
			N: int(logUniform(r, 100, 3000)), Theta: 1, Delta: 1e-5, Epsilon: logUniform(r, 0.5,
				5), Sigma: logUniform(r, 1, 20),
			Adjacency: dp.AddOrRemove, Sampling: dp.Poisson,
		}
		acc := clt{}
		k := int(logUniform(r, 1, 20) * float64(p.N))
		c := p.under(t.Context(), acc, dp.AddOrRemove)
		s, err := c.sizeFor(t.Context(), p.Sigma, k)
		if err != nil {
			t.Fatal(err)
		}
		within := func(s int) bool {
			b, err := c.price(p.Sigma, s, roundsOf(k, s))
			return err == nil && b.EpsilonUpper <= p.Epsilon
		}
		first, later := 0, 0
		for s := 1; s <= min(k, p.N); s++ {
			if !within(s) && first == 0 {
				first = s
			} else if first > 0 && within(s) {
				later++
			}
		}
		want := first - 1
		if first == 0 {
			want = min(k, p.N)
		}
		if later > 0 {
			several++
		}
		if got := int(s.value); s.met != (want >= 1) || s.met && got != want {
			t.Errorf("N = %d, K = %d, σ = %v, ε = %v: s = %d, want %d", p.N, k, p.Sigma, p.Epsilon, got, want)
		}
	}
	if several == 0 {
		t.Error("ε was monotone in s everywhere: not the variety wanted")
	}
}

// If rounds are few, a smaller batch size may cost more. So nothing is promised about the sizes below the
// largest.
func TestASmallerSampleMayCostMore(t *testing.T) {
	r := Request{N: 89, Epochs: 0.67, Sigma: 1.47, Epsilon: 3.52, Delta: 1e-5, Method: RDP}
	p := solve(t, r)
	if !p.Feasible || p.Run.SampleSize != 60 || p.Run.Rounds != 1 {
		t.Fatalf("%+v, %+v", p, p.Run)
	}
	r.Epsilon, r.SampleSize = 0, 59
	if smaller := solve(t, r); smaller.Run.Rounds != 2 || smaller.Epsilon <= p.TargetEpsilon {
		t.Errorf("%+v, %+v", smaller, smaller.Run)
	}
}

// clt stands for an accountant with an upper bound, in closed form: the central
// limit of Poisson sampling.
type clt struct{ dp.Accountant }

func (clt) Name() string { return "clt" }

func (clt) Epsilon(ctx context.Context, events []dp.Event, delta float64) (dp.Bound, error) {
	e := events[0]
	mu, err := gdp.MuPoisson(e.SampleRate(), e.NoiseMultiplier, float64(e.Count))
	if err != nil {
		return dp.Bound{}, err
	}
	eps, err := gdp.Epsilon(mu, delta)
	return dp.Bound{Epsilon: eps, EpsilonUpper: eps, Kind: dp.Upper}, err
}

// If the accountant has no answer, the field is nil and the reason is given.
func TestTightenWithoutAnAnswer(t *testing.T) {
	p := solve(t, Request{Method: ClosedForm, N: 10000, Epochs: 5, Epsilon: 1, Delta: 1e-290})
	if err := p.Tighten(t.Context(), pld.Accountant{}); err != nil || p.Tight == nil ||
		p.Tight.AddOrRemove.Run != nil || !strings.HasPrefix(p.Tight.AddOrRemove.Reason, "delta") {
		t.Errorf("%+v, %v", p.Tight, err)
	}
	nothing := solve(t, Request{Method: ClosedForm, N: 10, Epochs: 0.05, Sigma: 10, Delta: 0.1})
	if err := nothing.Tighten(t.Context(), pld.Accountant{}); err != nil || nothing.Tight != nil {
		t.Errorf("%+v, %v", nothing.Tight, err)
	}
	// No run by the closed form, but by a tight accountant.
	none := solve(t, Request{Method: ClosedForm, N: 100, Delta: 0.01, Epochs: 5, Epsilon: 0.05})
	if err := none.Tighten(t.Context(), rdp.Accountant{}); err != nil || none.Feasible ||
		none.Tight.AddOrRemove.LargestSample == nil || none.Tight.AddOrRemove.Run != nil {
		t.Errorf("%+v, %v", none.Tight, err)
	}
}
