package plan

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"proactivedp/dp"
	"proactivedp/dp/closedform"
	"proactivedp/dp/pld"
	"proactivedp/dp/rdp"
	"proactivedp/internal/testkit"
)

// The ε of a filter compared with that of composition of fixed rounds, as docs/planning.md states it. The
// rounds are random (ε 0.1 to 8, δ 1e-8 to 1e-4, σ 0.7 to 20, q 0.001 to 0.1), and as many as the filter
// lets through, if that is 50 to 1e7. The filter's ε is never below what pld certifies. Only long sweeps
// compare the page's numbers.
func TestWhatAFilterCosts(t *testing.T) {
	r := rand.New(rand.NewPCG(99, 1))
	var epsilons, rounds, sigmas, closed, halved, several []float64
	kinds := 40
	if testkit.Sweeps(t) > 1 {
		kinds = 200 // as many as the page is made of
	}
	for range kinds {
		eps, delta := logUniform(r, 0.1, 8), logUniform(r, 1e-8, 1e-4)
		e := dp.Event{Sampling: dp.Poisson, Adjacency: dp.AddOrRemove, NoiseMultiplier: logUniform(r, 0.7, 20),
			Rate: logUniform(r, 1e-3, 0.1), Count: 1}
		order := func(e dp.Event) float64 {
			best, err := rdp.PlannedOrder(t.Context(), eps, delta, []dp.Event{e})
			if err != nil {
				t.Fatal(err)
			}
			return best
		}
		through := func(e dp.Event, orders ...float64) float64 {
			f, err := rdp.NewFilter(rdp.Limits{Epsilon: eps, Delta: delta, Orders: orders})
			if err != nil {
				return 0
			}
			n, err := f.Remaining(t.Context(), e)
			if err != nil {
				t.Fatal(err)
			}
			return float64(n)
		}
		first := order(e)
		n := through(e, first)
		if n < 50 || n > 1e7 {
			continue
		}
		e.Count = int(n)
		b, err := pld.Accountant{}.Epsilon(t.Context(), []dp.Event{e}, delta)
		if err != nil || !(b.EpsilonLower <= eps) {
			t.Fatalf("%+v: %+v, filter %v; %v", e, b, eps, err)
		}
		epsilons = append(epsilons, eps/b.EpsilonUpper)
		if b, err := (closedform.MomentAccountant{}).Epsilon(t.Context(), []dp.Event{e}, delta); err == nil {
			closed = append(closed, b.EpsilonUpper/eps)
		}
		target := Target{Epsilon: eps, Delta: delta, SampleRate: e.Rate}
		calibrate := func(sigma float64, steps int) *Calibration {
			target.Sigma, target.Steps = sigma, steps
			c, err := Calibrate(t.Context(), natural(target), pld.Accountant{})
			if err != nil {
				t.Fatalf("%+v: %v", target, err)
			}
			return c
		}
		rounds = append(rounds, n/float64(calibrate(e.NoiseMultiplier, 0).Steps))
		sigmas = append(sigmas, e.NoiseMultiplier/calibrate(0, e.Count).Sigma)

		// Had one planned for this, and then gone on at half the noise.
		half := e
		half.NoiseMultiplier /= 2
		if half.NoiseMultiplier < 0.5 {
			continue
		}
		best := through(half, order(half))
		if best < 50 {
			continue
		}
		halved = append(halved, through(half, first)/best)
		several = append(several, through(half, first, 1.4*first, 1+0.7*(first-1))/best)
	}
	if kinds < 200 {
		return
	}
	for _, tt := range []struct {
		name        string
		values      []float64
		quantiles   [3]float64 // the tenth, the middle and the ninth of ten, as the page has them
		least, most float64
	}{
		{"ε over what pld certifies", epsilons, [3]float64{1.06, 1.08, 1.12}, 1.05, 3.0},
		{"σ over what pld asks for", sigmas, [3]float64{1.05, 1.07, 1.10}, 1.03, 1.7},
		{"rounds of those that pld allows", rounds, [3]float64{0.80, 0.86, 0.89}, 0.11, 0.91},
		{"ε of closed-form-moments over it", closed, [3]float64{1.7, 2.1, 22}, 1.6, 5500},
		{"rounds at σ/2 of those at their own order", halved, [3]float64{0.04, 1, 1}, 0, 1},
		{"the same, at three orders", several, [3]float64{0.70, 0.89, 0.93}, 0, 0.94},
	} {
		v := tt.values
		slices.Sort(v)
		if len(v) < 90 {
			t.Errorf("%s: of %d kinds of rounds only", tt.name, len(v))
			continue
		}
		same := func(got, want float64) bool { return math.Abs(got-want) <= 0.03*want+0.005 }
		for i, at := range [3]int{len(v) / 10, len(v) / 2, len(v) * 9 / 10} {
			if !same(v[at], tt.quantiles[i]) {
				t.Errorf("%s: %.4g, the page has %v", tt.name, v[at], tt.quantiles[i])
			}
		}
		if !same(v[0], tt.least) || !same(v[len(v)-1], tt.most) {
			t.Errorf("%s: from %.4g to %.4g, the page has %v to %v", tt.name, v[0], v[len(v)-1], tt.least, tt.most)
		}
	}
}
