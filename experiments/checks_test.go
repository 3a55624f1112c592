package experiments

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"proactivedp/data"
	"proactivedp/data/synth"
	"proactivedp/rng"
	"proactivedp/train"
)

// A sweep compares the requested batch sizes. Its manifest lists them, so it can be drawn again. Other
// kinds of figures do not change.
func TestSizesAreAsAsked(t *testing.T) {
	figures, err := Select([]string{"phishing-logreg-sample-size", "phishing-logreg-delay"})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	o := options(t, dir)
	o.Load = func(context.Context, string) (*data.Dataset, error) { return synth.OneHot(rng.New(3), 400), nil }
	o.Sizes = []int{7, 2}
	if err := Make(t.Context(), figures, o); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		figure string
		sizes  []int
		want   []string
	}{
		{"phishing-logreg-sample-size", []int{7, 2}, []string{"7", "2"}},
		{"phishing-logreg-delay", nil, nil},
	} {
		k, err := readStored(dir, c.figure)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(k.Sizes, c.sizes) {
			t.Errorf("%s: sizes %v in the manifest, want %v", c.figure, k.Sizes, c.sizes)
		}
		var sizes []string
		if i := slices.Index(k.table.Header, "sample_size"); i >= 0 {
			for _, row := range k.table.Rows {
				sizes = append(sizes, row[i])
			}
		}
		if got := slices.Compact(sizes); !slices.Equal(got, c.want) {
			t.Errorf("%s: sample sizes %q, want %q", c.figure, got, c.want)
		}
	}
	sweep := figures[:1]
	if drawn, err := Redraw(t.Context(), sweep, MakeOptions{Out: dir, Load: o.Load}); err != nil || len(drawn) != 1 {
		t.Errorf("drawn anew: %q, error %v", drawn, err)
	}
}

// A sweep is refused before anything is trained or written if its list has an element twice, is too long,
// or is empty.
func TestSweepsAreBounded(t *testing.T) {
	many := make([]int, maxSweep+1)
	for i := range many {
		many[i] = i + 1
	}
	for _, c := range []struct {
		sizes []int
		want  []string
	}{
		{[]int{5, 0, 5, -1}, []string{"5 is listed twice", "sample size = 0", "sample size = -1"}},
		{many, []string{"51 given, must be at most 50"}},
	} {
		o := options(t, filepath.Join(t.TempDir(), "out"))
		o.Sizes = c.sizes
		err := Make(t.Context(), nil, o)
		for _, want := range c.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v: error %v, want %q", c.sizes, err, want)
			}
		}
		if _, err := os.Stat(o.Out); !os.IsNotExist(err) {
			t.Errorf("%v: a folder was written", c.sizes)
		}
	}
	if err := checkSizes(many[:maxSweep]); err != nil {
		t.Error(err)
	}
	for _, epsilons := range [][]float64{{1, 1}, {0}, {math.NaN()}, {math.Inf(1)}, {-1}} {
		if CheckEpsilons(epsilons) == nil {
			t.Errorf("epsilons %v are taken", epsilons)
		}
		if _, err := OwnFigures(t.Context(), train.NewSource(drawn()), ownSpec(train.Ridge, "own.csv"), 320, 1,
			epsilons, "own"); err == nil {
			t.Errorf("figures of epsilons %v", epsilons)
		}
	}
	if err := CheckEpsilons(OwnEpsilons); err != nil {
		t.Error(err)
	}
}

// The ε sweep of a user's own data has a training for each requested ε, which costs at most that, and one
// without noise.
func TestEpsilonsAreAsAsked(t *testing.T) {
	source := train.NewSource(drawn())
	spec := ownSpec(train.Ridge, "own.csv")
	spec.NoiseMultiplier = 1
	asked := []float64{3, 0.7}
	figures, err := OwnFigures(t.Context(), source, spec, 320, 1, asked, "own")
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(figures, func(f Figure) bool { return f.Name == "own-epsilon" })
	f := &figureConfig{source: source, set: "own.csv", scale: 1, seeds: 1}
	cells, err := figures[i].cells(t.Context(), f)
	if err != nil || len(cells) != 1+len(asked) {
		t.Fatalf("%d trainings, error %v; want %d", len(cells), err, 1+len(asked))
	}
	for j, epsilon := range asked {
		_, one := kindOf(t, cells[j+1])
		report, err := f.planned(t.Context(), one)
		if err != nil {
			t.Fatal(err)
		}
		if got := *report.Certified.PerRecord.EpsilonUpper; got > epsilon || got < 0.99*epsilon {
			t.Errorf("σ = %v costs ε ≤ %v, want a little less than %v", one.NoiseMultiplier, got, epsilon)
		}
	}
}
