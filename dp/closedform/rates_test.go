package closedform

import (
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"proactivedp/dp"
)

// rateEvent gives the rate and no sizes.
func rateEvent(q float64, count int, sigma float64) dp.Event {
	return dp.Event{Sampling: dp.Poisson, Adjacency: dp.AddOrRemove, NoiseMultiplier: sigma, Rate: q, Count: count}
}

var accountants = []dp.Accountant{Accountant{}, MomentAccountant{}}

// By the proof of Lemma lemthree, the moments of a round depend only on its sample rate q_i = s_i/N. So
// these give the same ε: an event with a rate, an event with half the N and half the size, and several
// events with the same rates.
func TestOnlyRatesMatter(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 1))
	for range 2000 {
		n := 2 * (500 + r.IntN(1e6))
		var sized, rates, mixed []dp.Event
		for range 1 + r.IntN(4) {
			e := event(n, 2*(1+r.IntN(n/50)), 2+r.IntN(1000), 1.5+logUniform(r, 0.1, 50))
			half := e
			half.SampleSize, half.DatasetSize = e.SampleSize/2, n/2
			q := rateEvent(e.SampleRate(), e.Count, e.NoiseMultiplier)
			sized, rates, mixed = append(sized, e), append(rates, q), append(mixed, []dp.Event{e, half, q}[r.IntN(3)])
		}
		delta := logUniform(r, 1e-12, 0.1)
		for _, a := range accountants {
			want, errWant := a.Epsilon(t.Context(), sized, delta)
			for _, events := range [][]dp.Event{rates, mixed} {
				got, err := a.Epsilon(t.Context(), events, delta)
				if (err == nil) != (errWant == nil) {
					t.Fatalf("%s of %+v: %v; with sizes %v", a.Name(), events, err, errWant)
				}
				if err == nil && math.Abs(got.Epsilon/want.Epsilon-1) > 1e-7 {
					t.Fatalf("%s of %+v: ε = %v; with sizes %v", a.Name(), events, got.Epsilon, want.Epsilon)
				}
			}
		}
	}
	// q = 1 given as a rate is refused as it is given by sizes.
	for _, a := range accountants {
		if _, err := a.Epsilon(t.Context(), []dp.Event{rateEvent(1, 1, 5)}, 1e-4); !errors.Is(err, dp.ErrNotCovered) {
			t.Errorf("%s: q = 1: %v", a.Name(), err)
		}
	}
}

// Many rounds of one sample rate are recorded one by one. Sums of rates are rounded, but the mean rate
// must not exceed the largest rate.
func TestManyEqualRates(t *testing.T) {
	const rounds = 100_000
	for _, q := range []float64{0.1 / 3, 0.00271828, 1e-5} {
		one := []dp.Event{rateEvent(q, rounds, 9)}
		many := runs(rateEvent(q, 1, 9), rounds)
		for _, a := range accountants {
			x, err := a.Epsilon(t.Context(), one, 1e-5)
			y, err2 := a.Epsilon(t.Context(), many, 1e-5)
			if err != nil || err2 != nil {
				t.Fatal(err, err2)
			}
			if d := y.Epsilon/x.Epsilon - 1; d < -1e-12 || d > 1e-8 {
				t.Errorf("%s, q = %v: ε = %v, round by round %v", a.Name(), q, x.Epsilon, y.Epsilon)
			}
		}
	}
}

// Delta is the inverse of Epsilon: with the δ that it returns, Epsilon returns at most ε, and with a
// slightly smaller δ it does not.
func TestDeltaIsTheInverseOfEpsilon(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 2))
	found, none, least, pastTurn := 0, 0, 0, 0
	for i := range 6000 {
		var events []dp.Event
		for range 1 + r.IntN(3) {
			q := logUniform(r, 1e-6, 0.2)
			if i%4 == 0 {
				q = 0.0598 * (0.8 + 0.8*r.Float64()) // about h(√2)
			}
			events = append(events, rateEvent(q, int(math.Ceil(logUniform(r, 0.1, 100)/q)),
				1.42+logUniform(r, 0.01, 100)))
		}
		eps := logUniform(r, 1e-3, 1e4)
		for _, a := range accountants {
			d, err := a.Delta(t.Context(), events, eps)
			if err != nil {
				if !errors.Is(err, dp.ErrNotCovered) {
					t.Fatal(err)
				}
				none++
				for _, delta := range []float64{1e-300, 1e-100, 1e-10, 0.1, 0.9, 1 - 1e-9} {
					if b, err := a.Epsilon(t.Context(), events, delta); err == nil && b.Epsilon <= eps*(1-1e-6) {
						t.Errorf("%s of %+v: no δ at ε = %v, but δ = %v gives %v", a.Name(), events, eps, delta,
							b.Epsilon)
					}
				}
				continue
			}
			found++
			if d.Kind != dp.Upper || d.Epsilon != eps || d.EpsilonLower != eps || d.EpsilonUpper != eps ||
				d.DeltaUpper != d.Delta || d.DeltaLower != 0 || !(d.Delta >= MinDelta && d.Delta < 1) {
				t.Fatalf("%+v", d)
			}
			b, err := a.Epsilon(t.Context(), events, d.Delta)
			if err != nil || b.Epsilon > eps*(1+2e-8) {
				t.Fatalf("%s of %+v: δ = %v at ε = %v, but there ε = %v, %v", a.Name(), events, d.Delta, eps, b.Epsilon,
					err)
			}
			if d.Delta == MinDelta {
				least++
				continue
			}
			if less, err := a.Epsilon(t.Context(), events, d.Delta*(1-1e-6)); err == nil &&
				less.Epsilon <= eps*(1-1e-12) {
				t.Errorf("%s of %+v: δ = %v at ε = %v, but a smaller one gives %v", a.Name(), events, d.Delta, eps,
					less.Epsilon)
			}
			// δ need not be the one at the noise of the events.
			if sigma := must[float64](t)(Sigma(eps, d.Delta)); sigma < 0.9*events[0].NoiseMultiplier &&
				len(events) == 1 {
				pastTurn++
			}
		}
	}
	t.Logf("%d found, %d of them MinDelta, %d by (treq1) or (treq3); %d without δ", found, least, pastTurn, none)
	if found < 1000 || none < 1000 || least == 0 || pastTurn == 0 {
		t.Error("not the variety wanted")
	}
}

// If the right-hand side of the condition falls as σ grows, there may be an ε at small δ but none at large
// δ. So bisection over δ would miss the result.
func TestDeltaWhereLargeDeltaFails(t *testing.T) {
	events := []dp.Event{rateEvent(0.065, 20, 50)}
	if _, err := (Accountant{}).Epsilon(t.Context(), events, 0.999); !errors.Is(err, dp.ErrNotCovered) {
		t.Fatalf("δ = 0.999: %v", err)
	}
	d, err := Accountant{}.Delta(t.Context(), events, 3)
	if err != nil {
		t.Fatal(err)
	}
	b, err := Accountant{}.Epsilon(t.Context(), events, d.Delta)
	if err != nil || b.Epsilon > 3 {
		t.Errorf("δ = %v: ε = %v, %v", d.Delta, b.Epsilon, err)
	}
}

func TestDeltaRefusals(t *testing.T) {
	good := []dp.Event{event(10000, 26, 1923, 19.3)}
	for _, a := range accountants {
		for _, eps := range []float64{-1, math.NaN(), math.Inf(1)} {
			if _, err := a.Delta(t.Context(), good, eps); err == nil || errors.Is(err, dp.ErrNotCovered) ||
				!strings.Contains(err.Error(), "epsilon = ") {
				t.Errorf("%s: ε = %v: %v", a.Name(), eps, err)
			}
		}
		for _, eps := range []float64{0, 1e-61, 1e31, 1e-6} {
			if _, err := a.Delta(t.Context(), good, eps); !errors.Is(err, dp.ErrNotCovered) {
				t.Errorf("%s: ε = %v: %v", a.Name(), eps, err)
			}
		}
		if _, err := a.Delta(t.Context(), nil, 1); !errors.Is(err, dp.ErrNotCovered) {
			t.Errorf("%s: no events: %v", a.Name(), err)
		}
		if d, err := a.Delta(t.Context(), good, 10); err != nil || d.Delta != MinDelta {
			t.Errorf("%s: δ = %v, %v; want %v", a.Name(), d.Delta, err, MinDelta)
		}
		bad := good[0]
		bad.Sampling, bad.Adjacency = dp.FixedSize, dp.ReplaceOne
		for _, f := range []func() (dp.Bound, error){
			func() (dp.Bound, error) { return a.Delta(t.Context(), []dp.Event{bad}, 1) },
			func() (dp.Bound, error) { return a.Epsilon(t.Context(), []dp.Event{bad}, 1e-4) },
		} {
			if _, err := f(); !errors.Is(err, dp.ErrNotCovered) || !strings.Contains(err.Error(), "sampling") ||
				!strings.Contains(err.Error(), "adjacency") {
				t.Errorf("%s: %v", a.Name(), err)
			}
		}
	}
}
