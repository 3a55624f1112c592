package dp_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"proactivedp/dp"
	"proactivedp/dp/closedform"
	"proactivedp/dp/gdp"
	"proactivedp/dp/pld"
	"proactivedp/dp/rdp"
	"proactivedp/internal/testkit"
)

func accountants() []dp.Accountant {
	return []dp.Accountant{pld.Accountant{}, rdp.Accountant{}, gdp.Accountant{}, closedform.Accountant{},
		closedform.MomentAccountant{}}
}

func poissonRounds() dp.Event {
	return dp.Event{Sampling: dp.Poisson, Adjacency: dp.AddOrRemove, NoiseMultiplier: 6, Rate: 0.01, Count: 10_000}
}

// Every pair of a sampling and an adjacency is either a Scheme or refused, and every sampling has a
// natural adjacency.
func TestSchemesAreClassified(t *testing.T) {
	seen := map[dp.Scheme]string{}
	for _, s := range dp.Samplings() {
		if _, err := dp.SchemeOf(s, dp.NaturalAdjacency(s)); err != nil {
			t.Errorf("%s under its natural adjacency: %v", s, err)
		}
		for _, a := range dp.Adjacencies() {
			scheme, err := dp.SchemeOf(s, a)
			pair := fmt.Sprintf("%s sampling under %s adjacency", s, a)
			switch {
			case err != nil && (scheme != 0 || !errors.Is(err, dp.ErrNotCovered) || !strings.Contains(err.Error(), pair)):
				t.Errorf("%s: %d, %v", pair, scheme, err)
			case err == nil && (scheme == 0 || seen[scheme] != "" || math.IsNaN(scheme.Sensitivity())):
				t.Errorf("%s: scheme %d, as %s; sensitivity %v", pair, scheme, seen[scheme], scheme.Sensitivity())
			}
			seen[scheme] = pair
		}
	}
	for _, unknown := range [][2]string{{"", ""}, {"poisson", ""}, {"", "add-or-remove"}, {"bins", "add-or-remove"},
		{"poisson", "near"}, {"Poisson", "add-or-remove"}} {
		scheme, err := dp.SchemeOf(dp.Sampling(unknown[0]), dp.Adjacency(unknown[1]))
		if scheme != 0 || err == nil || errors.Is(err, dp.ErrNotCovered) {
			t.Errorf("%q: %d, %v", unknown, scheme, err)
		}
	}
	for want, e := range map[string]dp.Event{
		"a fixed sample size reveals N":      {Sampling: dp.FixedSize, Adjacency: dp.AddOrRemove},
		"would change other batches too":     {Sampling: dp.Shuffle, Adjacency: dp.AddOrRemove},
		"under replace-one adjacency for":    {Sampling: dp.Poisson, Adjacency: dp.ReplaceOne, Truncated: 5},
		"adjacency for groups of 2, must be": {Sampling: dp.Poisson, Adjacency: dp.AddOrRemove, Truncated: 5, Group: 2},
		"group = 2 with poisson sampling":    {Sampling: dp.Poisson, Adjacency: dp.ReplaceOne, Group: 2},
	} {
		if scheme, err := e.Scheme(); scheme != 0 || !errors.Is(err, dp.ErrNotCovered) || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, %v, want %q", e, scheme, err, want)
		}
	}
	if !math.IsNaN(dp.Scheme(0).Sensitivity()) {
		t.Error("what is no scheme has a sensitivity")
	}
	if a := dp.NaturalAdjacency("bins"); a != "" {
		t.Errorf("an unknown sampling goes with %q", a)
	}
}

// Rounds with an unknown scheme, or without sampling or adjacency, get no number, from this package and
// from every accountant.
func TestUnknownSchemesAreRefused(t *testing.T) {
	for _, set := range []func(*dp.Event){
		func(e *dp.Event) { e.Sampling = "bins" },
		func(e *dp.Event) { e.Adjacency = "near" },
		func(e *dp.Event) { e.Sampling = "" },
		func(e *dp.Event) { e.Adjacency = "" },
		func(e *dp.Event) { e.Sampling, e.Adjacency = dp.Poisson, dp.ZeroOut },
		func(e *dp.Event) { e.Sampling, e.Adjacency = dp.FixedSize, dp.AddOrRemove },
		func(e *dp.Event) { e.Sampling, e.Adjacency = dp.Shuffle, dp.AddOrRemove },
	} {
		for _, rate := range []float64{0.01, 1} {
			e := poissonRounds()
			e.Rate = rate
			set(&e)
			for _, acc := range accountants() {
				eps, epsErr := acc.Epsilon(t.Context(), []dp.Event{e}, 1e-5)
				delta, deltaErr := acc.Delta(t.Context(), []dp.Event{e}, 1)
				if epsErr == nil || deltaErr == nil || eps != (dp.Bound{}) || delta != (dp.Bound{}) {
					t.Errorf("%s of %+v: %+v, %v; %+v, %v", acc.Name(), e, eps, epsErr, delta, deltaErr)
				}
			}
			if _, err := rdp.Divergence(e.Sampling, e.Adjacency, rate, 6, 2); err == nil {
				t.Errorf("%+v has a divergence", e)
			}
		}
	}
	for _, sampling := range []dp.Sampling{"", "bins", dp.Shuffle, dp.Allocation} {
		m := dp.Mechanism{Sampling: sampling, Adjacency: dp.NaturalAdjacency(sampling), ClipNorm: 1, NoiseMultiplier: 1,
			DatasetSize: 10, Sizes: dp.ConstantSizes(2)}
		if err := m.Validate(1); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("sampling = %q", sampling)) {
			t.Errorf("a mechanism of %q sampling: %v", sampling, err)
		}
		if most, err := m.LargestRelease(2, 10, 1e-9); most != 0 || err == nil {
			t.Errorf("the largest release of %q sampling is %v, %v", sampling, most, err)
		}
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%q sampling is drawn", sampling)
				}
			}()
			m.SampleOf(nil, 2, nil, &dp.SampleScratch{})
		}()
	}
}

// Every field of an Event matters: another value changes the answer of an accountant, or is refused. The
// test fails for a new field until it is classified here, so that no accountant can ignore it.
func TestEveryFieldOfAnEventCounts(t *testing.T) {
	byRate := poissonRounds()
	bySize := byRate
	bySize.Rate, bySize.SampleSize, bySize.DatasetSize = 0, 10, 1000
	unusual := map[string]struct {
		of    dp.Event
		value any
	}{
		"Sampling":        {byRate, dp.Shuffle},
		"Adjacency":       {byRate, dp.ReplaceOne},
		"NoiseMultiplier": {byRate, 3.},
		"SampleSize":      {bySize, 20},
		"DatasetSize":     {bySize, 500},
		"Rate":            {byRate, 0.02},
		"Count":           {byRate, 20_000},
		"Redraw":          {byRate, dp.Once},
		"Group":           {byRate, 2},
		"Truncated":       {bySize, 43},
		"Other":           {byRate, dp.LaplaceNoise},
		"Epsilon":         {byRate, 1.},
		"Delta":           {byRate, 1e-6},
		"Rho":             {byRate, 0.1},
	}
	exempt := map[string]bool{"Noise": true} // Compose reads it: which rounds may be put together
	for i := range reflect.TypeFor[dp.Event]().NumField() {
		field := reflect.TypeFor[dp.Event]().Field(i).Name
		c, ok := unusual[field]
		if ok == exempt[field] {
			t.Errorf("Event.%s is not classified: give it an unusual value here and show that each accountant uses or "+
				"refuses it, or exempt it by name", field)
			continue
		}
		if !ok {
			continue
		}
		changed := c.of
		reflect.ValueOf(&changed).Elem().Field(i).Set(reflect.ValueOf(c.value))
		for _, acc := range accountants() {
			usual, err := acc.Epsilon(t.Context(), []dp.Event{c.of}, 1e-5)
			if err != nil {
				t.Fatalf("%s of %+v: %v", acc.Name(), c.of, err)
			}
			other, err := acc.Epsilon(t.Context(), []dp.Event{changed}, 1e-5)
			if err == nil && other.Epsilon == usual.Epsilon && !notRead(acc, field) {
				t.Errorf("%s of %+v: ε = %v, as of %+v", acc.Name(), changed, other.Epsilon, c.of)
			}
		}
	}
}

// notRead says which fields an accountant may pass over, and why that is safe.
func notRead(acc dp.Accountant, field string) bool {
	// By Theorem simpleF ε depends on σ and δ alone; rate and rounds are conditions, which are
	// met here on both sides, and whose breach is ErrNotCovered.
	return acc.Name() == closedform.Accountant{}.Name() && (field == "SampleSize" || field == "DatasetSize" ||
		field == "Rate" || field == "Count")
}

// Shuffled batches cost at most E Gaussian rounds, of σ under zero-out and of σ/2 under
// replace-one adjacency. The ε are those of the exact trade-off between μ = √E/σ or 2√E/σ and δ
// (Dong, Roth, Su 2022, Corollary 2.13), to four digits as tabulated for δ = 1e-5 and t = 98 by
// an independent program.
func TestShuffledBatches(t *testing.T) {
	for _, c := range []struct {
		sigma            float64
		epochs           int
		zeroOut, replace float64
	}{
		{0.5, 1, 9.997, 24.38}, {0.8, 1, 5.680, 13.21}, {1, 1, 4.377, 9.997}, {2, 1, 1.993, 4.377},
		{0.5, 10, 46.21, 133.1}, {0.8, 10, 24.00, 64.17}, {1, 10, 17.86, 46.21}, {2, 10, 7.511, 17.86},
		{0.5, 50, 159.4, 519.7}, {0.8, 50, 75.94, 230.7}, {1, 50, 54.38, 159.4}, {2, 50, 20.68, 54.38},
	} {
		for adjacency, want := range map[dp.Adjacency]float64{dp.ZeroOut: c.zeroOut, dp.ReplaceOne: c.replace} {
			e := dp.Event{Sampling: dp.Shuffle, Adjacency: adjacency, NoiseMultiplier: c.sigma, Rate: 1. / 98,
				Count: 98 * c.epochs, Redraw: dp.EachEpoch}
			for _, acc := range []dp.Accountant{pld.Accountant{}, gdp.Accountant{}, rdp.Accountant{}} {
				if acc.Name() == (pld.Accountant{}).Name() && (c.epochs != 1 || testkit.Sweeps(t) == 1 && c.sigma != 1) {
					continue // its upper end is that of gdp; its lower end takes time
				}
				b, err := acc.Epsilon(t.Context(), []dp.Event{e}, 1e-5)
				kind, tight := dp.Upper, acc.Name() != (rdp.Accountant{}).Name()
				if acc.Name() == (pld.Accountant{}).Name() {
					kind = dp.Interval
				}
				if err != nil || b.Kind != kind || kind == dp.Upper && b.EpsilonLower != 0 || b.Sampling != dp.Shuffle ||
					b.Adjacency != adjacency {
					t.Fatalf("%s of %+v: %+v, %v", acc.Name(), e, b, err)
				}
				if b.EpsilonUpper < want*(1-1e-3) || tight && b.EpsilonUpper > want*(1+1e-3) {
					t.Errorf("%s of %+v: ε ≤ %v, want %v", acc.Name(), e, b.EpsilonUpper, want)
				}
				d, err := acc.Delta(t.Context(), []dp.Event{e}, b.EpsilonUpper)
				if err != nil || d.Kind != kind || math.Abs(d.DeltaUpper/1e-5-1) > 1e-3 {
					t.Errorf("%s of %+v: δ %+v, %v", acc.Name(), e, d, err)
				}
			}
		}
	}
}

// An attack shows what shuffled batches cost at least: all other gradients are -u, and that of the
// record is u or 0. Then t - 1 sums of one epoch are 0 and one is 2C or C along u, each with noise σC,
// but for a constant. Whoever asks whether the largest sum is above c finds out more than the ε of
// Poisson samples allows (Chua et al., "How Private are DP-SGD Implementations?", ICML 2024).
// It is below the upper bound, and for σ ≤ 1 not far.
func TestShuffledBatchesCostMoreThanPoissonSamples(t *testing.T) {
	const batches, delta = 98, 1e-5
	tail := func(x float64) float64 { return math.Erfc(x/math.Sqrt2) / 2 }
	for _, c := range []struct{ sigma, attack float64 }{{0.5, 9.997}, {0.8, 5.625}, {1, 4.068}} {
		above := func(threshold, mean float64) float64 {
			return -math.Expm1((batches-1)*math.Log1p(-tail(threshold/c.sigma)) +
				math.Log1p(-tail((threshold-mean)/c.sigma)))
		}
		attack := 0.0 // (ε, δ)-privacy says that P ≤ e^ε·Q + δ
		for threshold := 0.0; threshold < 8*c.sigma; threshold += c.sigma / 1000 {
			if p := above(threshold, 2); p > delta {
				attack = max(attack, math.Log((p-delta)/above(threshold, 1)))
			}
		}
		if math.Abs(attack-c.attack) > 1e-3 {
			t.Errorf("σ = %v: the attack shows ε ≥ %v, want %v", c.sigma, attack, c.attack)
		}
		e := dp.Event{Sampling: dp.Shuffle, Adjacency: dp.ZeroOut, NoiseMultiplier: c.sigma, Rate: 1. / batches, Count: batches}
		shuffled, err := pld.Accountant{}.Epsilon(t.Context(), []dp.Event{e}, delta)
		e.Sampling, e.Adjacency = dp.Poisson, dp.AddOrRemove
		poisson, poissonErr := pld.Accountant{}.Epsilon(t.Context(), []dp.Event{e}, delta)
		if err := errors.Join(err, poissonErr); err != nil || !(poisson.EpsilonUpper < attack &&
			attack <= shuffled.EpsilonUpper && shuffled.EpsilonUpper < 1.08*attack) {
			t.Errorf("σ = %v: Poisson ε ≤ %v, attack ε ≥ %v, shuffled ε ≤ %v; %v", c.sigma, poisson.EpsilonUpper, attack,
				shuffled.EpsilonUpper, err)
		}
	}
}

// Where noise or batch size change within an epoch, a record may be in more rounds of the new kind
// than epochs of them begin: with two batches an epoch, one round at σ = 1000 and two at σ = 0.5 are
// two Poisson rounds at rate ½ and σ = 0.5 if all other gradients are 0, and their ε is above that of
// one Gaussian round. Such rounds are refused. What changes between epochs is counted.
func TestShuffledRoundsThatChangeWithinAnEpoch(t *testing.T) {
	shuffled := func(sigma float64, batches, count int) dp.Event {
		return dp.Event{Sampling: dp.Shuffle, Adjacency: dp.ZeroOut, NoiseMultiplier: sigma, Rate: 1 / float64(batches),
			Count: count}
	}
	truth, err := pld.Accountant{}.Epsilon(t.Context(), []dp.Event{{Sampling: dp.Poisson, Adjacency: dp.AddOrRemove,
		NoiseMultiplier: 0.5, Rate: 0.5, Count: 2}}, 1e-5)
	one, oneErr := pld.Accountant{}.Epsilon(t.Context(), []dp.Event{shuffled(0.5, 2, 2)}, 1e-5)
	if err := errors.Join(err, oneErr); err != nil || !(truth.EpsilonLower > one.EpsilonUpper) {
		t.Fatalf("ε ≥ %v, one Gaussian round %v: %v", truth.EpsilonLower, one.EpsilonUpper, err)
	}
	for _, c := range []struct {
		events  []dp.Event
		refused bool
		epochs  float64 // that μ² = epochs at σ = 1 counts
	}{
		{[]dp.Event{shuffled(1000, 2, 1), shuffled(0.5, 2, 2)}, true, 0},
		{[]dp.Event{shuffled(1, 98, 49), shuffled(1, 49, 49), shuffled(1, 98, 49)}, true, 0},
		{[]dp.Event{shuffled(1, 98, 98), shuffled(1, 49, 48), shuffled(1, 98, 98)}, true, 0},
		{[]dp.Event{shuffled(2, 98, 980), shuffled(1, 98, 99)}, false, 2.5 + 2},
		{[]dp.Event{shuffled(1, 98, 49), shuffled(1, 98, 50)}, false, 2},
	} {
		for _, acc := range []dp.Accountant{pld.Accountant{}, gdp.Accountant{}, rdp.Accountant{}} {
			b, err := acc.Epsilon(t.Context(), c.events, 1e-5)
			if c.refused {
				if !errors.Is(err, dp.ErrNotCovered) || !strings.Contains(err.Error(), "must be whole epochs of") {
					t.Errorf("%s of %+v: %+v, %v", acc.Name(), c.events, b, err)
				}
				continue
			}
			want, wantErr := gdp.Epsilon(math.Sqrt(c.epochs), 1e-5)
			if err := errors.Join(err, wantErr); err != nil || b.EpsilonUpper < want*(1-1e-9) ||
				acc.Name() != (rdp.Accountant{}).Name() && b.EpsilonUpper > want*(1+1e-9) {
				t.Errorf("%s of %+v: ε ≤ %v, want %v; %v", acc.Name(), c.events, b.EpsilonUpper, want, err)
			}
		}
	}
}

// An epoch that has begun counts as a whole one. So a number of rounds that is no whole number of epochs
// costs as much as the next whole number.
func TestEpochsOfShuffledBatches(t *testing.T) {
	for _, c := range []struct {
		e               dp.Event
		batches, epochs int
	}{
		{dp.Event{Rate: 1. / 98, Count: 980}, 98, 10},
		{dp.Event{Rate: 1. / 98, Count: 981}, 98, 11},
		{dp.Event{Rate: 1. / 49, Count: 1}, 49, 1},
		{dp.Event{Rate: 1, Count: 7}, 1, 7},
		{dp.Event{SampleSize: 256, DatasetSize: 60000, Count: 15 * 234}, 234, 15},
		{dp.Event{SampleSize: 256, DatasetSize: 60000, Count: 15 * 235}, 234, 16},
		{dp.Event{Rate: 5e-324, Count: math.MaxInt}, math.MaxInt, 1},
	} {
		if b, e := c.e.Batches(), c.e.Epochs(); b != c.batches || e != c.epochs {
			t.Errorf("%+v: %d batches and %d epochs, want %d and %d", c.e, b, e, c.batches, c.epochs)
		}
	}
	for t98 := 1; t98 < 200_000; t98 += 1 + t98/100 {
		if b := (dp.Event{Rate: 1 / float64(t98), Count: 1}).Batches(); b != t98 {
			t.Errorf("%d batches of rate 1/%d", b, t98)
		}
	}
}

// A ledger or a release with an unknown or missing key, or with an unknown scheme, is refused. Otherwise a
// round that is not understood would be counted as another one.
func TestLedgersAreReadWhole(t *testing.T) {
	var l dp.Ledger
	l.Record(poissonRounds())
	text, err := json.Marshal(l)
	if err != nil {
		t.Fatal(err)
	}
	var read dp.Ledger
	if err := json.Unmarshal(text, &read); err != nil || !reflect.DeepEqual(read.Events(), l.Events()) {
		t.Fatalf("%s: %+v, %v", text, read, err)
	}
	for old, with := range map[string]string{
		`"noise_multiplier":6,`: ``,
		`"count":10000`:         `"count":10000,"correlation":0.9`,
		`"poisson"`:             `"bins"`,
		`"add-or-remove"`:       `null`,
		`:10000`:                `:0`,
	} {
		bad := strings.Replace(string(text), old, with, 1)
		if bad == string(text) {
			t.Fatalf("%s is not in %s", old, text)
		}
		if err := json.Unmarshal([]byte(bad), &read); err == nil {
			t.Errorf("%s is read as %+v", bad, read.Events())
		}
		var release dp.Release
		if err := json.Unmarshal([]byte(`{"events":`+bad+`}`), &release); err == nil {
			t.Errorf("%s is read as %+v", bad, release)
		}
	}
}
