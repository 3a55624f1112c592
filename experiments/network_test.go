package experiments

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"proactivedp/data"
	"proactivedp/dp/claim"
	"proactivedp/internal/results"
	"proactivedp/sim"
	"proactivedp/train"
	"proactivedp/train/pool"
)

// Tables "Basic parameter setting for non-convex problem with MNIST data set" and
// "… for CIFAR10 data set", and what is taken if only one of model and data is
// said.
func TestPaperSettings(t *testing.T) {
	for _, c := range []struct {
		model, data         string
		wantModel, wantData string
		k                   int
		size                string
		sigma, clip         float64
	}{
		{"", "", train.Ridge, "phishing", 50_000, "26", 19.29962, 0.1},
		{"", "own.libsvm", train.Ridge, "own.libsvm", 50_000, "26", 19.29962, 0.1},
		{train.Plain, "mushrooms", train.Plain, "mushrooms", 50_000, "26", 19.29962, 0.1},
		{"", "mnist", pool.MNISTModel, "mnist", 360_000, "370", 12.10881, 0.025},
		{train.LeNetReLU, "", train.LeNetReLU, "mnist", 360_000, "370", 12.10881, 0.025},
		{train.LeNet, "synth-mnist:700", train.LeNet, "synth-mnist:700", 360_000, "370", 12.10881, 0.025},
		{train.AlexNet, "", train.AlexNet, "cifar10", 350_000, "689", 6.572, 0.025},
		{"", "synth-cifar10", train.AlexNet, "synth-cifar10", 350_000, "689", 6.572, 0.025},
		{"tree", "", "tree", "phishing", 50_000, "26", 19.29962, 0.1},
	} {
		s := pool.Train(c.model, c.data)
		if s.Model != c.wantModel || s.Data != c.wantData || s.GradComps != c.k || s.SampleSize != c.size ||
			s.NoiseMultiplier != c.sigma || s.Clip != c.clip || s.Clients != 5 || s.Delay != "1" || s.Delta != 0 {
			t.Errorf("model %q, data %q: %+v", c.model, c.data, s)
		}
	}
	if s := pool.Train(train.AlexNet, ""); s.Schedule != string(sim.SqrtDecay) {
		t.Errorf("AlexNet: schedule %s, want that of the non-convex case", s.Schedule)
	}
}

// The members of a network's figures are the paper's 7 sizes, and 7 budgets with
// a run without noise.
func TestNetworkFiguresHaveThePapersMembers(t *testing.T) {
	f := &figureConfig{source: train.NewSource(digits(3500)), seeds: 2, scale: 0.5}
	for _, c := range []struct {
		figure Figure
		cells  int
	}{
		{mnistExperiment(pool.MNIST(train.LeNet)).sampleSizeFigure(), 7 * 2},
		{mnistExperiment(pool.MNIST(train.LeNet)).epsilonFigure(), 8 * 2},
		{mnistExperiment(pool.MNIST(train.LeNet)).utilityFigure(), 4 * 2},
		{cifarExperiment(pool.CIFAR(train.AlexNet)).sampleSizeFigure(), 7 * 2},
		{cifarExperiment(pool.CIFAR(train.AlexNet)).epsilonFigure(), 8 * 2},
	} {
		if cells, err := c.figure.cells(t.Context(), f); err != nil || len(cells) != c.cells {
			t.Errorf("%s: %d cells, error %v; want %d", c.figure.Name, len(cells), err, c.cells)
		}
	}
	cells, err := mnistExperiment(pool.MNIST(train.LeNet)).sampleSizeFigure().cells(t.Context(), f)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cells {
		if _, spec := kindOf(t, c); spec.GradComps != 180_000 {
			t.Errorf("K = %d at half of the paper's", spec.GradComps)
		}
	}
}

func TestFigureOfANetwork(t *testing.T) {
	figures, err := Select([]string{"mnist-*-sample-size"})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	d := digits(700)
	d.Note = "a note on the rows"
	o := MakeOptions{
		Out: dir, Seeds: 1, Scale: 0.0011, Workers: 2,
		Load:    func(context.Context, string) (*data.Dataset, error) { return d, nil },
		Command: func(figure Figure, synthetic bool) string { return fmt.Sprint(figure.Name, synthetic) },
	}
	if err := Make(t.Context(), figures, o); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, figures[0].Name, results.ManifestFile))
	if err != nil {
		t.Fatal(err)
	}
	var m Manifest
	if err := json.Unmarshal(text, &m); err != nil {
		t.Fatal(err)
	}
	if m.Scale != 0.0011 || m.Data.Train != 600 || m.Data.Note != d.Note || m.Command != figures[0].Name+"true" {
		t.Errorf("manifest %+v", m)
	}
	index, err := os.ReadFile(filepath.Join(dir, indexFile))
	if err != nil || !strings.Contains(string(index), "0.0011 of K") {
		t.Errorf("error %v, index\n%s", err, index)
	}
}

// A scale at which less than one round is left is refused, and the error names it.
func TestTooSmallAScaleIsNamed(t *testing.T) {
	o := options(t, t.TempDir())
	figures, err := Select([]string{"phishing-logreg-sample-size"})
	if err != nil {
		t.Fatal(err)
	}
	o.Scale = 1e-4
	if err := Make(t.Context(), figures, o); err == nil || !strings.Contains(err.Error(), "scale = 0.0001") {
		t.Errorf("error %v", err)
	}
}

// The figure of step sizes has the one that the paper's table of parameters for MNIST prints, and each step size with
// and without noise. Its caption does not say that all lines have one step size.
func TestStepSizesAreWithAndWithoutNoise(t *testing.T) {
	s := mnistExperiment(pool.MNIST(pool.MNISTModel))
	all := s.stepMembers(nil)
	if len(all) != 6 || all[0].name != "0.1/(1+0.01√t) (as printed)" || all[1].name != "0.1/(1+0.01√t) without noise" {
		t.Fatalf("lines %+v", all)
	}
	for i := 0; i < len(all); i += 2 {
		noised, plain := all[i].spec, all[i+1].spec
		if noised.NoiseMultiplier != s.Train.NoiseMultiplier || plain.NoiseMultiplier != 0 ||
			noised.StepText() != plain.StepText() || !all[i+1].reference || all[i].colour != all[i+1].colour {
			t.Errorf("a pair of %+v and %+v", all[i], all[i+1])
		}
	}
	if all[2].spec != s.Train || all[5].spec != s.WithoutNoise() {
		t.Error("the figure lacks the trainings of the other figures")
	}
	f := &figureConfig{source: train.NewSource(drawn()), seeds: 1, scale: 1}
	got := s.curveCaption(f, all, make([]claim.Report, len(all)))
	if !strings.Contains(got, "the step size of each line is in its name") || !strings.Contains(got, "σ = 12.10881; the paper states ε = 0.15007") {
		t.Errorf("caption %s", got)
	}
}

// If a step size is not the paper's, the caption says where it comes from.
func TestCaptionsSayWhoFoundTheStepSize(t *testing.T) {
	const found = ", searched on held-out records"
	for _, s := range experimentList() {
		want := ""
		if s.Train.Data == "mnist" || s.Train.Data == "cifar10" {
			want = found
		}
		if got := s.foundBy(); got != want {
			t.Errorf("%s: %q, want %q", s.name(), got, want)
		}
		if s.own = "mine"; s.foundBy() != "" {
			t.Errorf("%s of one's own: %q, but its step size follows from the noise", s.Train.Model, s.foundBy())
		}
	}
}
