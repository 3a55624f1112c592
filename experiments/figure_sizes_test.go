package experiments

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"proactivedp/data"
	"proactivedp/data/synth"
	"proactivedp/internal/results"
	"proactivedp/rng"
	"proactivedp/sim"
)

// The comparison of sample sizes has each size twice: with the experiment's σ, where a larger size costs
// more, and with the least σ for one ε. It ends with a recommendation.
func TestSampleSizesAtAnEqualBudget(t *testing.T) {
	figures, err := Select([]string{"phishing-logreg-sample-size-equal"})
	if err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	o := options(t, t.TempDir())
	o.Load = func(context.Context, string) (*data.Dataset, error) { return synth.OneHot(rng.New(3), 400), nil }
	o.Sizes, o.Epsilon, o.Progress = []int{7, 2}, 0.5, &said // in the figure they increase
	if err := Make(t.Context(), figures, o); err != nil {
		t.Fatal(err)
	}
	k, err := readStored(o.Out, figures[0].Name)
	if err != nil {
		t.Fatal(err)
	}
	if k.Epsilon != o.Epsilon || !slices.Equal(k.Sizes, o.Sizes) {
		t.Errorf("manifest: ε = %v, sizes %v", k.Epsilon, k.Sizes)
	}
	all, err := storedPriced(k)
	if err != nil || len(all) != 4 {
		t.Fatalf("%d trainings, error %v; want 2 sizes twice", len(all), err)
	}
	fixed, equal := all[:2], all[2:]
	if a, b := fixed[0], fixed[1]; a.Train.NoiseMultiplier != b.Train.NoiseMultiplier || a.epsilon() >= b.epsilon() {
		t.Errorf("the same σ: σ = %v and %v, ε = %v and %v", a.Train.NoiseMultiplier, b.Train.NoiseMultiplier,
			a.epsilon(), b.epsilon())
	}
	for i, p := range equal {
		if e := p.epsilon(); e > o.Epsilon || e < 0.99*o.Epsilon {
			t.Errorf("s = %s: ε = %v, must be at most %v and near it", p.Train.SampleSize, e, o.Epsilon)
		}
		if p.Train.GradComps != fixed[i].Train.GradComps {
			t.Errorf("s = %s: K = %d and %d", p.Train.SampleSize, p.Train.GradComps, fixed[i].Train.GradComps)
		}
	}
	if !strings.Contains(said.String(), "With the same σ, the costs differ by a factor of 2.7 in ε") || !strings.Contains(said.String(), "ecommended") {
		t.Errorf("no recommendation in %q", said.String())
	}
	timesOfSizes(t, figures, o, fixed)
	for _, epsilon := range []float64{-1, 1e5} {
		o.Epsilon = epsilon
		if err := Make(t.Context(), figures, o); err == nil || !strings.Contains(err.Error(), "epsilon") {
			t.Errorf("ε = %v: error %v", epsilon, err)
		}
	}
}

// forgetTimes removes the times from the manifest of a figure, as if an older program had made it.
func forgetTimes(t *testing.T, o MakeOptions, fig Figure) {
	t.Helper()
	k, err := readStored(o.Out, fig.Name)
	if err != nil {
		t.Fatal(err)
	}
	k.Times, k.SHA256 = nil, ""
	var text bytes.Buffer
	if err := results.WriteManifest(&text, k.Manifest); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(o.Out, fig.Name, results.ManifestFile), text.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
}

// timesOfSizes checks the times of sample sizes. That on the virtual clock is the time of a real training, and is
// computed again if the figure is drawn again. That of hogwild is kept, and measured again only with Add.
func timesOfSizes(t *testing.T, figures []Figure, o MakeOptions, trainings []priced) {
	t.Helper()
	read := func() *storedFigure {
		t.Helper()
		k, err := readStored(o.Out, figures[0].Name)
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	redraw := func() *storedFigure {
		t.Helper()
		if drawn, err := Redraw(t.Context(), figures, MakeOptions{Out: o.Out, Load: o.Load}); err != nil || len(drawn) != 1 {
			t.Errorf("drawn anew: %q, error %v", drawn, err)
		}
		return read()
	}
	k := read()
	d, err := o.Load(t.Context(), "")
	if err != nil || len(k.Times) != len(o.Sizes) {
		t.Fatalf("times %+v, error %v; want one for each of %v", k.Times, err, o.Sizes)
	}
	for i, of := range k.Times {
		spec := trainings[i].Train
		spec.Seed = 1
		p, err := spec.Prepare(d, nil)
		if err != nil {
			t.Fatal(err)
		}
		r, err := p.Run(t.Context(), sim.Perf{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if strconv.Itoa(of.SampleSize) != spec.SampleSize || of.Virtual != clockSeconds(r.Clock) || !(of.Hogwild > 0) {
			t.Errorf("%+v, want s = %s, %v virtual seconds and a time of hogwild", of, spec.SampleSize, clockSeconds(r.Clock))
		}
	}
	if again := redraw(); !reflect.DeepEqual(again.Manifest, k.Manifest) {
		t.Errorf("drawn anew, the manifest is %+v, want %+v", again.Manifest, k.Manifest)
	}
	forgetTimes(t, o, figures[0])
	for i, of := range redraw().Times {
		if want := (SizeTime{k.Times[i].SampleSize, k.Times[i].Virtual, 0}); of != want {
			t.Errorf("drawn without a measured time: %+v, want %+v", of, want)
		}
	}
	o.Add = true
	if err := Make(t.Context(), figures, o); err != nil {
		t.Fatal(err)
	}
	added := read()
	if added.Cells != len(o.Sizes) || len(added.Kept) != 1 || len(added.Kept[0].Series) != 2 || !(added.Times[0].Hogwild > 0) ||
		!reflect.DeepEqual(added.table, k.table) {
		t.Errorf("%d cells, kept %+v, times %+v; want %d cells and the same data", added.Cells, added.Kept, added.Times, len(o.Sizes))
	}
	o.Sizes = []int{2, 8}
	if err := Make(t.Context(), figures, o); err == nil || !strings.Contains(err.Error(), "other sample sizes") {
		t.Errorf("other sizes: error %v", err)
	}
}

// The recommended size is the largest that is as good as the best one: within one standard deviation over
// seeds or, if that is larger, of drawing the rows that judge. So one seed does not make the best run the
// recommended one.
func TestSizesAdvice(t *testing.T) {
	for _, c := range []struct {
		accuracy map[string][]float64
		rows     int
		metric   string
		want     string
	}{
		{map[string][]float64{"1": {0.9, 0.94}, "5": {0.89, 0.91}, "25": {0.7, 0.71}}, 1e6, "", "Recommended: s = 5,"},
		{map[string][]float64{"10": {0.92}, "50": {0.918}, "370": {0.9}}, 10_000, "", "Recommended: s = 50,"},
		{map[string][]float64{"10": {0.92}, "50": {0.918}}, 10_000, "auc", "no size is recommended"},
	} {
		var all []priced
		for size, accuracy := range c.accuracy {
			p := priced{accuracy: accuracy}
			p.Train.SampleSize, p.Train.Metric = size, c.metric
			epsilon := 1.0
			p.Privacy.Certified.PerRecord.EpsilonUpper = &epsilon
			all = append(all, p)
		}
		if text := sizesAdvice(all, all, make([]SizeTime, len(all)), judges{c.rows, 0.5}); !strings.Contains(text, c.want) {
			t.Errorf("%v: %s, want %s", c.accuracy, text, c.want)
		}
	}
	// The sentence says what the recommended size saves, also if the sizes are in another order.
	epsilon := 1.0
	training := func(size string, rounds int) priced {
		p := priced{accuracy: []float64{0.9, 0.9}}
		p.Train.SampleSize, p.Train.Clients, p.Privacy.PerClient.Rounds = size, 5, rounds
		p.Privacy.Certified.PerRecord.EpsilonUpper = &epsilon
		return p
	}
	all := []priced{training("8", 100), training("2", 400)}
	want := "It sends 500 messages in 0.25 s of simulated time (hogwild: 0.1 s of processor time); s = 2 sends 2000 messages in 1.5 s of simulated time."
	if text := sizesAdvice(all, all, []SizeTime{{8, 0.25, 0.1}, {2, 1.5, 0}}, judges{1000, 0.5}); !strings.HasSuffix(text, want) {
		t.Errorf("%s, want %s", text, want)
	}
	if text := sizesAdvice(all[:1], all[:1], []SizeTime{{8, 0.25, 0.1}}, judges{1000, 0.5}); !strings.HasSuffix(text, "use --sizes.") {
		t.Errorf("of one size: %s", text)
	}
	// A model that has not learned is no reason to recommend its size.
	if text := sizesAdvice(all, all, []SizeTime{{8, 0.25, 0.1}, {2, 1.5, 0}}, judges{1000, 0.895}); !strings.Contains(text, "class (0.8950), so none") {
		t.Errorf("of sizes that learn nothing: %s", text)
	}
}
