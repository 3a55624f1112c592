package train

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"proactivedp/data"
	"proactivedp/data/synth"
	"proactivedp/rng"
	"proactivedp/sim"
)

// Everything that a training leaves behind names the widths of a perceptron, whether or not the user gave
// them, and can be used to continue.
func TestPerceptronIsNamedInFull(t *testing.T) {
	for given, want := range map[string]string{"mlp": "mlp:32", "mlp-relu": "mlp-relu:32", "mlp:8:4": "mlp:8:4"} {
		s := smallSpec()
		s.Model = given
		p, err := s.Prepare(drawn(), nil)
		if err != nil {
			t.Fatal(err)
		}
		r, err := p.Train(t.Context(), sim.Perf{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		f, err := p.Forecast(t.Context(), sim.Perf{})
		if err != nil {
			t.Fatal(err)
		}
		own, err := NewSource(drawn()).PrepareOwn(s, 0, 300)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "model")
		if err := r.Save(path, NewInputs(p.Read(), "", nil)); err != nil {
			t.Fatal(err)
		}
		saved, err := OpenModel(path)
		if err != nil {
			t.Fatal(err)
		}
		names := []string{p.Spec.Model, p.Config.Model.Name(), r.Spec.Model, f.Spec.Model, own.Spec.Model,
			saved.Spec.Model, p.identity().Spec.Model, FullName(given)}
		if slices.ContainsFunc(names, func(n string) bool { return n != want }) {
			t.Errorf("%s is named %v, want %s", given, names, want)
		}
		if r.AUC == nil || r.Loss == nil {
			t.Errorf("%s: %+v", given, r.Judgement)
		}
		if labels, err := saved.Predict(p.Read()); err != nil || len(labels) != 400 {
			t.Errorf("%s: %d labels, error %v", given, len(labels), err)
		}
	}
	for _, name := range []string{"logreg", "", "mlp:", "no"} {
		if FullName(name) != name {
			t.Errorf("the full name of %q is %q", name, FullName(name))
		}
	}
}

// For an invalid name of a perceptron, every spec reports the mistake and suggests the right form.
func TestPerceptronsThatAreNone(t *testing.T) {
	for name, want := range map[string]string{
		"mlp:0":    `width of hidden layer 1 = "0" in model = "mlp:0", must be a whole number in [1, 4096]`,
		"mlp:8,4":  "as in mlp:64:32",
		"MLP:8":    "did you mean mlp?",
		"lenet:32": "did you mean lenet?",
	} {
		s := smallSpec()
		s.Model = name
		if err := s.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", name, err, want)
		}
	}
	s := smallSpec()
	s.Model = "mlp:4096:4096:4096:4096:4096"
	if _, err := s.Prepare(drawn(), nil); err == nil || !strings.Contains(err.Error(), "must be at most 67108864") {
		t.Errorf("too many parameters: error %v", err)
	}
}

// pairs draws rows of four numbers ±1 of which the first two are of one sign in class 1 and
// of two in class 0: each column by itself says nothing of the class.
func pairs(t *testing.T, rows int) *data.Dataset {
	t.Helper()
	s := rng.New(5).Stream(rng.Synthetic, 0, 0)
	x, labels := make([][]float32, rows), make([]int32, rows)
	for i := range x {
		for range 4 {
			x[i] = append(x[i], float32(2*s.IntN(2)-1))
		}
		if x[i][0] == x[i][1] {
			labels[i] = 1
		}
	}
	d, err := data.FromRows("pairs", x, labels)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// A perceptron learns what no linear model can, also with the noise of a certified ε = 1. The
// seeds are fixed: nothing here is left to chance.
func TestPerceptronLearnsPairs(t *testing.T) {
	source := NewSource(pairs(t, 2000))
	for _, model := range []string{Plain, Softmax, MLP, "mlp-relu:16", "mlp:16:8"} {
		s := DefaultSpec()
		s.Model, s.Data, s.Clients, s.NoiseMultiplier, s.Clip = model, source.Data().Name, 1, 0, 0.5
		s.SampleSize, s.GradComps, s.Eta0, s.Beta, s.Schedule = "100", 30_000, 0.05, 0, string(sim.ZeroDecay)
		plain, err := source.Prepare(s)
		if err != nil {
			t.Fatal(err)
		}
		private, err := plain.Calibrate(t.Context(), 1)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range []*Prepared{plain, private} {
			r, err := p.Train(t.Context(), sim.Perf{}, nil)
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%s, σ = %.3g: accuracy %v", model, p.Spec.NoiseMultiplier, r.TestAccuracy)
			linear := model == Plain || model == Softmax
			if linear && r.TestAccuracy > 0.7 || !linear && r.TestAccuracy < 0.95 {
				t.Errorf("%s, σ = %v: accuracy %v", model, p.Spec.NoiseMultiplier, r.TestAccuracy)
			}
		}
	}
}

// A perceptron can be trained on a sparse table of 100,000 features. The forecast includes its working
// memory, but no copy of the rows, which only linear models have.
func TestPerceptronOnWideRows(t *testing.T) {
	narrow := synth.OneHot(rng.New(3), 60)
	wide := *narrow
	wide.Features = 100_000
	wide.Index = slices.Clone(narrow.Index)
	for i := range wide.Index {
		wide.Index[i] *= 5000
	}
	s := smallSpec()
	s.Model, s.Clients, s.SampleSize, s.GradComps = "mlp:2", 1, "3", 9
	p, err := s.Prepare(&wide, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := wide.Validate(); err != nil || p.Config.Model.NumParams() != 200_008 {
		t.Fatalf("%d parameters, error %v", p.Config.Model.NumParams(), err)
	}
	for _, part := range p.memory(sim.Perf{}) {
		if part.What == "rows of a linear model" || part.What == "scratch of gradients" && part.Bytes < 16*4*100_000 {
			t.Errorf("%+v", part)
		}
	}
	if _, err := p.Train(t.Context(), sim.Perf{}, nil); err != nil {
		t.Error(err)
	}
}
