package gdp

import (
	"errors"
	"math"
	"strings"
	"testing"

	"proactivedp/dp"
)

func event(s dp.Sampling, a dp.Adjacency, q, sigma float64, count int) dp.Event {
	return dp.Event{Sampling: s, Adjacency: a, NoiseMultiplier: sigma, Rate: q, Count: count}
}

// The μ of a release, read from its δ at ε = 0, erf(μ/√8).
func TestComposition(t *testing.T) {
	p, f, aor, ro := dp.Poisson, dp.FixedSize, dp.AddOrRemove, dp.ReplaceOne
	poisson := must(t)(MuPoisson(0.01, 2, 100))
	uniform := must(t)(MuUniform(0.01, 1, 100))
	for _, c := range []struct {
		name   string
		events []dp.Event
		mu     float64
		kind   dp.Kind
	}{
		{"one full round", []dp.Event{event(p, aor, 1, 2, 1)}, 0.5, dp.Exact},
		{"all of N", []dp.Event{{Sampling: p, Adjacency: aor, NoiseMultiplier: 2, SampleSize: 7, DatasetSize: 7,
			Count: 1}}, 0.5, dp.Exact},
		{"16 rounds", []dp.Event{event(p, aor, 1, 8, 16)}, 0.5, dp.Exact},
		{"√(0.3² + 0.4²)", []dp.Event{event(p, aor, 1, 1/0.3, 1), event(p, aor, 1, 5, 4)}, 0.5, dp.Exact},
		{"replaced: 2C", []dp.Event{event(p, ro, 1, 4, 1)}, 0.5, dp.Exact},
		{"fixed size, replaced", []dp.Event{event(f, ro, 1, 8, 4)}, 0.5, dp.Exact},
		{"Poisson", []dp.Event{event(p, aor, 0.01, 2, 100)}, poisson, dp.Approximation},
		{"fixed size: half the noise", []dp.Event{event(f, ro, 0.01, 2, 100)}, uniform, dp.Approximation},
		{"sampled and full", []dp.Event{event(p, aor, 1, 2, 1), event(p, aor, 0.01, 2, 100)}, math.Hypot(0.5, poisson),
			dp.Approximation},
	} {
		b, err := Accountant{}.Delta(t.Context(), c.events, 0)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if want := math.Erf(c.mu / math.Sqrt(8)); math.Abs(b.Delta/want-1) > 1e-12 {
			t.Errorf("%s: δ(0) = %v, want %v", c.name, b.Delta, want)
		}
		eps, err := Accountant{}.Epsilon(t.Context(), c.events, 1e-5)
		if want := must(t)(Epsilon(c.mu, 1e-5)); err != nil || math.Abs(eps.Epsilon/want-1) > 1e-12 {
			t.Errorf("%s: ε = %v, %v, want %v", c.name, eps.Epsilon, err, want)
		}
		if b.Kind != c.kind || eps.Kind != c.kind {
			t.Errorf("%s: kinds %s and %s, want %s", c.name, b.Kind, eps.Kind, c.kind)
		}
	}
}

// What a Bound must say, whole.
func TestBounds(t *testing.T) {
	inf := math.Inf(1)
	full, sampled := event(dp.FixedSize, dp.ReplaceOne, 1, 2, 1), event(dp.Poisson, dp.AddOrRemove, 0.1, 2, 1)
	for _, c := range []struct {
		event dp.Event
		mu    float64
	}{{full, 1}, {sampled, must(t)(MuPoisson(0.1, 2, 1))}} {
		eps, delta := must(t)(Epsilon(c.mu, 1e-6)), Delta(c.mu, 0.5)
		wantE := dp.Bound{EpsilonLower: eps, Epsilon: eps, EpsilonUpper: eps, DeltaLower: 1e-6, Delta: 1e-6,
			DeltaUpper: 1e-6,
			Kind:       dp.Exact, Accountant: "gdp", Adjacency: c.event.Adjacency, Sampling: c.event.Sampling}
		wantD := wantE
		wantD.EpsilonLower, wantD.Epsilon, wantD.EpsilonUpper = 0.5, 0.5, 0.5
		wantD.DeltaLower, wantD.Delta, wantD.DeltaUpper = delta, delta, delta
		if c.event == sampled {
			wantE.Kind, wantE.EpsilonLower, wantE.EpsilonUpper = dp.Approximation, 0, inf
			wantD.Kind, wantD.DeltaLower, wantD.DeltaUpper = dp.Approximation, 0, inf
		}
		if b, err := (Accountant{}).Epsilon(t.Context(), []dp.Event{c.event}, 1e-6); err != nil || b != wantE {
			t.Errorf("%+v, %v, want %+v", b, err, wantE)
		}
		if b, err := (Accountant{}).Delta(t.Context(), []dp.Event{c.event}, 0.5); err != nil || b != wantD {
			t.Errorf("%+v, %v, want %+v", b, err, wantD)
		}
	}
}

func TestNotCovered(t *testing.T) {
	p, f, aor, ro := dp.Poisson, dp.FixedSize, dp.AddOrRemove, dp.ReplaceOne
	for _, c := range []struct {
		events []dp.Event
		delta  float64
		why    string
	}{
		{nil, 0.1, "no events"},
		{[]dp.Event{event(f, aor, 0.5, 1, 1)}, 0.1, "reveals N"},
		{[]dp.Event{event(f, aor, 1, 1, 1)}, 0.1, "reveals N"},
		{[]dp.Event{event(p, ro, 0.5, 1, 1)}, 0.1, "must be poisson under add-or-remove"},
		{[]dp.Event{event(p, aor, 1, 0, 1)}, 0.1, "without noise"},
		{[]dp.Event{event(p, aor, 0.5, 0, 1)}, 0.1, "without noise"},
		{[]dp.Event{event(p, aor, 0.5, 0.03, 1)}, 0.1, "noise multiplier = 0.03"},
		{[]dp.Event{event(f, ro, 0.5, 0.06, 1)}, 0.1, "at half the noise multiplier"},
		{[]dp.Event{event(p, aor, 1, 1e-200, 1)}, 0.1, "mu = 1e+200"},
		{[]dp.Event{event(p, aor, 1, 5e-324, 1)}, 0.1, "mu = +Inf"},
		{[]dp.Event{event(p, aor, 1, 1, 1), event(f, ro, 1, 1, 1)}, 0.1, "event 1"},
		{[]dp.Event{event(p, aor, 1, 1, 1)}, 1e-301, "delta = 1e-301"},
	} {
		_, err := Accountant{}.Epsilon(t.Context(), c.events, c.delta)
		if !errors.Is(err, dp.ErrNotCovered) || !strings.Contains(err.Error(), c.why) {
			t.Errorf("%v: %v, want %q", c.events, err, c.why)
		}
		if _, err := (Accountant{}).Delta(t.Context(), c.events, 1); c.delta == 0.1 &&
			!errors.Is(err, dp.ErrNotCovered) {
			t.Errorf("δ of %v: %v", c.events, err)
		}
	}
}

// An invalid release or argument is not merely "not covered", and everything
// wrong is named.
func TestInvalid(t *testing.T) {
	bad := []dp.Event{event(dp.Poisson, dp.AddOrRemove, 2, 1, 1), event(dp.Poisson, dp.AddOrRemove, 0.5, 1, 0)}
	for _, x := range []float64{-1, math.NaN(), math.Inf(1)} {
		_, err := Accountant{}.Epsilon(t.Context(), bad, x)
		for _, want := range []string{"delta = ", "event 0: sample rate", "event 1: count"} {
			if err == nil || errors.Is(err, dp.ErrNotCovered) || !strings.Contains(err.Error(), want) {
				t.Errorf("δ = %v: %v, want %q", x, err, want)
			}
		}
		if _, err := (Accountant{}).Delta(t.Context(), nil, x); err == nil || errors.Is(err, dp.ErrNotCovered) {
			t.Errorf("ε = %v: %v", x, err)
		}
	}
}
