package plan

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"proactivedp/dp"
	"proactivedp/dp/closedform"
	"proactivedp/dp/pld"
	"proactivedp/dp/rdp"
)

// For equal rounds, LeastNoise returns the same σ as Calibrate.
func TestLeastNoiseIsThatOfCalibrate(t *testing.T) {
	for _, acc := range []dp.Accountant{pld.Accountant{}, rdp.Accountant{}} {
		for _, adjacency := range []dp.Adjacency{dp.AddOrRemove, dp.ReplaceOne} {
			target := Target{Epsilon: 0.7, Delta: 1e-5, SampleRate: 0.01, Steps: 700, Adjacency: adjacency}
			want, err := Calibrate(t.Context(), natural(target), acc)
			if err != nil {
				t.Fatal(err)
			}
			e := want.Event()
			e.NoiseMultiplier = 0 // is not looked at
			sigma, b, err := LeastNoise(t.Context(), []dp.Event{e}, target.Epsilon, target.Delta, acc)
			if err != nil || math.Abs(sigma/want.Sigma-1) > 2e-4 || !(b.EpsilonUpper <= target.Epsilon) {
				t.Errorf("%s, %s: σ = %v, %v; want %v", acc.Name(), adjacency, sigma, err, want.Sigma)
			}
		}
	}
}

// Rounds of several sizes get one σ, with which they are together within the budget. With slightly less
// noise they are not.
func TestLeastNoiseOfManySizes(t *testing.T) {
	var events []dp.Event
	for _, size := range []int{10, 100, 400} {
		events = append(events, dp.Event{Sampling: dp.Poisson, Adjacency: dp.AddOrRemove, SampleSize: size,
			DatasetSize: 10_000, Count: 50 * size})
	}
	events = append(events, dp.Event{Other: dp.GaussianNoise, Sampling: dp.Unsampled, Adjacency: dp.AddOrRemove,
		NoiseMultiplier: 300, Count: 1}) // a release whose noise stays as it is
	const delta = 1e-6
	for _, epsilon := range []float64{0.03, 1, 12} {
		sigma, b, err := LeastNoise(t.Context(), events, epsilon, delta, pld.Accountant{})
		if err != nil {
			t.Fatal(err)
		}
		cost := func(sigma float64) float64 {
			for i := range 3 {
				events[i].NoiseMultiplier = sigma
			}
			b, err := pld.Accountant{}.Epsilon(t.Context(), events, delta)
			if err != nil {
				t.Fatal(err)
			}
			return b.EpsilonUpper
		}
		if got := cost(sigma); got != b.EpsilonUpper || got > epsilon {
			t.Errorf("σ = %v costs ε = %v, said to cost %v of %v", sigma, got, b.EpsilonUpper, epsilon)
		}
		if got := cost(sigma * 0.998); got <= epsilon {
			t.Errorf("0.998 of σ = %v costs ε = %v, within %v: it is not the least", sigma, got, epsilon)
		}
	}
}

func TestNoNoiseIsEnough(t *testing.T) {
	e := dp.Event{Sampling: dp.Poisson, Adjacency: dp.AddOrRemove, Rate: 1, Count: 1_000_000_000}
	_, _, err := LeastNoise(t.Context(), []dp.Event{e}, 1e-8, 1e-12, pld.Accountant{})
	if infeasible := new(Infeasible); !errors.As(err, &infeasible) || infeasible.SolvedFor != "sigma" {
		t.Errorf("error %v, want Infeasible", err)
	}
	e.Adjacency = dp.ReplaceOne
	if _, _, err := LeastNoise(t.Context(), []dp.Event{e}, 1, 1e-5, closedform.Accountant{}); !errors.Is(err,
		dp.ErrNotCovered) {
		t.Errorf("error %v, want ErrNotCovered", err)
	}
	for _, bad := range []struct {
		events         []dp.Event
		epsilon, delta float64
	}{{nil, 1, 1e-5}, {[]dp.Event{e}, 0, 1e-5}, {[]dp.Event{e}, 1, 1}, {[]dp.Event{e}, math.NaN(), 1e-5},
		{[]dp.Event{{}}, 1, 1e-5}} {
		if sigma, _, err := LeastNoise(t.Context(), bad.events, bad.epsilon, bad.delta, pld.Accountant{}); err == nil {
			t.Errorf("%+v: σ = %v, want an error", bad, sigma)
		}
	}
	e.Adjacency = dp.AddOrRemove
	_, _, err = LeastNoise(t.Context(), []dp.Event{e, {}}, 1, 1e-5, pld.Accountant{})
	if err == nil || !strings.Contains(err.Error(), "event 1: ") || strings.Contains(err.Error(), "event 0: ") {
		t.Errorf("error %v, want that of event 1", err)
	}
}

// The search for the least noise starts at a value for the adjacency: under replace-one, twice as large.
// Otherwise it would ask the accountant more often.
func TestLeastNoiseBeginsAtTheAdjacency(t *testing.T) {
	asked := map[dp.Adjacency]float64{}
	for _, adjacency := range []dp.Adjacency{dp.AddOrRemove, dp.ReplaceOne} {
		e := dp.Event{Sampling: dp.Poisson, Adjacency: adjacency, Rate: 1, Count: 100}
		acc := &firstNoise{}
		if _, _, err := LeastNoise(t.Context(), []dp.Event{e}, 1, 1e-5, acc); err != nil {
			t.Fatal(err)
		}
		asked[adjacency] = acc.sigma
	}
	if ratio := asked[dp.ReplaceOne] / asked[dp.AddOrRemove]; math.Abs(ratio-2) > 1e-6 {
		t.Errorf("the search begins at σ = %v, a ratio of %v, must be 2", asked, ratio)
	}
}

// firstNoise remembers the first noise multiplier that it is asked about.
type firstNoise struct {
	rdp.Accountant
	sigma float64
}

func (f *firstNoise) Epsilon(ctx context.Context, events []dp.Event, delta float64) (dp.Bound, error) {
	if f.sigma == 0 {
		f.sigma = events[0].NoiseMultiplier
	}
	return f.Accountant.Epsilon(ctx, events, delta)
}
