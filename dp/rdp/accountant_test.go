package rdp

import (
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"proactivedp/dp"
)

func event(q, sigma float64, count int) dp.Event {
	return dp.Event{Sampling: dp.Poisson, Adjacency: dp.AddOrRemove, NoiseMultiplier: sigma, Rate: q, Count: count}
}

var kinds = []struct {
	sampling  dp.Sampling
	adjacency dp.Adjacency
}{{dp.Poisson, dp.AddOrRemove}, {dp.Poisson, dp.ReplaceOne}, {dp.FixedSize, dp.ReplaceOne}}

func TestBoundSaysEverything(t *testing.T) {
	for _, k := range kinds {
		e := event(0.01, 1, 1000)
		e.Sampling, e.Adjacency = k.sampling, k.adjacency
		b, err := Accountant{}.Epsilon(t.Context(), []dp.Event{e}, 1e-5)
		if err != nil {
			t.Fatal(err)
		}
		want := dp.Bound{Epsilon: b.Epsilon, EpsilonUpper: b.Epsilon, DeltaLower: 1e-5, Delta: 1e-5, DeltaUpper: 1e-5,
			Kind: dp.Upper, Accountant: "rdp", Adjacency: k.adjacency, Sampling: k.sampling}
		if b != want || !(b.Epsilon > 1 && b.Epsilon < 20) {
			t.Errorf("%+v, want %+v", b, want)
		}
		d, err := Accountant{}.Delta(t.Context(), []dp.Event{e}, b.Epsilon)
		if err != nil {
			t.Fatal(err)
		}
		want = dp.Bound{Delta: d.Delta, DeltaUpper: d.Delta, EpsilonLower: b.Epsilon, Epsilon: b.Epsilon,
			EpsilonUpper: b.Epsilon,
			Kind:         dp.Upper, Accountant: "rdp", Adjacency: k.adjacency, Sampling: k.sampling}
		if d != want || !(relative(d.Delta, 1e-5) <= 1e-6) {
			t.Errorf("%+v, want %+v", d, want)
		}
	}
}

// δ of T rounds without sampling is above the exact one (Balle, Wang 2018,
// Theorem 8, with μ = √T/σ).
func TestAboveTheGaussian(t *testing.T) {
	exact := func(mu, eps float64) float64 {
		return math.Erfc((eps/mu-mu/2)/math.Sqrt2)/2 - math.Exp(eps)*math.Erfc((eps/mu+mu/2)/math.Sqrt2)/2
	}
	r := rand.New(rand.NewPCG(8, 1))
	for range 300 {
		sigma, count, eps := logUniform(r, 1, 100), int(logUniform(r, 1, 100)), logUniform(r, 0.01, 5)
		b, err := Accountant{}.Delta(t.Context(), []dp.Event{event(1, sigma, count)}, eps)
		if want := exact(math.Sqrt(float64(count))/sigma, eps); err != nil || !(b.Delta >= want) {
			t.Errorf("σ = %v, T = %d, ε = %v: δ = %v, exact %v (%v)", sigma, count, eps, b.Delta, want, err)
		}
	}
}

// δ(0) of one round is the total variation distance of the worst pair.
func TestDeltaAtZero(t *testing.T) {
	for _, k := range kinds {
		e := event(0.3, 2, 1)
		e.Sampling, e.Adjacency = k.sampling, k.adjacency
		distance := 1.0
		if k.adjacency == dp.ReplaceOne {
			distance = 2
		}
		want := 0.3 * math.Erf(distance/(4*math.Sqrt2))
		b, err := Accountant{}.Delta(t.Context(), []dp.Event{e}, 0)
		if err != nil || !(b.Delta >= want && b.Delta <= want*(1+2*margin)) {
			t.Errorf("%v: δ(0) = %v, want %v (%v)", k, b.Delta, want, err)
		}
	}
}

// At a δ equal to the total variation distance, ε is 0. At a smaller δ it is above 0.
func TestNoEpsilonAtTotalVariation(t *testing.T) {
	tv := 0.01 * math.Erf(1/(2*math.Sqrt2*50))
	for delta, zero := range map[float64]bool{tv * 1.001: true, tv * 0.9: false} {
		if eps := epsilonOf(t, Accountant{}, event(0.01, 50, 1), delta); eps == 0 != zero {
			t.Errorf("ε = %v at δ = %v, total variation %v", eps, delta, tv)
		}
	}
}

// ε can be arbitrarily small, because larger orders are used for a smaller ε. With orders up to 16384
// only, ε would not get below about log(1/δ)/16384.
func TestSmallEpsilon(t *testing.T) {
	eps := epsilonOf(t, Accountant{}, event(1e-6, 100, 100), 1e-8)
	if floor := epsilonOf(t, Accountant{Orders: []float64{16384}}, event(1e-6, 100, 100), 1e-8); !(eps > 0 &&
		eps < floor/20) {
		t.Errorf("ε = %v, at order 16384 %v", eps, floor)
	}
}

// ε falls as σ and δ grow, and grows with T and q. δ falls as ε grows. Epsilon and Delta are inverse, and
// no single order gives a better result. The test covers the whole ranges.
func TestMonotone(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 2))
	for i := range 120 {
		e := event(logUniform(r, 1e-8, 1), logUniform(r, 0.3, 1e4), int(logUniform(r, 1, 1e9)))
		e.Sampling, e.Adjacency = kinds[i%3].sampling, kinds[i%3].adjacency
		delta := logUniform(r, 1e-300, 0.1)
		eps := epsilonOf(t, Accountant{}, e, delta)
		worse, least := e, eps*(1-1e-9)
		worse.NoiseMultiplier *= 0.99
		if v := epsilonOf(t, Accountant{}, worse, delta); !(v >= least) {
			t.Errorf("%+v, δ = %v: ε = %v, with less noise %v", e, delta, eps, v)
		}
		worse = e
		worse.Rate = min(1, e.Rate*1.01)
		if v := epsilonOf(t, Accountant{}, worse, delta); !(v >= least) {
			t.Errorf("%+v, δ = %v: ε = %v, at a higher rate %v", e, delta, eps, v)
		}
		worse = e
		worse.Count += 1 + e.Count/100
		if v := epsilonOf(t, Accountant{}, worse, delta); !(v >= least) {
			t.Errorf("%+v, δ = %v: ε = %v, in more rounds %v", e, delta, eps, v)
		}
		if v := epsilonOf(t, Accountant{}, e, delta*0.9); !(v >= least) {
			t.Errorf("%+v: ε = %v at δ = %v, %v at less", e, eps, delta, v)
		}
		if v := epsilonOf(t, Accountant{Orders: []float64{1 + logUniform(r, 1e-3, 1e4)}}, e, delta); !(v >= least) {
			t.Errorf("%+v, δ = %v: ε = %v, at one order %v", e, delta, eps, v)
		}
		b, err := Accountant{}.Delta(t.Context(), []dp.Event{e}, eps)
		if err != nil || eps > 0 && !(math.Abs(math.Log(b.Delta/delta)) <= 1e-5*(1-math.Log(delta))) || eps == 0 &&
			!(b.Delta <= delta) {
			t.Errorf("%+v: ε = %v at δ = %v, where δ = %v (%v)", e, eps, delta, b.Delta, err)
		}
	}
}

// Divergences are added and rounded up. The order and the splitting of events do not matter, and a release
// costs more than any part of it.
func TestComposition(t *testing.T) {
	acc := func(events ...dp.Event) float64 {
		t.Helper()
		b, err := Accountant{}.Epsilon(t.Context(), events, 1e-5)
		if err != nil {
			t.Fatal(err)
		}
		return b.Epsilon
	}
	a, b, all := event(0.01, 1, 500), event(0.02, 1.5, 300), event(1, 30, 2)
	x := acc(a, b, all)
	if y := acc(all, b, a); !(relative(x, y) <= 1e-9) {
		t.Errorf("order matters: %v, %v", x, y)
	}
	half := a
	half.Count = 250
	if y := acc(half, b, half, all); !(relative(x, y) <= 1e-9) {
		t.Errorf("splitting matters: %v, %v", x, y)
	}
	if y := acc(a, b); !(y < x && acc(a) < y && acc(b) < y) {
		t.Errorf("ε = %v, %v, %v, %v", x, y, acc(a), acc(b))
	}
	sum := 0.0
	for _, p := range []struct {
		p     pair
		count float64
	}{{pair{mixture, 0.01, 1}, 500}, {pair{mixture, 0.02, 1.5}, 300}, {pair{gaussian, 1, 30}, 2}} {
		sum += p.count * p.p.divergence(11)
	}
	at12, err := Accountant{Orders: []float64{12}}.Epsilon(t.Context(), []dp.Event{a, b, all}, 1e-5)
	if want, e := Epsilon(12, sum, 1e-5); err != nil || e != nil ||
		!(at12.Epsilon > want && at12.Epsilon <= want*(1+2*margin)) {
		t.Errorf("order 12: %v, want %v (%v, %v)", at12.Epsilon, want, err, e)
	}
}

func TestAccountantErrors(t *testing.T) {
	good := event(0.01, 1, 10)
	with := func(set func(*dp.Event)) []dp.Event {
		e := good
		set(&e)
		return []dp.Event{good, e}
	}
	for _, c := range []struct {
		name   string
		events []dp.Event
		want   string
	}{
		{"no events", nil, "no events"},
		{"fixed size", []dp.Event{{Sampling: dp.FixedSize, Adjacency: dp.AddOrRemove, NoiseMultiplier: 1, Rate: 0.1,
			Count: 1}}, "reveals N"},
		{"two adjacencies", with(func(e *dp.Event) { e.Adjacency = dp.ReplaceOne }), "event 1"},
		{"no noise", with(func(e *dp.Event) { e.NoiseMultiplier = 0 }), "noise multiplier = 0"},
		{"little noise", with(func(e *dp.Event) { e.NoiseMultiplier = 0.01 }), "must be in [0.1, 1e+06]"},
		{"small rate", with(func(e *dp.Event) { e.Rate = 1e-40 }), "sample rate = 1e-40, must be in [1e-30, 1]"},
	} {
		for _, ask := range []func() (dp.Bound, error){
			func() (dp.Bound, error) { return Accountant{}.Epsilon(t.Context(), c.events, 1e-5) },
			func() (dp.Bound, error) { return Accountant{}.Delta(t.Context(), c.events, 1) },
		} {
			if b, err := ask(); !errors.Is(err, dp.ErrNotCovered) || !strings.Contains(err.Error(), c.want) ||
				b != (dp.Bound{}) {
				t.Errorf("%s: %+v, %v; want dp.ErrNotCovered with %q", c.name, b, err, c.want)
			}
		}
	}

	// What is invalid is a fault, and all of it is reported.
	bad := with(func(e *dp.Event) { e.Count = -1 })
	for want, ask := range map[string]func() (dp.Bound, error){
		"delta = 0":     func() (dp.Bound, error) { return Accountant{}.Epsilon(t.Context(), bad, 0) },
		"delta = NaN":   func() (dp.Bound, error) { return Accountant{}.Epsilon(t.Context(), bad, math.NaN()) },
		"epsilon = -1":  func() (dp.Bound, error) { return Accountant{}.Delta(t.Context(), bad, -1) },
		"epsilon = Inf": func() (dp.Bound, error) { return Accountant{}.Delta(t.Context(), bad, math.Inf(1)) },
		"order = 1": func() (dp.Bound, error) {
			return Accountant{Orders: []float64{1}}.Epsilon(t.Context(), bad, 0.1)
		},
	} {
		_, err := ask()
		if err == nil || errors.Is(err, dp.ErrNotCovered) ||
			!strings.Contains(strings.ReplaceAll(err.Error(), "+Inf", "Inf"), want) ||
			!strings.Contains(err.Error(), "count of rounds = -1") {
			t.Errorf("%s: %v", want, err)
		}
	}
}

func BenchmarkEpsilon(b *testing.B) {
	for b.Loop() {
		if _, err := (Accountant{}).Epsilon(b.Context(), []dp.Event{event(0.0048, 12.10881, 1250)},
			1.0/60000); err != nil {
			b.Fatal(err)
		}
	}
}
