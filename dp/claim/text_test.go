package claim

import (
	"math"
	"strings"
	"testing"

	"proactivedp/dp"
	"proactivedp/dp/pld"
	"proactivedp/rng"
)

func event(size, n, count int, sigma float64) dp.Event {
	return dp.Event{
		Sampling: dp.Poisson, Adjacency: dp.AddOrRemove, NoiseMultiplier: sigma, SampleSize: size, DatasetSize: n,
		Count: count,
	}
}

// A statement says what is released, whom it protects, ε, δ, adjacency, sampling and the accountant, and
// whether it is a guarantee.
func TestStatement(t *testing.T) {
	bound := func(k dp.Kind, lo, eps, hi float64) dp.Bound {
		return dp.Bound{EpsilonLower: lo, Epsilon: eps, EpsilonUpper: hi, DeltaLower: 1e-5, Delta: 1e-5,
			DeltaUpper: 1e-5, Kind: k, Accountant: "some", Adjacency: dp.ReplaceOne, Sampling: dp.FixedSize}
	}
	fixed := func(size, n, count int, sigma float64) dp.Event {
		e := event(size, n, count, sigma)
		e.Sampling, e.Adjacency = dp.FixedSize, dp.ReplaceOne
		return e
	}
	e := fixed(100, 10000, 500, 8.25)
	all := []string{"Every round releases the sum of clipped gradients with noise", "intermediate model and the final model",
		"replace-one adjacency with fixed-size sampling", "at δ = 1e-05", "some",
		"fixed before the first release", "when to stop, from released results is not covered"}
	for _, tt := range []struct {
		text string
		want []string
		not  string
	}{
		{Statement(PerRecord, bound(dp.Upper, 0, 1.234561, 1.234561), e),
			append(all, "all clients that hold it",
				"500 rounds with sample rate q = 0.01 and noise multiplier σ = 8.25 (s = 100 of N = 10000)",
				"ε ≤ 1.2346 at", "an upper bound"), "APPROX"},
		{Statement(PerClient, bound(dp.Interval, 1.23456, 1.23457, 1.234561), e),
			append(all, "that client only", "ε ≤ 1.2346", "at least 1.2345", "certified"), "APPROX"},
		{Statement(PerRecord, bound(dp.Exact, 1.5, 1.5, 1.5), e), append(all, "ε = 1.5 at", "exact"), "APPROX"},
		{Statement(PerRecord, bound(dp.Approximation, 0, 1.5, math.Inf(1)), e),
			append(all, "about 1.5", "APPROXIMATION", "not a guarantee"), "≤"},
		{Statement(PerRecord, bound(dp.Interval, 1, 2, math.Inf(1)), e),
			[]string{"No ε can be stated", "some accountant"}, "Inf"},
		{Statement(PerRecord, bound(dp.Upper, 0, 1, 1)), []string{"and the final model. For one record"}, ": ."},
		{Statement(PerRecord, bound(dp.Upper, 0, 1, 1), e, fixed(1, 30000, 1, 3), fixed(2, 3, 1, 9), e),
			[]string{"1002 rounds with sample rates q from 3.33333e-05 to 0.666667 and noise multipliers σ from 3 to 9"},
			"s ="},
		{Statement(PerRecord, bound(dp.Upper, 0, 1, 1), fixed(1, 3, 1, 1)), []string{"sample rate q = 0.333334 and"}, "WEAK"},
	} {
		for _, want := range tt.want {
			if !strings.Contains(tt.text, want) {
				t.Errorf("no %q in %s", want, tt.text)
			}
		}
		if strings.Contains(tt.text, tt.not) || strings.Contains(tt.text, "\n") {
			t.Errorf("%q in %s", tt.not, tt.text)
		}
	}
}

// For each view (per client, per record), the report names the accountant and the side on which ε is
// proved. If there is no ε, it says why.
func TestReportText(t *testing.T) {
	at := func(x float64) *float64 { return &x }
	old := Report{ // as older versions wrote it, with the closed form in the flat keys
		Delta: 1e-5, NoiseMultiplier: 2, Accountant: "closed-form", Adjacency: dp.AddOrRemove, Sampling: dp.Poisson,
		PerRecord: View{EpsilonUpper: at(1.25), Kind: dp.Upper, DatasetSize: 100, Rounds: 50, SampleRate: 0.01},
		PerClient: View{DatasetSize: 20, Rounds: 10, SampleRate: 0.05, Reason: "θ is too large"},
		Certified: Privacy{
			PerRecord: Claim{EpsilonLower: at(0.5), EpsilonUpper: at(0.75), Kind: dp.Interval, Accountant: "pld",
				Delta: 1e-5, Adjacency: dp.AddOrRemove, Sampling: dp.Poisson, DatasetSize: 100, Rounds: 50, GradComps: 50},
			PerClient: Claim{EpsilonLower: at(0), EpsilonUpper: at(0.25), Kind: dp.Upper, Accountant: "pld",
				Reason: "of a client that computes more", DatasetSize: 20, Rounds: 10, GradComps: 10},
		},
		Sum: "changes little",
	}
	r := old.Current()
	if r.Accountant != "pld" || *r.EpsilonUpper != 0.75 || *r.EpsilonLower != 0.5 || r.Kind != dp.Interval ||
		*r.PerRecord.EpsilonUpper != 0.75 || *r.PerClient.EpsilonUpper != 0.25 || r.Sum != old.Sum ||
		*r.ClosedForm.PerRecord.EpsilonUpper != 1.25 || r.ClosedForm.Accountant != "closed-form" {
		t.Errorf("%+v", r)
	}
	if again := r.Current(); again.ClosedForm != r.ClosedForm || again.EpsilonUpper != r.EpsilonUpper {
		t.Errorf("%+v is changed again: %+v", r, again)
	}
	r.Sum = ""
	const want = `privacy         σ = 2, δ = 1e-05, add-or-remove adjacency, poisson sampling
  per record    N = 100, 50 rounds at mean sample rate 0.01
    closed-form ε ≤ 1.25, an upper bound
    pld         0.5 ≤ ε ≤ 0.75, a certified interval
  per client    N = 20, 10 rounds at mean sample rate 0.05
    closed-form no ε claimed: θ is too large
    pld         ε ≤ 0.25, an upper bound of a client that computes more
`
	var text strings.Builder
	if err := r.WriteStatement(&text); err != nil || text.String() != want {
		t.Errorf("%v:\n%swant\n%s", err, text.String(), want)
	}
	text.Reset()
	const line = "privacy         ε ≤ 0.75 at δ = 1e-05 for a record (certified by pld), under add-or-remove adjacency with Poisson sampling\n"
	if err := r.WriteText(&text); err != nil || text.String() != line {
		t.Errorf("%v:\n%swant\n%s", err, text.String(), line)
	}
}

// The one line of a report warns of a seed, of noise that is not drawn exactly, and of a weak δ, at every σ above 0.
func TestReportLine(t *testing.T) {
	upper := 0.75
	for _, c := range []struct {
		change     func(*Report)
		want, none string
	}{
		{func(*Report) {}, "for a record (certified by pld)", "drawn"},
		{func(r *Report) { r.Drawn = Drawn(true, nil) }, "; drawn exactly", "floating"},
		{func(r *Report) { r.Drawn = Drawn(false, nil) }, "; drawn in floating point, use --exact", "drawn exactly"},
		{func(r *Report) { r.Drawn, r.NoiseMultiplier = Drawn(false, nil), 0 }, "", "drawn"},
		{func(r *Report) { r.Noise, r.Simulation = []rng.Name{{Root: "seed:1"}}, true }, "SIMULATION", "WEAK"},
		{func(r *Report) { r.PerClient.DatasetSize = 100_001 }, "; WEAK: δ is not below 1/N, 1e-07 or less", "SIMULATION"},
		{func(r *Report) { r.PerClient.DatasetSize = 99_999 }, "", "WEAK"},
		{func(r *Report) { r.Sampling = dp.FixedSize }, "fixed-size sampling", "WEAK"},
		{func(r *Report) { r.Sampling = dp.Allocation }, "random allocation", "WEAK"},
		{func(r *Report) { r.Group = 1 }, "for a person with one record (", "up to"},
		{func(r *Report) { r.Group = 2 }, "for a person with up to 2 records (", "for a record"},
	} {
		r := Report{EpsilonUpper: &upper, Delta: 1e-5, NoiseMultiplier: 0.5, Accountant: "pld", Kind: dp.Interval,
			Adjacency: dp.AddOrRemove, Sampling: dp.Poisson}
		c.change(&r)
		if got := r.Line(); !strings.Contains(got, c.want) || strings.Contains(got, c.none) {
			t.Errorf("%s, must have %q and not %q", got, c.want, c.none)
		}
		var text strings.Builder
		err := r.WriteStatement(&text)
		if err != nil || strings.Contains(text.String(), "SIMULATION") != r.Simulation ||
			strings.Contains(text.String(), "on its own, uniformly") != (r.Sampling == dp.Allocation) {
			t.Errorf("%v\n%s", err, &text)
		}
	}
}

// A bound on one line has its ε, the side and the accountant, and warns of a simulation and a weak δ.
func TestLine(t *testing.T) {
	e := event(1, 10, 1, 1)
	e.Adjacency, e.Sampling = dp.AddOrRemove, dp.Poisson
	b := dp.Bound{EpsilonLower: 1, Epsilon: 1, EpsilonUpper: 1.00001, Delta: 1e-5, DeltaUpper: 1e-5, DeltaLower: 1e-5,
		Kind: dp.Interval, Accountant: "pld", Adjacency: dp.AddOrRemove, Sampling: dp.Poisson}
	if got, want := Line(b, e), "Privacy: ε ≤ 1.0001 at δ = 1e-05 for a record (certified by pld), under add-or-remove adjacency with "+
		"Poisson sampling; noise assumed to be independent."; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	e.Noise = dp.Noise{Name: rng.Name{Root: "seed:1"}, Client: dp.AllClients}
	b.Kind, b.Delta, b.DeltaLower, b.DeltaUpper = dp.Upper, 0.5, 0.5, 0.5
	for _, want := range []string{"upper bound by pld", "SIMULATION", "WEAK"} {
		if got := Line(b, e); !strings.Contains(got, want) {
			t.Errorf("no %q in %s", want, got)
		}
	}
	b.EpsilonLower, b.EpsilonUpper = 2e6, 3e6
	if got := Line(b, e); !strings.Contains(got, "above 1000000") {
		t.Error(got)
	}
	b.Adjacency = "near"
	if got := Line(b, e); !strings.Contains(got, "no ε for a record") {
		t.Error(got)
	}
}

// If a bound has no upper end, a table shows its proved lower end.
func TestShortHasNoUpperEnd(t *testing.T) {
	for want, b := range map[string]*dp.Bound{
		"no ε": nil, "ε ≥ 1.2345 (no upper bound)": {EpsilonLower: 1.23456, EpsilonUpper: math.Inf(1), Kind: dp.Interval},
		"ε in [1.2345, 1.2346]":         {EpsilonLower: 1.23451, EpsilonUpper: 1.23452, Kind: dp.Interval},
		"ε ≤ 1.2346":                    {EpsilonUpper: 1.23451, Kind: dp.Upper},
		"ε about 1.2346 (no guarantee)": {Epsilon: 1.23451, EpsilonUpper: math.Inf(1), Kind: dp.Approximation},
	} {
		if got := Short(b); got != want {
			t.Errorf("%+v is shown as %s, want %s", b, got, want)
		}
	}
}

// Rounds that have epochs are those of one client, if nothing says whose they are.
func TestUnitOf(t *testing.T) {
	of := func(s dp.Sampling) dp.Event { return dp.Event{Sampling: s} }
	for _, c := range []struct {
		events []dp.Event
		want   Unit
	}{
		{[]dp.Event{of(dp.Poisson)}, PerRecord}, {[]dp.Event{of(dp.FixedSize)}, PerRecord},
		{[]dp.Event{of(dp.Shuffle)}, PerClient}, {[]dp.Event{of(dp.Allocation)}, PerClient},
		{[]dp.Event{of(dp.Allocation), of(dp.Allocation)}, PerRecord}, {nil, PerRecord},
	} {
		if got := UnitOf(c.events...); got != c.want {
			t.Errorf("%v: %s, want %s", c.events, got, c.want)
		}
	}
}

// A statement calls the sampling by its name.
func TestStatementNamesTheSampling(t *testing.T) {
	b := dp.Bound{Epsilon: 1, EpsilonUpper: 1, Delta: 1e-5, DeltaUpper: 1e-5, Kind: dp.Upper, Accountant: "some"}
	for sampling, want := range map[dp.Sampling]string{
		dp.Poisson:   "add-or-remove adjacency with Poisson sampling",
		dp.FixedSize: "replace-one adjacency with fixed-size sampling",
		dp.Shuffle:   "zero-out adjacency with shuffled batches",
	} {
		e := event(1, 10, 1, 1)
		b.Sampling, b.Adjacency = sampling, dp.NaturalAdjacency(sampling)
		e.Sampling, e.Adjacency = b.Sampling, b.Adjacency
		if text := Statement(PerRecord, b, e); !strings.Contains(text, want) {
			t.Errorf("no %q in %s", want, text)
		}
	}
}

// If settings were chosen by earlier results, the statement says that the filter covers this, and which
// filter. It also says whether the choice was recorded, or is assumed to have been fixed before.
func TestAdaptiveStatement(t *testing.T) {
	b := dp.Bound{Epsilon: 0.300001, EpsilonUpper: 0.300001, DeltaLower: 1e-5, Delta: 1e-5, DeltaUpper: 1e-5,
		Kind: dp.Upper, Accountant: "rdp-filter", Adjacency: dp.AddOrRemove, Sampling: dp.Poisson}
	e := event(100, 10000, 500, 8.25)
	for _, tt := range []struct {
		orders   []float64
		recorded bool
		want     []string
	}{
		{[]float64{12.5}, true, []string{"at order α = 12.5, and", "are those recorded before the first release"}},
		{[]float64{12.5}, false, []string{"are assumed to have been fixed before the first release: there is no " +
			"record"}},
		{[]float64{12.5, 31}, true, []string{"at 2 orders α = 12.5, 31, each with its share of δ"}},
	} {
		text := AdaptiveStatement(PerRecord, b, tt.orders, tt.recorded, e)
		for _, want := range append(tt.want, "all clients that hold it", "500 rounds with sample rate q = 0.01",
			"ε ≤ 0.30001 at δ = 1e-05 (an upper bound, by the rdp-filter accountant), under add-or-remove adjacency "+
				"with Poisson sampling. Rates, noise, C and when to stop may have been chosen from earlier "+
				"results",
			"however little of it is spent", "Choices made by looking at the data are not covered.") {
			if !strings.Contains(text, want) {
				t.Errorf("no %q in %s", want, text)
			}
		}
		if strings.Contains(text, "number of rounds are assumed to be") {
			t.Errorf("fixed and adaptive: %s", text)
		}
	}
}

// A bound with unknown sampling or adjacency, or with others than those of the rounds, is not stated.
func TestUnknownSchemesAreNotStated(t *testing.T) {
	e := dp.Event{Sampling: dp.Poisson, Adjacency: dp.AddOrRemove, NoiseMultiplier: 2, Rate: 0.01, Count: 10}
	b := dp.Bound{Epsilon: 1, EpsilonUpper: 1, Delta: 1e-5, DeltaLower: 1e-5, DeltaUpper: 1e-5, Kind: dp.Upper,
		Accountant: "pld", Sampling: dp.Poisson, Adjacency: dp.AddOrRemove}
	if text := Statement(PerRecord, b, e); !strings.Contains(text, "ε ≤ 1 at δ = 1e-05") {
		t.Fatal(text)
	}
	var second dp.Event
	for want, set := range map[string]func(){
		`sampling = "bins", must be`:  func() { b.Sampling, e.Sampling = "bins", "bins" },
		`adjacency = "near", must be`: func() { b.Adjacency, e.Adjacency = "near", "near" },
		`sampling = "", must be`:      func() { b.Sampling, e.Sampling = "", "" },
		"event 0: fixed sampling under replace-one adjacency, must be as in the bound": func() {
			e.Sampling, e.Adjacency = dp.FixedSize, dp.ReplaceOne
		},
		"event 1: group = 2, must be 0 as in event 0": func() { second.Group = 2 },
		"event 1: group = 1, must be 2 as in event 0": func() { e.Group, second.Group = 2, 1 },
	} {
		keptBound, keptEvent := b, e
		second = e
		set()
		for _, text := range []string{Statement(PerRecord, b, e, second), AdaptiveStatement(PerClient, b, []float64{2}, true, e, second),
			BudgetStatement(PerRecord, b, e, second)} {
			if !strings.HasPrefix(text, "No ε can be stated for ") || !strings.Contains(text, want) ||
				strings.Contains(text, "1e-05") {
				t.Errorf("%s: %s", want, text)
			}
		}
		b, e = keptBound, keptEvent
	}
	e.Sampling = "bins"
	if c, err := Of(t.Context(), pld.Accountant{}, []dp.Event{e}, 1e-5); err == nil {
		t.Errorf("claimed for an unknown sampling: %+v", c)
	}
}

// A statement about shuffled batches names the epochs, and says that the ε for Poisson sampling does not
// hold for them.
func TestShuffledBatchesAreStated(t *testing.T) {
	e := dp.Event{Sampling: dp.Shuffle, Adjacency: dp.ZeroOut, NoiseMultiplier: 1, Rate: 1. / 98, Count: 980}
	b, err := pld.Accountant{}.Epsilon(t.Context(), []dp.Event{e}, 1e-5)
	if err != nil {
		t.Fatal(err)
	}
	text := Statement(PerRecord, b, e)
	for _, want := range []string{"980 rounds in 10 epochs of t = 98 whole batches, with noise multiplier σ = 1",
		"ε ≤ 17.857 at δ = 1e-05 (a certified upper bound, by the pld accountant; the smallest such ε is at least 9.",
		"), under zero-out adjacency with shuffled batches", "The lower end is an attack",
		"The ε of Poisson sampling does not hold for a data loader that shuffles"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in: %s", want, text)
		}
	}
}

// A statement about random allocation says which rounds draw the batches anew. It says for whom ε holds.
func TestAllocationIsStated(t *testing.T) {
	b := dp.Bound{Epsilon: 1, EpsilonUpper: 1, Delta: 1e-5, DeltaLower: 1e-5, DeltaUpper: 1e-5, Kind: dp.Upper, Accountant: "pld",
		Sampling: dp.Allocation, Adjacency: dp.AddOrRemove}
	anew := dp.Event{Sampling: dp.Allocation, Adjacency: dp.AddOrRemove, NoiseMultiplier: 1, Rate: 0.1, Redraw: dp.EachEpoch, Count: 20}
	once := anew
	once.Redraw = dp.Once
	for want, events := range map[string][]dp.Event{
		"Each epoch draws the batches anew. Every":       {anew, anew},
		"Each record keeps its batch for all epochs":     {once, once},
		"Some rounds draw the batches anew in each epoc": {once, anew},
	} {
		if text := Statement(PerRecord, b, events...); !strings.Contains(text, want) || !strings.Contains(text, "For one record, in") {
			t.Errorf("no %q in %s", want, text)
		}
	}
	anew.Group = 1
	if text := Statement(PerRecord, b, anew); !strings.Contains(text, "For a person with one record, in all rounds of all clients that hold them") {
		t.Error(text)
	}
	weak := anew
	weak.DatasetSize = 100_000
	for lower, want := range map[float64]bool{1e-5: true, 0: false} { // a δ that was asked is no choice
		if b.DeltaLower = lower; WeakDelta(b, weak) != want {
			t.Errorf("δ in [%v, %v]: weak %v", b.DeltaLower, b.DeltaUpper, !want)
		}
	}
}
