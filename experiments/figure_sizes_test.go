package experiments

import (
	"context"
	"slices"
	"strings"
	"testing"

	"proactivedp/data"
	"proactivedp/data/synth"
	"proactivedp/rng"
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
	o.Sizes, o.Epsilon, o.Progress = []int{2, 7}, 0.5, &said
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
	if !strings.Contains(said.String(), "Recommended: s = ") {
		t.Errorf("no recommendation in %q", said.String())
	}
	if drawn, err := Redraw(t.Context(), figures, MakeOptions{Out: o.Out, Load: o.Load}); err != nil || len(drawn) != 1 {
		t.Errorf("drawn anew: %q, error %v", drawn, err)
	}
	for _, epsilon := range []float64{-1, 1e5} {
		o.Epsilon = epsilon
		if err := Make(t.Context(), figures, o); err == nil || !strings.Contains(err.Error(), "epsilon") {
			t.Errorf("ε = %v: error %v", epsilon, err)
		}
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
		if text := sizesAdvice(all, all, c.rows); !strings.Contains(text, c.want) {
			t.Errorf("%v: %s, want %s", c.accuracy, text, c.want)
		}
	}
}
