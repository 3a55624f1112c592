package experiments

import (
	"strings"
	"testing"

	"proactivedp/sim"
	"proactivedp/train"
)

// ownSpec returns a training on 320 records of one's own.
func ownSpec(model, dataset string) train.Spec {
	s := train.DefaultSpec()
	s.Model, s.Data, s.SampleSize, s.GradComps, s.Clip = model, dataset, "1", 1600, 0.3
	s.Schedule, s.Beta = string(sim.ZeroDecay), 0
	return s
}

// Figures of a user's own data run all of the requested K, for networks and for linear models.
func TestOwnFiguresAreAsAsked(t *testing.T) {
	source := train.NewSource(drawn())
	for _, model := range []string{train.Ridge, "mlp:4"} {
		spec := ownSpec(model, "own.csv")
		spec.NoiseMultiplier = 1
		figures, err := OwnFigures(t.Context(), source, spec, 320, 2, OwnEpsilons, "own-"+model)
		if err != nil {
			t.Fatal(err)
		}
		f := &figureConfig{source: source, set: "own.csv", scale: 1, seeds: 1}
		trainings := 0
		for _, figure := range figures {
			cells, err := figure.cells(t.Context(), f)
			if err != nil || len(cells) == 0 {
				t.Fatalf("%s: %d cells, error %v", figure.Name, len(cells), err)
			}
			for _, c := range cells {
				kind, s := kindOf(t, c)
				if kind == "utility" {
					continue // of a w* that is trained by itself
				}
				trainings++
				if s.GradComps != spec.GradComps || s.Model != model {
					t.Errorf("%s: %s of %s with K = %d, want %d", figure.Name, kind, s.Model, s.GradComps,
						spec.GradComps)
				}
			}
		}
		if trainings == 0 {
			t.Errorf("%s: no trainings", model)
		}
	}
}

// If a user's file has the name of one of the paper's data sets, its figures get other names. They do not
// replace the paper's figures, about which the text makes statements.
func TestOwnFiguresAreNotThePapers(t *testing.T) {
	source := train.NewSource(drawn())
	spec := ownSpec(train.Ridge, "phishing.csv")
	spec.NoiseMultiplier = 1
	for _, c := range []struct{ name, want string }{
		{"phishing-logreg", "own-phishing-logreg-utility"}, {"mnist-lenet", "own-mnist-lenet-utility"},
		{"phishing-mlp", "phishing-mlp-utility"}, {"my-logreg", "my-logreg-utility"},
	} {
		figures, err := OwnFigures(t.Context(), source, spec, 320, 1, OwnEpsilons, c.name)
		if err != nil {
			t.Fatal(err)
		}
		if figures[0].Name != c.want {
			t.Errorf("%s: %s, want %s", c.name, figures[0].Name, c.want)
		}
		for _, f := range figures {
			if registered(f) {
				t.Errorf("%s is a figure of the registry", f.Name)
			}
		}
	}
}

// Figures of a user's own data need a batch size that the number of records allows, and seeds.
func TestOwnFiguresNeedRecordsAndSeeds(t *testing.T) {
	source := train.NewSource(drawn())
	for _, c := range []struct {
		n, seeds int
		size     string
		want     string
	}{
		{0, 1, "1", "must be constant, in [1, n = 0]"}, {320, 1, "0", "in [1, n = 320]"},
		{320, 1, "321", `sample size = "321"`}, {320, 0, "1", "seeds = 0, must be in [1, "},
	} {
		spec := ownSpec(train.Ridge, "own.csv")
		spec.SampleSize = c.size
		_, err := OwnFigures(t.Context(), source, spec, c.n, c.seeds, nil, "my")
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// A sweep around a small sample size has each size once with the same σ, and once with the same ε.
func TestOwnSizesAreEachOnce(t *testing.T) {
	source := train.NewSource(drawn())
	for size, want := range map[string]int{"1": 3, "2": 4, "100": 4, "80": 5} { // of 320 records
		spec := ownSpec(train.Ridge, "own.csv")
		spec.SampleSize, spec.GradComps, spec.NoiseMultiplier = size, 1600, 1
		figures, err := OwnFigures(t.Context(), source, spec, 320, 1, OwnEpsilons, "my-logreg")
		if err != nil {
			t.Fatal(err)
		}
		cells, err := figures[1].cells(t.Context(), &figureConfig{source: source, set: "own.csv", scale: 1, seeds: 1})
		if err != nil {
			t.Fatal(err)
		}
		sizes := map[string]int{}
		for _, c := range cells {
			kind, s := kindOf(t, c)
			if kind == "processor" {
				continue // it measures a time
			}
			if sizes[s.SampleSize]++; sizes[s.SampleSize] > 2 {
				t.Errorf("around %s: s = %s is there more than twice", size, s.SampleSize)
			}
		}
		if len(sizes) != want {
			t.Errorf("around %s: %v, want %d sizes", size, sizes, want)
		}
	}
}

// A single client never waits for another, so there is no figure of delays.
func TestOneClientHasNoDelays(t *testing.T) {
	spec := ownSpec(train.Ridge, "own.csv")
	spec.Clients, spec.NoiseMultiplier = 1, 1
	figures, err := OwnFigures(t.Context(), train.NewSource(drawn()), spec, 320, 1, OwnEpsilons, "my")
	if err != nil || len(figures) != 3 {
		t.Errorf("%d figures, error %v; want 3", len(figures), err)
	}
}
