package audit

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"proactivedp/dp"
	"proactivedp/dp/pld"
	"proactivedp/sim"
)

// level is about what one test of the battery has by default.
const level = 1e-3 / 15

// find runs the probe of that name and returns what it found.
func find(t *testing.T, name string, o Options) Finding {
	t.Helper()
	battery, err := probes()
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(battery, func(p probe) bool { return p.name == name })
	battery[i].share = 1
	found, _, err := battery[i].run(t.Context(), &o, level)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func options(f Fault, runs int) Options {
	o := DefaultOptions()
	o.Fault, o.Runs, o.Workers = f, runs, 2
	return o
}

// With full batches, the mechanism is exactly Gaussian. So the lower bound on ε comes close to the claimed
// ε, within a factor of 2, and stays below it. A false alarm has a probability of at most 2·level, and the
// seed is fixed.
func TestWholeMechanismIsCloseToItsClaim(t *testing.T) {
	f := find(t, "full-batch", options(NoFault, 16_000))
	if f.Violated || f.EpsilonLowerBound > f.EpsilonUpper || f.EpsilonLowerBound < f.EpsilonUpper/2 {
		t.Errorf("ε ≥ %v, claimed %v", f.EpsilonLowerBound, f.EpsilonUpper)
	}
}

// With exactly drawn noise, the correct mechanism passes every probe and check, and noise of half the size
// is found. LeNet is left out: its noise is drawn by the same code, and it would take half of the time.
func TestExactMechanismIsWhole(t *testing.T) {
	o := options(NoFault, MinRuns)
	o.Exact = true
	a, err := newAudit(&o)
	if err != nil {
		t.Fatal(err)
	}
	a.watches = slices.DeleteFunc(a.watches, func(w watch) bool { return w.name == "lenet" })
	a.probes = slices.DeleteFunc(a.probes, func(p probe) bool { return p.name == "lenet" })
	if m, err := a.alarm(t.Context()); m.By != "" || m.Replayed || err != nil {
		t.Errorf("alarm by %q, replayed %v: %v", m.By, m.Replayed, err)
	}
	if r := newReport(o, a, []Finding{{}}, nil, 0); !r.Exact {
		t.Error("the report does not say that the noise is exact")
	}
	o = options(HalfNoise, MinRuns)
	o.Exact = true
	a, err = newAudit(&o)
	if err != nil {
		t.Fatal(err)
	}
	crowd, err := a.make(t.Context(), watchPart+"crowd")
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(crowd.Checks, func(c Check) bool { return c.Name == "noise" && c.Failed }) {
		t.Errorf("half of the noise is not found: %+v", crowd.Checks)
	}
}

// Each planted fault is found by the probe that was made for it. The table uses both runners. A fault does
// not change the claim.
func TestPlantedFaultsAreFound(t *testing.T) {
	if testing.Short() {
		t.Skip("many runs, as concurrent as those of TestWorkersChangeNothing")
	}
	for _, c := range []struct {
		fault Fault
		probe string
		runs  int
	}{
		{HalfNoise, "full-batch", 12_000},
		{NoClip, "pair", 600},
		{NoClip, "logreg", 3000},
		{FixedSample, "sampled", 600},
		{ReusedNoise, "pair", 600},
		{SilentEmptyBatch, "pair", 2000},
		{BatchClip, "full-batch", 12_000},
	} {
		o := options(c.fault, c.runs)
		if c.runs < 5000 {
			o.Runner = Hogwild
		}
		f := find(t, c.probe, o)
		if !f.Violated || f.EpsilonLowerBound <= f.EpsilonUpper {
			t.Errorf("%s was not found by %s with %s: ε ≥ %v, claimed %v", c.fault, c.probe, o.Runner,
				f.EpsilonLowerBound, f.EpsilonUpper)
		}
		whole := find(t, c.probe, options(NoFault, MinRuns))
		if f.EpsilonUpper != whole.EpsilonUpper {
			t.Errorf("%s changed the claim of %s from %v to %v", c.fault, c.probe, whole.EpsilonUpper, f.EpsilonUpper)
		}
	}
}

// The claimed ε counts all rounds of all clients that hold the canary (the record in question).
func TestClaims(t *testing.T) {
	for _, c := range []struct {
		probe string
		event dp.Event
	}{
		{"full-batch", dp.Event{NoiseMultiplier: 2, SampleSize: 3, DatasetSize: 3, Count: 2 * 3}},
		{"sampled", dp.Event{NoiseMultiplier: 1, SampleSize: 1, DatasetSize: 16, Count: 2 * 8}},
		{"shard", dp.Event{NoiseMultiplier: 1, SampleSize: 2, DatasetSize: 4, Count: 4}},
	} {
		c.event.Sampling, c.event.Adjacency = dp.Poisson, dp.AddOrRemove
		want, err := pld.Accountant{}.Epsilon(t.Context(), []dp.Event{c.event}, DefaultOptions().Delta)
		if err != nil {
			t.Fatal(err)
		}
		if got := find(t, c.probe, options(NoFault, MinRuns)).EpsilonUpper; got != want.EpsilonUpper {
			t.Errorf("%s claims %v, want %v", c.probe, got, want.EpsilonUpper)
		}
	}
}

// A whole audit gives the same report for any number of workers, except for the time.
func TestWorkersChangeNothing(t *testing.T) {
	var first *Report
	for _, workers := range []int{1, 3} {
		o := options(NoFault, 200)
		o.Workers = workers
		r, err := Run(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		r.Seconds = 0
		for i := range r.Probes {
			r.Probes[i].RunsPerSecond = 0
		}
		if first == nil {
			first = r
		} else if !reflect.DeepEqual(r, first) {
			t.Errorf("%d workers: %+v, one: %+v", workers, r, first)
		}
		if r.Violated || r.EpsilonLowerBound > r.EpsilonUpper || r.EpsilonLowerBound <= 0 {
			t.Errorf("ε ≥ %v, claimed %v", r.EpsilonLowerBound, r.EpsilonUpper)
		}
		// No claim, no test and no check is left out of the union bound.
		tests := len(r.Checks)
		for _, f := range r.Probes {
			tests += max(1, len(f.Tests))
		}
		if r.Tests != tests {
			t.Errorf("%d tests share the probability of error, there are %d", r.Tests, tests)
		}
	}
}

// The audited runs are asynchronous: in every probe, some clients are ahead of others.
func TestProbesAreAsynchronous(t *testing.T) {
	battery, err := probes()
	if err != nil {
		t.Fatal(err)
	}
	o := options(NoFault, MinRuns)
	for _, p := range battery {
		ahead := 0
		w := newWorld(p.name, "with", p.setting, make([]bool, p.data.Len()), &o,
			func(*sim.Client, []float32, *sim.Workspace) error { return nil })
		for i := range MinRuns {
			result, err := w.run(t.Context(), i)
			if err != nil {
				t.Fatal(err)
			}
			ahead += result.MaxLag
		}
		if ahead < MinRuns/2 {
			t.Errorf("%s: a client was ahead in %d of %d runs", p.name, ahead, MinRuns)
		}
	}
}

func TestValidateReportsEverything(t *testing.T) {
	o := Options{Fault: "half", FaultSize: 2, Runner: "walk", Runs: 1, Delta: 0, Confidence: 1}
	_, err := Run(t.Context(), o)
	if err == nil {
		t.Fatal("accepted")
	}
	for _, want := range []string{"fault = \"half\"", "runner = \"walk\"", "runs = 1", "delta = 0", "confidence = 1",
		"workers = 0"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not say %s", err, want)
		}
	}
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	cancel(why)
	for _, runner := range []Runner{Virtual, Hogwild} {
		o := options(NoFault, MinRuns)
		o.Runner = runner
		if _, err := Run(ctx, o); !errors.Is(err, why) && !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", runner, err)
		}
	}
}
