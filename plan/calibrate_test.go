package plan

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"proactivedp/dp"
	"proactivedp/dp/closedform"
	"proactivedp/dp/gdp"
	"proactivedp/dp/pld"
	"proactivedp/dp/rdp"
	"proactivedp/internal/testkit"
)

// counted counts the questions put to an accountant.
type counted struct {
	dp.Accountant
	calls *int
}

func counting(acc dp.Accountant) counted { return counted{acc, new(int)} }

func (c counted) Epsilon(ctx context.Context, events []dp.Event, delta float64) (dp.Bound, error) {
	*c.calls++
	return c.Accountant.Epsilon(ctx, events, delta)
}

func calibrate(t *testing.T, target Target, acc dp.Accountant) *Calibration {
	t.Helper()
	c, err := Calibrate(t.Context(), natural(target), acc)
	if err != nil {
		t.Fatalf("%+v: %v", target, err)
	}
	return c
}

// natural returns t under Poisson sampling, and the adjacency that goes with its sampling, where
// it says nothing of them.
func natural(t Target) Target {
	e := Complete(dp.Event{Sampling: t.Sampling, Adjacency: t.Adjacency}, dp.Poisson, "")
	t.Sampling, t.Adjacency = e.Sampling, e.Adjacency
	return t
}

// Public libraries search for the least σ with different accountants. The result here is within 1e-3 of
// the least that they find, and a σ smaller by 1e-3 is proved to be too small.
func TestCalibrateAgainstPeers(t *testing.T) {
	noises, err := testkit.Noises()
	if err != nil {
		t.Fatal(err)
	}
	least := map[Target]float64{}
	for _, n := range noises {
		target := Target{Epsilon: n.Epsilon, Delta: n.Delta, SampleRate: n.Q, Steps: n.T}
		if s, ok := least[target]; !ok || n.Sigma < s {
			least[target] = n.Sigma
		}
	}
	if len(least) < 12 {
		t.Fatalf("%d settings", len(least))
	}
	for target, sigma := range least {
		acc := counting(pld.Accountant{})
		c := calibrate(t, target, acc)
		if math.Abs(c.Sigma/sigma-1) > 1e-3 {
			t.Errorf("%+v: σ = %v, the peers' least is %v", target, c.Sigma, sigma)
		}
		if c.EpsilonUpper > target.Epsilon || c.EpsilonLower > c.EpsilonUpper {
			t.Errorf("%+v: %+v", target, c)
		}
		if *acc.calls > 8 {
			t.Errorf("%+v: %d accountings", target, *acc.calls)
		}
		e := c.Event()
		e.NoiseMultiplier *= 1 - 1e-3
		if b, err := acc.Epsilon(t.Context(), []dp.Event{e}, target.Delta); err != nil ||
			!(b.EpsilonLower > target.Epsilon) {
			t.Errorf("%+v: σ = %v would do: %+v, %v", target, e.NoiseMultiplier, b, err)
		}
	}
}

// One release of all records is 1/σ-Gaussian DP (2/σ under replace-one), so the
// least σ is 1/μ(ε, δ).
func TestCalibrateOneGaussianRelease(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 1))
	for range 30 {
		target := Target{Epsilon: logUniform(r, 0.01, 20), Delta: logUniform(r, 1e-12, 1e-2), SampleRate: 1, Steps: 1}
		sensitivity := 1.0
		if r.IntN(2) == 0 {
			target.Adjacency, sensitivity = dp.ReplaceOne, 2
		}
		mu, err := gdp.Mu(target.Epsilon, target.Delta)
		if err != nil {
			t.Fatal(err)
		}
		c := calibrate(t, target, gdp.Accountant{})
		if excess := c.Sigma/(sensitivity/mu) - 1; !(excess >= -1e-12 && excess < 2e-4) {
			t.Errorf("%+v: σ = %v, want %v", target, c.Sigma, sensitivity/mu)
		}
	}
}

// For each of the three unknowns, the result is within the target when accounted for again, and slightly
// more of it is not.
func TestCalibrateIsCertifiedAndTight(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 2))
	for i := range 60 {
		acc := dp.Accountant(rdp.Accountant{})
		target := Target{Epsilon: logUniform(r, 0.1, 8), Delta: logUniform(r, 1e-9, 1e-4)}
		switch r.IntN(3) {
		case 0:
			target.Adjacency = dp.ReplaceOne
		case 1:
			target.Sampling = dp.FixedSize // under replace-one, its natural adjacency
		}
		sigma, q, steps := logUniform(r, 0.8, 30), logUniform(r, 1e-4, 0.1), int(logUniform(r, 1, 1e5))
		var more func(e *dp.Event)
		switch i % 3 {
		case 0:
			target.SampleRate, target.Steps = q, steps
			more = func(e *dp.Event) { e.NoiseMultiplier *= 1 - 1e-3 }
		case 1:
			target.Sigma, target.Steps = sigma, steps
			more = func(e *dp.Event) { e.Rate *= 1 + 1e-3 }
		case 2:
			target.Sigma, target.SampleRate = sigma, q
			more = func(e *dp.Event) { e.Count += 1 + e.Count/1000 }
		}
		c, err := Calibrate(t.Context(), natural(target), acc)
		var infeasible *Infeasible
		if errors.As(err, &infeasible) {
			continue
		} else if err != nil {
			t.Fatalf("%+v: %v", target, err)
		}
		e := c.Event()
		b, err := acc.Epsilon(t.Context(), []dp.Event{e}, target.Delta)
		if err != nil || b != c.Bound() || b.EpsilonUpper > target.Epsilon {
			t.Errorf("%+v: %+v, accounted again %+v, %v", target, c, b, err)
		}
		if more(&e); e.Rate > 1 || e.Count > maxSteps {
			continue
		}
		if b, err := acc.Epsilon(t.Context(), []dp.Event{e}, target.Delta); err != nil ||
			b.EpsilonUpper <= target.Epsilon {
			t.Errorf("%+v: %+v, but %+v is within the target too: %v, %v", target, c, e, b.EpsilonUpper, err)
		}
	}
}

// By Theorem simpleF the least σ is σ_eq(ε, δ), as long as the rates leave room.
func TestCalibrateClosedForm(t *testing.T) {
	c := calibrate(t, Target{Epsilon: 0.5, Delta: 1e-4, SampleRate: 0.002, Steps: 1000}, closedform.Accountant{})
	want, err := closedform.Sigma(0.5, 1e-4)
	if excess := c.Sigma/want - 1; err != nil || !(excess >= 0 && excess < 2e-4) || c.Kind != dp.Upper {
		t.Errorf("%+v, want σ_eq = %v", c, want)
	}
	// (treq1): no noise helps a rate that is too large.
	if c, err := Calibrate(t.Context(), natural(Target{Epsilon: 0.5, Delta: 1e-4, SampleRate: 0.5, Steps: 1000}),
		closedform.Accountant{}); !errors.Is(err, dp.ErrNotCovered) {
		t.Errorf("%+v, %v", c, err)
	}
}

// Sizes may be given instead of a rate. The answer is the same, and the sizes are kept and printed.
func TestCalibrateBySizes(t *testing.T) {
	bySizes := Target{Epsilon: 1, Delta: 1e-3, Steps: 1000, SampleSize: 10, DatasetSize: 1000}
	c := calibrate(t, bySizes, pld.Accountant{})
	byRate := calibrate(t, Target{Epsilon: 1, Delta: 1e-3, Steps: 1000, SampleRate: 0.01}, pld.Accountant{})
	if e := c.Event(); e.SampleSize != 10 || e.DatasetSize != 1000 || e.Validate() != nil {
		t.Errorf("sizes are lost: %+v", e)
	}
	if !strings.Contains(c.Statement(), "not below 1/N") || strings.Contains(byRate.Statement(), "not below 1/N") {
		t.Errorf("δ = 1/N:\n%s\nand of an unknown N:\n%s", c.Statement(), byRate.Statement())
	}
	c.SampleSize, c.DatasetSize = 0, 0
	if *c != *byRate {
		t.Errorf("%+v by sizes, %+v by their rate", c, byRate)
	}
	for _, wrong := range []Target{
		{Epsilon: 1, Delta: 1e-3, Steps: 1000, SampleSize: 10},
		{Epsilon: 1, Delta: 1e-3, Steps: 1000, DatasetSize: 10},
		{Epsilon: 1, Delta: 1e-3, Steps: 1000, SampleSize: 11, DatasetSize: 10},
		{Epsilon: 1, Delta: 1e-3, Steps: 1000, SampleSize: 1, DatasetSize: 10, SampleRate: 0.1},
	} {
		if natural(wrong).Validate() == nil {
			t.Errorf("%+v is allowed", wrong)
		}
	}
}

// The largest batch size for N records: one record more is proved to be too many, by an accountant whose
// interval is narrow compared with the cost of a record.
func TestCalibrateTheSampleSizeOfN(t *testing.T) {
	for _, tt := range []struct {
		target Target
		acc    dp.Accountant
		all    bool // the budget allows all N
	}{
		{Target{Epsilon: 1, Delta: 1e-5, Sigma: 2, Steps: 1000, DatasetSize: 20000}, pld.Accountant{}, false},
		{Target{Epsilon: 0.3, Delta: 1e-6, Sigma: 5, Steps: 300, DatasetSize: 777}, pld.Accountant{}, false},
		{Target{Epsilon: 2, Delta: 1e-5, Sigma: 3, Steps: 2000, DatasetSize: 60000, Sampling: dp.FixedSize},
			rdp.Accountant{}, false},
		{Target{Epsilon: 1, Delta: 1e-5, Sigma: 20, Steps: 10, DatasetSize: 200}, pld.Accountant{}, true},
	} {
		c := calibrate(t, tt.target, tt.acc)
		if c.SolvedFor != "sample_size" || c.DatasetSize != tt.target.DatasetSize ||
			c.SampleRate != float64(c.SampleSize)/float64(c.DatasetSize) || !(c.EpsilonUpper <= tt.target.Epsilon) {
			t.Errorf("%+v: %+v", tt.target, c)
		}
		if all := c.SampleSize == c.DatasetSize; all != tt.all {
			t.Errorf("%+v: s = %d", tt.target, c.SampleSize)
		} else if all {
			continue
		}
		e := c.Event()
		e.SampleSize++
		if b, err := tt.acc.Epsilon(t.Context(), []dp.Event{e}, c.Delta); err != nil ||
			!(b.EpsilonUpper > tt.target.Epsilon) {
			t.Errorf("%+v: s = %d would do, too: %+v, %v", tt.target, e.SampleSize, b, err)
		}
	}
	none := Target{Epsilon: 1, Delta: 1e-5, Sigma: 0.3, Steps: 100_000, DatasetSize: 10}
	if _, err := Calibrate(t.Context(), natural(none), pld.Accountant{}); err == nil ||
		!strings.Contains(err.Error(), "even s = 1 costs") || !strings.Contains(err.Error(), "raise σ to ") ||
		strings.Contains(err.Error(), "lower q") {
		t.Errorf("one of ten records: %v", err)
	}
	for _, n := range []int{-1, 1_000_000_001} {
		none.DatasetSize = n
		if err := none.Validate(); err == nil || !strings.Contains(err.Error(), "data set size") {
			t.Errorf("N = %d: %v", n, err)
		}
	}
}

func TestCalibrationJSON(t *testing.T) {
	c := calibrate(t, Target{Epsilon: 1, Delta: 1e-5, SampleRate: 0.01, Steps: 1000}, pld.Accountant{})
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`{"sigma":1.41`, `"sample_rate":0.01,"steps":1000,"epsilon_lower":0.99`, `"epsilon":0.99`,
		`"epsilon_upper":0.99`, `"target_epsilon":1,"delta":0.00001`,
		`"adjacency":"add-or-remove","sampling":"poisson","accountant":"pld","kind":"interval","solved_for":"sigma"}`,
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %s in %s", want, text)
		}
	}
	var b strings.Builder
	if err := c.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	b.WriteString(c.Statement())
	for _, want := range []string{"σ = 1.414622 for ε ≤ 1 at", "1.41", "q     0.01\n", "T     1000\n", "cost  ε in [",
		"certified upper bound, by the pld accountant", "add-or-remove adjacency with Poisson sampling",
		"T = 1000 counts the rounds of all clients that hold the record."} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
}

// With samplings that have epochs, the rounds of several clients are no rounds of one: four clients with one round each
// of four batches cost a record as much as four Poisson samples at rate 1/4, which is more than one epoch of one client.
// So the statement is for one client.
func TestCalibrationOfEpochsIsOfOneClient(t *testing.T) {
	target := Target{Epsilon: 1, Delta: 1e-5, SampleRate: 0.25, Steps: 4, Sampling: dp.Allocation, Adjacency: dp.AddOrRemove,
		Redraw: dp.EachEpoch}
	c, err := Calibrate(t.Context(), target, pld.Accountant{})
	if err != nil {
		t.Fatal(err)
	}
	together := c.Event()
	together.Sampling, together.Redraw = dp.Poisson, ""
	if b, err := (pld.Accountant{}).Epsilon(t.Context(), []dp.Event{together}, target.Delta); err != nil || b.EpsilonLower <= target.Epsilon {
		t.Errorf("four clients: %+v, %v, must be above %v", b, err, target.Epsilon)
	}
	if text := c.Statement(); !strings.HasSuffix(text, "T = 4 counts the rounds of one client; each other client that holds the record "+
		"costs as much again.") {
		t.Error(text)
	}
}

// If the answer is an end of the searched range, and not the limit of the budget, the text says so.
func TestCalibrationTextTellsOfAnEnd(t *testing.T) {
	for _, c := range []struct {
		target Target
		want   string
	}{
		{Target{Epsilon: 1e3, Delta: 1e-5, SampleRate: 0.01, Steps: 1}, "σ = 0.05 is the least noise multiplier that pld covers, and more noise than the budget needs: it costs ε ≤ "},
		{Target{Epsilon: 1, Delta: 1e-5, SampleRate: 1e-6, Sigma: 1e6}, "T = 1000000000 is the largest number of rounds that is searched: it costs ε ≤ "},
		{Target{Epsilon: 10, Delta: 1e-5, Sigma: 10, Steps: 10}, "Every sample rate is within the budget: q = 1 costs ε ≤ "},
		{Target{Epsilon: 10, Delta: 1e-5, Sigma: 10, Steps: 10, DatasetSize: 1000}, "Every batch size is within the budget: s = N = 1000 costs ε ≤ "},
		{Target{Epsilon: 1, Delta: 1e-5, SampleRate: 0.01, Steps: 1000}, ""},
		{Target{Epsilon: 1, Delta: 1e-5, SampleRate: 1, Sigma: 4}, ""}, // two rounds would cost far more
	} {
		got, err := Calibrate(t.Context(), natural(c.target), pld.Accountant{})
		if err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		if err := got.WriteText(&out); err != nil || !strings.HasPrefix(out.String(), c.want) ||
			c.want == "" && strings.Contains(out.String(), "is allowed") {
			t.Errorf("%+v: %s, %v", c.target, out.String(), err)
		}
	}
}

// If the budget cannot be met, the error has the cost of the safest value, and remedies that work.
func TestCalibrateInfeasible(t *testing.T) {
	for _, tt := range []struct {
		target Target
		want   []string
	}{
		{Target{Epsilon: 0.1, Delta: 1e-6, Sigma: 1, SampleRate: 0.5},
			[]string{"no steps meets the budget: even one step costs ε = ", ", above 0.1: raise σ to ",
				", or lower q to "}},
		{Target{Epsilon: 1e-4, Delta: 1e-15, SampleRate: 1, Steps: 1_000_000},
			[]string{"no sigma", "even σ = 1e+06 costs ε = ", "lower q to ", "lower the steps to "}},
		{Target{Epsilon: 1e-3, Delta: 1e-12, Sigma: 0.5, Steps: 1_000_000_000},
			[]string{"no sample_rate", "even q = 1e-09 costs ε = ", "raise σ to "}},
	} {
		c, err := Calibrate(t.Context(), natural(tt.target), rdp.Accountant{})
		var infeasible *Infeasible
		if !errors.As(err, &infeasible) || len(infeasible.Remedies) == 0 {
			t.Fatalf("%+v: %+v, %v", tt.target, c, err)
		}
		for _, want := range tt.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%+v: no %q in %v", tt.target, want, err)
			}
		}
	}
	// An approximation bounds nothing, and the closed form no replace-one.
	for _, tt := range []struct {
		target Target
		acc    dp.Accountant
	}{
		{Target{Epsilon: 1, Delta: 1e-5, SampleRate: 0.01, Steps: 1000}, gdp.Accountant{}},
		{Target{Epsilon: 1, Delta: 1e-5, SampleRate: 0.01, Steps: 1000, Adjacency: dp.ReplaceOne},
			closedform.Accountant{}},
	} {
		if c, err := Calibrate(t.Context(), natural(tt.target), tt.acc); !errors.Is(err, dp.ErrNotCovered) {
			t.Errorf("%s: %+v, %v", tt.acc.Name(), c, err)
		}
	}
}

func TestTargetRefusals(t *testing.T) {
	good := natural(Target{Epsilon: 1, Delta: 1e-5, SampleRate: 0.01, Steps: 1000})
	for _, tt := range []struct {
		set  func(*Target)
		want string
	}{
		{func(t *Target) { t.Epsilon = 0 }, "epsilon = 0, must be in [1e-08, 10000]"},
		{func(t *Target) { t.Epsilon = math.NaN() }, "epsilon = NaN"},
		{func(t *Target) { t.Delta = 1 }, "delta = 1, must be in [1e-300, "},
		{func(t *Target) { t.SampleRate = 1.5 }, "sample rate = 1.5, must be in [1e-09, 1]"},
		{func(t *Target) { t.Steps = -1 }, "steps = -1, must be in [1, 1000000000]"},
		{func(t *Target) { t.Sigma = 1 }, "sigma = 1, sample rate = 0.01 and steps = 1000, two of them must be given"},
		{func(t *Target) { t.Steps = 0 }, "sigma = 0, sample rate = 0.01 and steps = 0, two of them must be given"},
		{func(t *Target) { t.Steps, t.Sigma = 0, 0.01 }, "sigma = 0.01, must be in [0.05, 1e+06]"},
		{func(t *Target) { t.Sampling = "" }, `sampling = "", must be`},
		{func(t *Target) { t.Adjacency = "" }, `adjacency = "", must be`},
		{func(t *Target) { t.Sampling = "some" }, `sampling = "some"`},
		{func(t *Target) { t.Adjacency = "near" }, `adjacency = "near"`},
	} {
		target := good
		tt.set(&target)
		if c, err := Calibrate(t.Context(), target, rdp.Accountant{}); c != nil || err == nil ||
			!strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v: want %q, got %v", target, tt.want, err)
		}
	}
}

// The reason for a missing cost is printed once, and can be tested with errors.Is.
func TestInfeasibleSaysWhyOnce(t *testing.T) {
	target := Target{Epsilon: 1, Delta: 1e-5, Steps: 10, SampleRate: 0.9}
	_, calibrated := Calibrate(t.Context(), natural(target), closedform.Accountant{})
	rounds := []dp.Event{{Sampling: dp.Poisson, Adjacency: dp.AddOrRemove, Rate: 0.9, Count: 10}}
	_, _, least := LeastNoise(t.Context(), rounds, 1, 1e-5, closedform.Accountant{})
	for _, err := range []error{calibrated, least} {
		infeasible := new(Infeasible)
		if !errors.As(err, &infeasible) || !errors.Is(err, dp.ErrNotCovered) ||
			strings.Count(err.Error(), "no guarantee") != 1 {
			t.Errorf("%v", err)
		}
	}
}
