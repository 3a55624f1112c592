//go:build unix

package main

import (
	"math"
	"slices"
	"strings"
	"testing"

	"proactivedp/dp"
	"proactivedp/plan"
)

// The verdict on a figure uses the measured value, and not the rounded one that is printed.
func TestFigureVerdicts(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		figure figure
		want   string
	}{
		{figure{"a", "b", 2.994, 2, " ms", atMost, 3}, "| a | b | 2.99 ms | ≤ 3 ms | met |\n"},
		{figure{"a", "b", 3.001, 2, " ms", atMost, 3}, "| a | b | 3.00 ms | ≤ 3 ms | missed |\n"},
		{figure{"a", "b", 98.99, 1, " %", atLeast, 99}, "| a | b | 99.0 % | ≥ 99 % | missed |\n"},
		{figure{"a", "b", 99, 1, " %", atLeast, 99}, "| a | b | 99.0 % | ≥ 99 % | met |\n"},
		{figure{"a", "b", 0, 0, "", atMost, 0}, "| a | b | 0 | ≤ 0 | met |\n"},
		{figure{"a", "b", 7, 0, "", noTarget, 0}, "| a | b | 7 | – | – |\n"},
		{figure{"a", "b", nan, 0, "", atMost, 1}, "| a | b | NaN | ≤ 1 | missed |\n"},
		{figure{"a", "b", nan, 0, "", atLeast, 1}, "| a | b | NaN | ≥ 1 | missed |\n"},
	} {
		if got := c.figure.String(); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

func TestQuantiles(t *testing.T) {
	x := []float64{9, 1, 8, 2, 7, 3, 6, 4, 5, 10}
	for p, want := range map[float64]float64{0.01: 1, 0.5: 5, 0.9: 9, 0.91: 10, 1: 10} {
		if got := quantile(x, p); got != want {
			t.Errorf("quantile %v = %v, want %v", p, got, want)
		}
	}
	if x[0] != 9 {
		t.Error("the measurements were reordered")
	}
}

func TestIntervals(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		lower, value, upper float64
		width, asked        float64
		sound, narrow       bool
	}{
		{0.9995, 0.9997, 1, 0.0005, 1e-3, true, true},
		{0.99, 0.995, 1, 0.01, 1e-3, true, false},
		{0.00398, 0.00399, 0.004, 0.005, 1e-2, true, true},
		{0, 0, 0, 0, 1e-2, true, true},
		{3, 3, inf, 1, 1e-3, true, false},
		{2, 1.5, 1, -1, 1e-3, false, true}, // no width shows that ends are in the wrong order: that is a row of its own
		{-1e-9, 0, 1, 1, 1e-3, false, false},
		{nan, nan, 1, nan, 1e-3, false, false},
		{1, 1, nan, nan, 1e-3, false, false},
	} {
		b := dp.Bound{EpsilonLower: c.lower, Epsilon: c.value, EpsilonUpper: c.upper}
		if w := width(b); !(math.Abs(w-c.width) < 1e-8) && !(math.IsNaN(w) && math.IsNaN(c.width)) {
			t.Errorf("[%v, %v]: width %v, want %v", c.lower, c.upper, w, c.width)
		}
		if asked(b) != c.asked || sound(b) != c.sound {
			t.Errorf("[%v, %v]: asked for %v, sound %v, want %v, %v", c.lower, c.upper, asked(b), sound(b), c.asked,
				c.sound)
		}
		if narrow := width(b) <= asked(b); narrow != c.narrow {
			t.Errorf("[%v, %v]: as narrow as asked: %v, want %v", c.lower, c.upper, narrow, c.narrow)
		}
	}
	narrow, unknown := dp.Bound{EpsilonLower: 1, EpsilonUpper: 1}, dp.Bound{EpsilonLower: 1, EpsilonUpper: nan}
	if w := widest([]dp.Bound{narrow, unknown, narrow}); !math.IsNaN(w) {
		t.Errorf("widest is %v where one is unknown", w)
	}
}

// There are 99 settings and 15 budgets, each once. The settings of the paper and of the budgets have batch
// sizes.
func TestReferenceSettings(t *testing.T) {
	settings, err := oracleSettings()
	if err != nil {
		t.Fatal(err)
	}
	sizes := 0
	for i, s := range settings {
		if err := s.event.Validate(); err != nil {
			t.Errorf("%+v: %v", s, err)
		}
		if s.event.DatasetSize > 0 {
			sizes++
		}
		if slices.Contains(settings[:i], s) {
			t.Errorf("%+v is there twice", s)
		}
	}
	if len(settings) != 99 || sizes != 42 {
		t.Errorf("%d settings, %d with sizes", len(settings), sizes)
	}
	targets, least, err := oracleTargets()
	if err != nil {
		t.Fatal(err)
	}
	if len(targets) != 15 || len(least) != 15 {
		t.Errorf("%d budgets, %d noise multipliers", len(targets), len(least))
	}
	if got := least[plan.Target{Epsilon: 1, Delta: 1e-5, SampleRate: 0.001, Steps: 1000,
		Sampling: dp.Poisson, Adjacency: dp.AddOrRemove}]; got != 0.6409460257 {
		t.Errorf("least σ %v, want the least of four", got)
	}
}

// Random settings are valid and within their ranges. The same seed gives the same settings, and another
// seed gives others.
func TestRandomSettings(t *testing.T) {
	settings := randomSettings(1000, 1)
	lowest := settings[0].event.Rate
	for _, s := range settings {
		e := s.event
		if e.Validate() != nil || e.Rate < minRate || e.Rate > maxRate || e.NoiseMultiplier < minSigma ||
			e.NoiseMultiplier > maxSigma ||
			e.Count < minRounds || e.Count > maxRounds || s.delta < minDelta || s.delta > maxDelta {
			t.Errorf("%+v", s)
		}
		lowest = min(lowest, e.Rate)
	}
	if lowest > 2*minRate {
		t.Errorf("no rate below %v", lowest)
	}
	if !slices.Equal(settings[:10], randomSettings(10, 1)) || slices.Equal(settings[:10], randomSettings(10, 2)) {
		t.Error("the settings are not those of the seed")
	}
}

// Each part of the benchmark measures a few settings and reports all of them.
func TestMeasurements(t *testing.T) {
	settings, err := oracleSettings()
	if err != nil {
		t.Fatal(err)
	}
	targets, least, err := oracleTargets()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		of      string
		count   int
		measure func() ([]figure, error)
	}{
		{"ε of 3 reference settings", 4, func() ([]figure, error) { return measureOracle(settings[:3], 1) }},
		{"ε of 3 random settings", 7, func() ([]figure, error) { return measureRandom(randomSettings(3, 1), 1) }},
		{"σ for 1 reference budgets", 4, func() ([]figure, error) { return measureCalibration(targets[:1], least, 1) }},
		{"ε of 20 different rounds", 2, func() ([]figure, error) { return measureMixed(mixedEvents(20, 1), 1, 500) }},
		{"plan for N = 10000, k = 5, σ = 19.29962", 1, func() ([]figure, error) {
			return measurePlans(paperSettings()[:1], 1)
		}},
	} {
		figures, err := c.measure()
		if err != nil {
			t.Fatal(err)
		}
		if len(figures) != c.count {
			t.Errorf("%s: %d figures, want %d", c.of, len(figures), c.count)
		}
		for _, f := range figures {
			if f.of != c.of || math.IsNaN(f.value) {
				t.Errorf("%+v, want of %q", f, c.of)
			}
			if timing := strings.HasSuffix(f.what, "time"); timing && !(f.value > 0) {
				t.Errorf("%+v took no time", f)
			}
			if !strings.Contains(f.what, "time") && f.verdict() == "missed" {
				t.Errorf("%+v is missed", f)
			}
		}
	}
	impossible := plan.Request{N: 10, Epochs: 5, Epsilon: 1e-8, Delta: 0.01, Method: plan.ClosedForm}
	if _, err := measurePlans([]plan.Request{impossible}, 1); err == nil {
		t.Error("measured a plan that is not feasible")
	}
}

// The files of all formats have the same rows, and the readers read all of them.
func TestReading(t *testing.T) {
	figures, err := measureReading(t.TempDir(), 40, 1)
	if err != nil || len(figures) != 3 {
		t.Fatalf("%d figures, %v", len(figures), err)
	}
	for _, f := range figures {
		if !(f.value > 0) {
			t.Errorf("%+v took no time", f)
		}
	}
}

// The closed form is an upper bound, so its ε divided by the certified ε is at least 1.
func TestLooseness(t *testing.T) {
	settings, err := plannedSettings(20, 3)
	if err != nil {
		t.Fatal(err)
	}
	figures, err := measureLooseness(settings)
	if err != nil || len(figures) != 3 || figures[0].verdict() != "met" || figures[0].value > figures[1].value ||
		figures[1].value > figures[2].value {
		t.Errorf("%+v, %v", figures, err)
	}
}

func TestMediansOfBenchmarks(t *testing.T) {
	m, err := medians(strings.NewReader(`goos: linux
pkg: proactivedp/models/lenet
BenchmarkDPStep/batch=26 	 716 	 1134054 ns/op	 51.90 GFLOP/s	 22927 samples/s	 3 B/op
BenchmarkDPStep/batch=26 	 716 	 1134054 ns/op	 53.90 GFLOP/s	 22929 samples/s	 3 B/op
BenchmarkDPStep/batch=26 	 716 	 1134054 ns/op	 52.00 GFLOP/s	 20000 samples/s	 3 B/op
BenchmarkGaussian/n=69     	     716	    128.8 ns/op	         1.867 ns/float
PASS
`))
	if err != nil {
		t.Fatal(err)
	}
	var n neural
	for _, c := range []struct {
		name, unit string
		want       float64
	}{
		{"DPStep/batch=26", "GFLOP/s", 52}, {"DPStep/batch=26", "samples/s", 22927},
		{"Gaussian/n=69", "sec/float", 1.867e-9},
	} {
		if got := n.get(m, c.name, c.unit); n.err != nil || math.Abs(got-c.want) > 1e-12*c.want {
			t.Errorf("%s, %s: %v, %v, want %v", c.name, c.unit, got, n.err, c.want)
		}
	}
	if n.get(m, "DPStep/batch=27", "samples/s"); n.err == nil {
		t.Error("a benchmark that did not run has a value")
	}
}
