package closedform

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"proactivedp/dp"
	sweep "proactivedp/internal/testkit"
)

func event(n, s, count int, sigma float64) dp.Event {
	return dp.Event{Sampling: dp.Poisson, Adjacency: dp.AddOrRemove, NoiseMultiplier: sigma, SampleSize: s,
		DatasetSize: n, Count: count}
}

// The smallest ε, and its σ, that Theorem simpleF with the printed γ allows at
// the sample sizes of the paper's budget tables (real T = K/s, δ = 1/N),
// computed by an independent program.
func TestMinEpsilonOfBudgetTables(t *testing.T) {
	tests := []struct {
		n, s       int
		k          float64
		eps, sigma float64
	}{
		{10000, 26, 5, 0.03925, 21.711},
		{10000, 55, 5, 0.09576, 13.941},
		{60000, 370, 6, 0.13210, 12.984},
		{50000, 689, 7, 0.41944, 7.321},
		{10000, 400, 5, 1.77401, 3.519},
		{50000, 1994, 7, 2.60266, 3.212},
	}
	for _, tt := range tests {
		s := setting(tt.n, tt.k, tt.k*float64(tt.n)/float64(tt.s), math.Inf(1), 0, 1/float64(tt.n))
		eps := must[float64](t)(MinEpsilon(Printed, s))
		near(t, "ε", eps, tt.eps, 5.1e-6)
		near(t, "σ", must[float64](t)(Sigma(eps, s.Delta)), tt.sigma, 5.1e-4)
		if c := must[float64](t)(MinEpsilon(Corrected, s)); !(c > eps && c < 1.1*eps) {
			t.Errorf("N = %d, s = %d: corrected ε = %v, printed %v", tt.n, tt.s, c, eps)
		}
	}
}

// The paper's settings with whole batch sizes, as they are run. The expected ε is from equation (treq4).
// The ε of a PLD accountant (Google's, add-or-remove adjacency, connect-the-dots) must be lower.
func TestAccountantPaperSettings(t *testing.T) {
	tests := []struct {
		n, s, k  int
		sigma    float64
		eps, pld float64
	}{
		{10000, 26, 5, 19.29962, 0.04972, 0.01027},
		{60000, 288, 6, 12.10881, 0.15215, 0.03763},
		{50000, 406, 7, 6.572, 0.52534, 0.10712},
		{10000, 31, 5, 19.29962, 0.04972, 0.01144},
		{60000, 412, 6, 12.10881, 0.15215, 0.04609}, // PLD at 414
		{50000, 800, 7, 6.572, 0.52534, 0.15736},    // PLD at 811
	}
	for _, tt := range tests {
		delta := 1 / float64(tt.n)
		b, err := Accountant{}.Epsilon(t.Context(), []dp.Event{event(tt.n, tt.s, tt.k*tt.n/tt.s, tt.sigma)}, delta)
		if err != nil {
			t.Fatal(err)
		}
		near(t, "ε", b.Epsilon, tt.eps, 5.1e-6)
		if !(b.Epsilon > tt.pld) {
			t.Errorf("ε = %v, but a tight accountant needs %v", b.Epsilon, tt.pld)
		}
		want := dp.Bound{
			Epsilon: b.Epsilon, EpsilonUpper: b.Epsilon, DeltaLower: delta, Delta: delta, DeltaUpper: delta,
			Kind: dp.Upper, Accountant: "closed-form", Adjacency: dp.AddOrRemove, Sampling: dp.Poisson,
		}
		if b != want {
			t.Errorf("%+v, want %+v", b, want)
		}
	}
	// Just above the corrected s_max (31.76, 412.78, 800.35) ε must grow.
	b, err := Accountant{}.Epsilon(t.Context(), []dp.Event{event(10000, 32, 50000/32, 19.29962)}, 1e-4)
	if err != nil || !(b.Epsilon > 0.0499) {
		t.Errorf("s = 32: %+v, %v", b, err)
	}
}

// With q = 1 and T = 1, a release is exactly (1/σ)-Gaussian DP. The theorem does not cover this case.
func TestAccountantNotCovered(t *testing.T) {
	good := event(10000, 26, 1923, 19.3)
	with := func(set func(*dp.Event)) []dp.Event {
		e := good
		set(&e)
		return []dp.Event{good, e}
	}
	tests := []struct {
		name   string
		events []dp.Event
		want   string
	}{
		{"no events", nil, "no events"},
		{"fixed size", with(func(e *dp.Event) { e.Sampling = dp.FixedSize }), "event 1: fixed sampling under"},
		{"replace one", with(func(e *dp.Event) { e.Adjacency = dp.ReplaceOne }), "event 1: poisson sampling under replace-one"},
		{"no noise", with(func(e *dp.Event) { e.NoiseMultiplier = 0 }), "sigma = 0, must be in [1.4142136, 1e+06]"},
		{"σ² < 2", with(func(e *dp.Event) { e.NoiseMultiplier = 1.4 }), "sigma = 1.4, must be in [1.4142136, 1e+06]"},
		{"σ too large", []dp.Event{event(10000, 26, 1923, 1e300)}, "sigma = 1e+300, must be in [1.4142136, 1e+06]"},
		{"N too large", []dp.Event{event(1<<53+1, 26, 1923, 20)}, "N = 9007199254740993, must be in [1, 2^53"},
		{"k too large", runs(event(100, 1, math.MaxInt, 20), 1200), "e+20, must be in [1e-20, 1e+20]"},
		{"q = 1", []dp.Event{event(10000, 10000, 1, 5)}, "θ²s̄/N = 1"},
		{"q beyond 3-2√2", []dp.Event{event(10000, 1717, 1, 5)}, "must be below 0.17157"},
		// ln(1/δ) = 9.2, k = 1: two roots at q = 0.066, none for q ≥ 0.0985.
		{"q without a root", []dp.Event{event(10000, 1000, 10, 50)}, "(treq3)"},
		{"θ too large", []dp.Event{event(10000, 10, 1000, 20), event(10000, 1700, 1, 20)}, "θ²s̄/N"},
	}
	for _, tt := range tests {
		b, err := Accountant{}.Epsilon(t.Context(), tt.events, 1e-4)
		if !errors.Is(err, dp.ErrNotCovered) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %+v, %v; want dp.ErrNotCovered with %q", tt.name, b, err, tt.want)
		}
	}
	if _, err := (Accountant{}).Epsilon(t.Context(), []dp.Event{good}, 1e-310); !errors.Is(err, dp.ErrNotCovered) ||
		!strings.Contains(err.Error(), "delta = 1e-310, must be in [1e-300, 1)") {
		t.Errorf("δ too small: %v", err)
	}
	two := with(func(e *dp.Event) { e.Sampling, e.Adjacency, e.NoiseMultiplier = dp.FixedSize, dp.ReplaceOne, 1 })
	if _, err := (Accountant{}).Epsilon(t.Context(), two, 1e-4); err == nil ||
		!strings.Contains(err.Error(), "sampling") || !strings.Contains(err.Error(), "adjacency") ||
		!strings.Contains(err.Error(), "sigma = 1,") {
		t.Errorf("all problems at once: %v", err)
	}

	// What is invalid is a fault, not an answer.
	for name, f := range map[string]func() ([]dp.Event, float64){
		"delta = 0":        func() ([]dp.Event, float64) { return []dp.Event{good}, 0 },
		"delta = 1":        func() ([]dp.Event, float64) { return []dp.Event{good}, 1 },
		"delta = NaN":      func() ([]dp.Event, float64) { return []dp.Event{good}, math.NaN() },
		"sample size = -1": func() ([]dp.Event, float64) { return with(func(e *dp.Event) { e.SampleSize = -1 }), 1e-4 },
	} {
		events, delta := f()
		if _, err := (Accountant{}).Epsilon(t.Context(), events, delta); err == nil ||
			errors.Is(err, dp.ErrNotCovered) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := MinEpsilon("other", Setting{}); err == nil || errors.Is(err, dp.ErrNotCovered) {
		t.Errorf("empty setting: %v", err)
	}
	s := setting(10000, 5, 1600, -1, 0, 1e-4)
	if _, err := MinEpsilon(Corrected, s); err == nil || errors.Is(err, dp.ErrNotCovered) {
		t.Errorf("negative noise: %v", err)
	}
}

// A growing sequence has hundreds of events. If they are refused for the same reason, the error names this
// reason once.
func TestEqualRefusalsAreOne(t *testing.T) {
	m := dp.Mechanism{
		Sampling: dp.FixedSize, Adjacency: dp.ReplaceOne, ClipNorm: 1, NoiseMultiplier: 5, DatasetSize: 10000,
		Sizes: dp.PolynomialSizes{First: 1, Slope: 1, Power: 1},
	}
	events := append([]dp.Event{event(10000, 26, 1, 5)}, m.Events(300)...)
	const want = `event 1 and 299 more: fixed sampling under replace-one adjacency, the theorem needs poisson under add-or-remove: not covered`
	for _, a := range accountants {
		if _, err := a.Epsilon(t.Context(), events, 1e-4); !errors.Is(err, dp.ErrNotCovered) || err.Error() != want {
			t.Errorf("%s: %v", a.Name(), err)
		}
	}
	for i := range events {
		events[i].Count = 0
	}
	_, err := Accountant{}.Epsilon(t.Context(), events, 1e-4)
	if err == nil || errors.Is(err, dp.ErrNotCovered) ||
		err.Error() != "event 0 and 300 more: count of rounds = 0, must be at least 1" {
		t.Errorf("%v", err)
	}
}

func runs(e dp.Event, times int) []dp.Event { return slices.Repeat([]dp.Event{e}, times) }

// Long runs with much noise, with events of several sizes and noise multipliers, never leave the range of
// float64. Either there is an ε, or the sample rate is too large for the theorem. For a rate that is
// surely small enough there is an ε.
func TestAccountantCoversItsRanges(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 3))
	pick := func(lo, hi float64) float64 {
		switch r.IntN(4) {
		case 0:
			return lo
		case 1:
			return hi
		}
		return min(max(logUniform(r, lo, hi), lo), hi)
	}
	found, none := 0, 0
	for range 20000 {
		n := int(pick(1, MaxN))
		delta := pick(MinDelta, math.Nextafter(1, 0))
		if r.IntN(3) == 0 {
			delta = 1 - pick(0x1p-53, 0.5)
		}
		var events []dp.Event
		for range 1 + r.IntN(3) {
			s := max(1, int(float64(n)*pick(0x1p-53, 0.2)))
			count := max(1, int(min(1<<62, pick(1e-3, 1e7)*float64(n)/float64(s))))
			events = append(events, event(n, s, count, pick(MinSigma, MaxSigma)))
		}
		s := must[Setting](t)(settingOf(events, askedDelta(delta)))
		q := s.Theta() * s.MaxSize / float64(n)
		_, err := Accountant{}.Epsilon(t.Context(), events, delta)
		switch {
		case err == nil:
			found++
		case !errors.Is(err, dp.ErrNotCovered) || !strings.Contains(err.Error(), "θ²s̄/N") ||
			strings.Contains(err.Error(), "root") || q < 0.0598:
			t.Fatalf("q = %v, %+v, δ = %v: %v", q, events, delta, err)
		default:
			none++
		}
	}
	if found < 2000 || none < 2000 {
		t.Errorf("%d found, %d without ε: not the variety wanted", found, none)
	}
}

// MinEpsilon has a result for the whole ranges of K/N and of the noise.
func TestMinEpsilonCoversTheRanges(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 4))
	for range 5000 * sweep.Sweeps(t) {
		n, k, q := int(logUniform(r, 1e3, MaxN)), logUniform(r, 2e-20, 5e19), logUniform(r, 1e-15, 0.0597)
		s := setting(n, k, k/q, math.Inf(1), 0, logUniform(r, 1e-299, 0.999))
		for _, s.Sigma = range []float64{MinSigma, MaxSigma, math.Inf(1)} {
			if _, err := MinEpsilon(Corrected, s); err != nil {
				t.Fatalf("%+v: %v", s, err)
			}
		}
	}
}

// Section "DP Calculator": at δ = 1e-4 and k = 1, ε = k·q·rhs(σ_eq(ε), q) has one
// root at q = 0.05, two at 0.066, none at 0.0985 (printed γ).
func TestMinEpsilonAboveTheFirstPole(t *testing.T) {
	for q, ok := range map[float64]bool{0.05: true, 0.066: true, 0.0985: false} {
		s := setting(10000, 1, 1/q, math.Inf(1), 0, math.Exp(-9.2))
		eps, err := MinEpsilon(Printed, s)
		if ok != (err == nil) || !ok && !errors.Is(err, dp.ErrNotCovered) {
			t.Errorf("q = %v: ε = %v, %v", q, eps, err)
		}
	}
}

// A second noise level, below the first, is used for all; order and splitting
// of events do not matter; more noise never costs more.
func TestAccountantComposition(t *testing.T) {
	acc := func(events ...dp.Event) float64 {
		t.Helper()
		b, err := Accountant{}.Epsilon(t.Context(), events, 1e-5)
		if err != nil {
			t.Fatal(err)
		}
		return b.Epsilon
	}
	a, b := event(60000, 600, 300, 9), event(60000, 300, 200, 12)
	low := b
	low.NoiseMultiplier = 9
	if x, y := acc(a, b), acc(a, low); x != y {
		t.Errorf("the smallest σ for all: %v, %v", x, y)
	}
	if x, y := acc(a, b), acc(b, a); x != y {
		t.Errorf("order matters: %v, %v", x, y)
	}
	half := a
	half.Count = 150
	if x, y := acc(a, b), acc(half, b, half); x != y {
		t.Errorf("splitting matters: %v, %v", x, y)
	}
	// The sizes of a growing sequence, as a run counts them.
	run := dp.Cut(dp.PolynomialSizes{First: 100, Slope: 1, Power: 1}, 60000*2)
	events := make([]dp.Event, run.Rounds)
	for i := range events {
		events[i] = event(60000, 100+i, 1, 9)
	}
	s, err := settingOf(events, askedDelta(1e-5))
	if err != nil || s.Theta() != run.Theta() || int(s.Computed) != run.Computed || int(s.MaxSize) != run.Max {
		t.Errorf("%+v, θ = %v; %+v, θ = %v; %v", s, s.Theta(), run, run.Theta(), err)
	}
	// Growing sizes cost more than their mean; more rounds cost no less.
	mean := run.Computed / run.Rounds
	if x, y := acc(events...), acc(event(60000, mean, run.Rounds, 9)); x < y {
		t.Errorf("θ > 1: ε = %v, θ = 1: %v", x, y)
	}
}

// The returned ε meets all conditions of simpleF, as computed separately here, and no smaller ε does. Some
// sample rates are next to h(√2) = 0.0598, where the ε that meet condition (treq3) are not an interval.
func TestMinEpsilonIsTheSmallest(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 1))
	holds := func(form Form, s Setting, eps float64) bool {
		s.Epsilon = eps
		if math.IsInf(s.Sigma, 1) {
			s.Sigma = must[float64](t)(Sigma(eps, s.Delta))
		}
		return Holds(must[[]Condition](t)(Conditions(form, s)), SimpleF)
	}
	// stretches counts, on a grid, the separate intervals of good ε.
	stretches := func(form Form, s Setting, lo, hi float64) (n int, first float64) {
		before := false
		for eps := lo; eps < hi; eps *= 1.02 {
			now := holds(form, s, eps)
			if now && !before {
				if n++; n == 1 {
					first = eps
				}
			}
			before = now
		}
		return n, first
	}
	found, none, several := 0, 0, 0
	settings := 375 * sweep.Sweeps(t)
	for i := range settings {
		form := Corrected
		if i%4 == 0 {
			form = Printed
		}
		n := int(logUniform(r, 1e3, 1e8))
		k, delta, theta := logUniform(r, 1e-2, 1e4), logUniform(r, 1e-30, 0.9), 1+r.ExpFloat64()*float64(i%2)
		q := logUniform(r, 1e-6, 0.18) // θ²s̄/N
		if i%3 == 0 {
			q = 0.0598 * (0.9 + 0.2*r.Float64())
		}
		sigma := math.Inf(1)
		if i%5 != 0 {
			sigma = math.Sqrt2 * (1 + logUniform(r, 1e-3, 1e3))
		}
		mean := q / (theta * theta) * float64(n)
		s := Setting{N: n, Rounds: k * float64(n) / mean, Computed: k * float64(n), MaxSize: theta * mean, Sigma: sigma,
			Delta: delta}
		eps, err := MinEpsilon(form, s)
		name := fmt.Sprintf("%s, q = %v, θ = %v, %+v", form, q, theta, s)
		if err != nil {
			if !errors.Is(err, dp.ErrNotCovered) {
				t.Fatalf("%s: %v", name, err)
			}
			none++
			if n, first := stretches(form, s, 1e-9, 1e7); n > 0 {
				t.Errorf("%s: %v, but ε = %v would do", name, err, first)
			}
			continue
		}
		found++
		if !holds(form, s, eps) {
			t.Errorf("%s: ε = %v does not meet the conditions", name, eps)
		}
		for range 100 {
			if less := eps * (1 - math.Exp(-13*r.Float64())); holds(form, s, less) {
				t.Errorf("%s: ε = %v, but %v is enough", name, eps, less)
			}
		}
		if i%10 == 0 {
			if n, first := stretches(form, s, eps*1e-4, eps); n > 0 {
				t.Errorf("%s: ε = %v, but %v is enough", name, eps, first)
			}
		}
		if i%3 == 0 {
			if n, _ := stretches(form, s, eps, 1e9*eps); n > 1 {
				several++
			}
		}
	}
	t.Logf("%d found, %d without ε, %d with several stretches", found, none, several)
	if found < settings*4/15 || none < settings/15 || several == 0 {
		t.Errorf("%d found, %d without ε, %d with several stretches: not the variety wanted", found, none, several)
	}
}

func TestMinEpsilonIsMonotone(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 2))
	for range 3000 {
		n := int(logUniform(r, 1e3, 1e8))
		k, delta := logUniform(r, 0.1, 1e3), logUniform(r, 1e-30, 0.9)
		mean := float64(n) * logUniform(r, 1e-5, 0.05)
		base := setting(n, k, k*float64(n)/mean, 2+logUniform(r, 0.01, 100), 0, delta)
		eps := must[float64](t)(MinEpsilon(Corrected, base))
		less := base
		less.Sigma *= 0.99
		shorter := setting(n, 0.9*k, 0.9*base.Rounds, base.Sigma, 0, delta)
		if v := must[float64](t)(MinEpsilon(Corrected, less)); v < eps*(1-1e-6) {
			t.Errorf("%+v: ε = %v, at less noise %v", base, eps, v)
		}
		if v := must[float64](t)(MinEpsilon(Corrected, shorter)); v > eps*(1+1e-6) {
			t.Errorf("%+v: ε = %v, in fewer rounds %v", base, eps, v)
		}
	}
}

// Rounds of different sizes cost at most as much as equally many rounds of the largest size. The cost of
// equal sizes grows with the size. So a plan for larger sizes is not exceeded by smaller ones.
func TestSmallerSamplesCostNoMore(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 12))
	varied, kinder := 0, 0
	for range 3000 {
		n, count := 1000+r.IntN(100_000), 1+r.IntN(2000)
		sigma, delta := 1.5+40*r.Float64(), math.Pow(10, -2-6*r.Float64())
		largest := 1 + r.IntN(n/10)
		some, other := 1+r.IntN(largest), 1+r.IntN(largest)
		cost := func(events ...dp.Event) (float64, bool) {
			b, err := Accountant{}.Epsilon(t.Context(), events, delta)
			return b.EpsilonUpper, err == nil
		}
		most, covered := cost(event(n, largest, 3*count, sigma))
		if !covered {
			continue
		}
		if less, ok := cost(event(n, some, 3*count, sigma)); !ok || less > most*(1+1e-6) {
			t.Fatalf("N = %d, σ = %v, T = %d, δ = %v: s = %d costs %v (%v), s = %d costs %v", n, sigma, 3*count, delta,
				some, less, ok, largest, most)
		}
		events := []dp.Event{event(n, largest, count, sigma), event(n, some, count, sigma),
			event(n, other, count, sigma)}
		mixed, ok := cost(events...)
		varied++
		if !ok || mixed > most*(1+1e-6) {
			t.Fatalf("N = %d, σ = %v, δ = %v: %v costs %v (%v), all of the largest size %v", n, sigma, delta, events,
				mixed, ok, most)
		}
		alone := must[Setting](t)(settingOf(events, askedDelta(delta)))
		alone.Delta = delta
		if eps, err := MinEpsilon(Corrected, alone); err != nil || eps > mixed {
			kinder++
		}
		d, err := Accountant{}.Delta(t.Context(), events, mixed)
		if err != nil || d.DeltaUpper > delta*(1+1e-5) {
			t.Fatalf("N = %d, σ = %v: ε = %v at δ = %v, and back δ = %v (%v)", n, sigma, mixed, delta, d.DeltaUpper,
				err)
		}
	}
	if varied < 500 || kinder < 50 {
		t.Errorf("%d releases, of which %d cost less as rounds of the largest size", varied, kinder)
	}
}
