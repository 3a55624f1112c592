package models_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"proactivedp/data"
	"proactivedp/models"
	"proactivedp/models/logreg"
	"proactivedp/models/softmax"
)

// The AUC is the share of pairs of two classes in their order, a tie counted half, as the
// statistic of Mann and Whitney counts them one by one.
func TestAUCCountsPairs(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 4))
	m, err := logreg.NewPlain(1)
	if err != nil {
		t.Fatal(err)
	}
	params := []float32{2, -1} // the score is 2x - 1
	for range 200 {
		n := 2 + r.IntN(30)
		rows, labels := make([][]float32, n), make([]int32, n)
		for i := range rows {
			rows[i], labels[i] = []float32{float32(r.IntN(6))}, int32(r.IntN(2))
		}
		labels[0], labels[1] = 0, 1
		d, err := data.FromRows("drawn", rows, labels)
		if err != nil {
			t.Fatal(err)
		}
		order, pairs := 0.0, 0.0
		for i := range rows {
			for j := range rows {
				if labels[i] == 1 && labels[j] == 0 {
					pairs++
					switch x, y := rows[i][0], rows[j][0]; {
					case x > y:
						order++
					case x == y:
						order += 0.5
					}
				}
			}
		}
		got := models.Evaluate(m, params, all(d), m.NewScratch()).AUC
		if want := order / pairs; got == nil || math.Abs(*got-want) > 1e-12 {
			t.Fatalf("%v with labels %v: AUC %v, want %v", rows, labels, got, want)
		}
	}
}

// There is no AUC if there are no pairs or no scores.
func TestNoAUC(t *testing.T) {
	m, err := logreg.NewPlain(1)
	if err != nil {
		t.Fatal(err)
	}
	one, err := data.FromRows("one", [][]float32{{1}, {2}}, []int32{1, 1})
	if err != nil {
		t.Fatal(err)
	}
	nan := []float32{float32(math.NaN()), 0}
	for name, c := range map[string]struct {
		m      models.Model
		params []float32
		b      data.Batch
	}{
		"no rows":      {m, []float32{1, 0}, data.Batch{Data: one}},
		"one class":    {m, []float32{1, 0}, all(one)},
		"not a number": {m, nan, all(one)},
		"no scores":    {struct{ models.Model }{m}, []float32{1, 0}, all(one)},
	} {
		if area := models.Evaluate(c.m, c.params, c.b, m.NewScratch()).AUC; area != nil {
			t.Errorf("%s: AUC %v", name, *area)
		}
	}
}

// evaluated returns a data set with one feature, and a softmax model that gives class k the logit w_k·x + b_k.
func evaluated(t *testing.T, x []float32, labels []int32, w ...float32) (*data.Dataset, *softmax.Model, []float32) {
	t.Helper()
	rows := make([][]float32, len(x))
	for i := range x {
		rows[i] = []float32{x[i]}
	}
	d, err := data.FromRows("evaluated", rows, labels)
	if err != nil {
		t.Fatal(err)
	}
	m, err := softmax.New(1, d.Classes)
	if err != nil {
		t.Fatal(err)
	}
	return d, m, w
}

// A worked example of three classes. Predicted is the class with the largest of -x, 0.5 and x.
func TestEvaluateThreeClasses(t *testing.T) {
	d, m, w := evaluated(t, []float32{-2, -1, 0, 1, 2, 3}, []int32{0, 1, 1, 1, 2, 2}, -1, 0, 1, 0, 0.5, 0)
	e := models.Evaluate(m, w, all(d), m.NewScratch())
	// Predictions: 0 0 1 2 2 2.
	if want := [][]int{{1, 0, 0}, {1, 1, 1}, {0, 0, 2}}; !slices.EqualFunc(e.Confusion, want, slices.Equal[[]int]) {
		t.Errorf("confusion %v, must be %v", e.Confusion, want)
	}
	near := func(name string, got, want float64) {
		t.Helper()
		if math.Abs(got-want) > 1e-12 {
			t.Errorf("%s %v, must be %v", name, got, want)
		}
	}
	near("accuracy", e.Accuracy, 4./6)
	near("accuracy", e.Accuracy, models.Accuracy(m, w, all(d), m.NewScratch(), nil))
	near("balanced accuracy", e.BalancedAccuracy, (1+1./3+1)/3)
	near("F1", e.F1, (2./3+1./2+4./5)/3)
	near("log loss", *e.LogLoss, m.Loss(w, all(d), m.NewScratch()))
	// Pairs in order: class 0 has 5 of 5; class 1 has (x = -1, 0, 1 against -2, 2, 3) 9 of 9 by closeness to 0;
	// class 2 has 8 of 8.
	near("AUC", *e.AUC, 1)
	if got, want := e.Class(2), (models.ClassResult{Count: 2, Predicted: 3, Precision: 2. / 3, Recall: 1, F1: 0.8}); got != want {
		t.Errorf("class 2: %+v, must be %+v", got, want)
	}
}

// The values of each metric, and those of guessing, for two classes where a quarter of the rows is of
// class 1.
func TestMetrics(t *testing.T) {
	d, m, w := evaluated(t, []float32{1, 2, 3, 4, 5, 6, 7, 8}, []int32{0, 0, 0, 1, 0, 0, 1, 0}, 0, 1, 0, -5.5)
	// The score is x − 5.5. Predicted 1: x = 6, 7, 8, of which 7 is right.
	for name, want := range map[string][2]float64{
		"accuracy":                   {5. / 8, 6. / 8},
		"balanced-accuracy":          {(4./6 + 1./2) / 2, 0.5},
		"auc":                        {(3. + 5) / 12, 0.5},
		"f1":                         {2. / 5, 0.4},
		"recall-at-precision:0.5":    {0.5, 0}, // x ≥ 7 finds one of two
		"recall-at-precision:0.25":   {1, 1},
		"recall-at-precision:0.9999": {0, 0},
	} {
		metric, err := models.ParseMetric(name)
		if err != nil || metric.String() != name {
			t.Errorf("%s: %v, error %v", name, metric, err)
			continue
		}
		if err := metric.Check(m, d); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got := metric.Of(m, w, all(d), m.NewScratch()); math.Abs(got-want[0]) > 1e-12 {
			t.Errorf("%s: %v, must be %v", name, got, want[0])
		}
		if got := metric.Baseline(d.All()); math.Abs(got-want[1]) > 1e-12 {
			t.Errorf("%s: baseline %v, must be %v", name, got, want[1])
		}
	}
	for _, bad := range []string{"acc", "recall", "recall-at-precision", "recall-at-precision:0", "recall-at-precision:NaN",
		"recall-at-precision:1.1", "log-loss", "AUC"} {
		if _, err := models.ParseMetric(bad); err == nil {
			t.Errorf("%s was accepted", bad)
		}
	}
	if metric, err := models.ParseMetric(""); err != nil || metric != (models.Metric{}) {
		t.Errorf("no name: %v, %v", metric, err)
	}
	three := &data.Dataset{Classes: 3}
	for _, name := range []string{"recall-at-precision:0.5"} {
		if metric, _ := models.ParseMetric(name); metric.Check(m, three) == nil {
			t.Errorf("%s of three classes was accepted", name)
		}
	}
	if metric, _ := models.ParseMetric("auc"); metric.Check(struct{ models.Model }{m}, d) == nil {
		t.Error("an AUC without scores was accepted")
	}
}

// No constant prediction is better than the baseline of a metric, and one of them reaches it.
func TestNoConstantBeatsTheBaseline(t *testing.T) {
	r := rand.New(rand.NewPCG(38, 2))
	for range 300 {
		n, classes := 1+r.IntN(20), 2+r.IntN(3)
		labels, x := make([]int32, n), make([]float32, n)
		for i := range labels {
			labels[i] = int32(r.IntN(classes))
		}
		labels[0] = int32(classes - 1)
		for _, name := range []string{"accuracy", "balanced-accuracy", "f1", "auc", "recall-at-precision:0.4"} {
			metric, err := models.ParseMetric(name)
			if err != nil {
				t.Fatal(err)
			}
			most := math.Inf(-1)
			var rows data.Subset
			for class := range classes {
				w := make([]float32, 2*classes)
				w[classes+class] = 1
				d, m, _ := evaluated(t, x, labels)
				if metric.Check(m, d) != nil {
					continue
				}
				rows = d.All()
				most = max(most, metric.Of(m, w, all(d), m.NewScratch()))
			}
			if rows.Data == nil {
				continue
			}
			guess := metric.Baseline(rows)
			undefined := name == "auc" && most == 0 // all labels are equal
			if !undefined && math.Abs(most-guess) > 1e-12 {
				t.Fatalf("%s of labels %v: constant predictions have at most %v, the baseline is %v", name, labels, most, guess)
			}
		}
	}
}

// all is the whole of a data set.
func all(d *data.Dataset) data.Batch { return d.All().All() }

// Accuracy uses the given working memory, and also works without it.
func TestAccuracyWithoutMemory(t *testing.T) {
	m, err := logreg.NewPlain(1)
	if err != nil {
		t.Fatal(err)
	}
	d, err := data.FromRows("drawn", [][]float32{{1}, {2}, {-1}, {-2}}, []int32{1, 1, 1, 0})
	if err != nil {
		t.Fatal(err)
	}
	labels := make([]int32, 5)
	for _, memory := range [][]int32{nil, labels} {
		if got := models.Accuracy(m, []float32{1, 0}, all(d), m.NewScratch(), memory); got != 0.75 {
			t.Errorf("accuracy %v, must be 0.75", got)
		}
	}
	if want := []int32{1, 1, 0, 0, 0}; !slices.Equal(labels, want) {
		t.Errorf("labels %v, must be %v", labels, want)
	}
}

// Without examples, the accuracy is 0, as if all were labelled wrongly, and not NaN.
func TestAccuracyOfNothing(t *testing.T) {
	m, err := logreg.NewPlain(1)
	if err != nil {
		t.Fatal(err)
	}
	d, err := data.FromRows("drawn", [][]float32{{1}, {2}}, []int32{0, 1})
	if err != nil {
		t.Fatal(err)
	}
	if a := models.Accuracy(m, []float32{1, 0}, data.Batch{Data: d}, m.NewScratch(), nil); a != 0 {
		t.Errorf("accuracy %v, want 0", a)
	}
}

// metricsOf returns the metrics with these names.
func metricsOf(t *testing.T, names ...string) []models.Metric {
	t.Helper()
	var all []models.Metric
	for _, name := range names {
		m, err := models.ParseMetric(name)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, m)
	}
	return all
}

// A model that knows nothing of the features exceeds the baseline by more than [models.Metric.Chance] in at
// most one of 20 draws: here in at most 32 of 400, which chance exceeds with probability 0.01.
func TestGuessingRarelyExceedsTheBaseline(t *testing.T) {
	const draws, most = 400, 32
	r := rand.New(rand.NewPCG(38, 7))
	for _, metric := range metricsOf(t, "accuracy", "balanced-accuracy", "auc", "f1", "recall-at-precision:0.4",
		"recall-at-precision:1") {
		for _, share := range []float64{0.1, 0.35} {
			beyond := 0
			for range draws {
				x, labels := make([]float32, 120), make([]int32, 120)
				for i := range x {
					x[i] = float32(r.NormFloat64())
					if r.Float64() < share {
						labels[i] = 1
					}
				}
				labels[0], labels[1] = 0, 1
				d, m, w := evaluated(t, x, labels, 0, 1, 0, 0.3)
				if metric.Of(m, w, all(d), m.NewScratch()) > metric.Baseline(d.All())+metric.Chance(d.All()) {
					beyond++
				}
			}
			if beyond > most {
				t.Errorf("%v at a share of %v: guessing exceeds the baseline in %d of %d draws", metric, share, beyond, draws)
			}
		}
	}
}

// A value that is measured is below its expectation by more than [models.Metric.Margin] in at most one of 20
// draws. The features are x ~ N(±0.8, 1). The expectation is that of a large draw.
func TestMarginCoversTheSamplingError(t *testing.T) {
	const draws, most = 400, 32
	r := rand.New(rand.NewPCG(38, 8))
	drawn := func(n int, classes int) ([]float32, []int32) {
		x, labels := make([]float32, n), make([]int32, n)
		for i := range x {
			if labels[i] = int32(i % classes); r.Float64() < 0.5 {
				labels[i] = 0
			}
			x[i] = float32(1.6*float64(labels[i]) - 0.8 + r.NormFloat64())
		}
		return x, labels
	}
	for classes, w := range map[int][]float32{2: {0, 1, 0, 0}, 3: {0, 1, 2, 0, 0, -1.6}} {
		metrics := metricsOf(t, "accuracy", "balanced-accuracy", "auc", "f1")
		if classes == 2 {
			metrics = append(metrics, metricsOf(t, "recall-at-precision:0.6")...)
		}
		for _, metric := range metrics {
			x, labels := drawn(30000, classes)
			d, m, w := evaluated(t, x, labels, w...)
			expected, below := metric.Of(m, w, all(d), m.NewScratch()), 0
			for range draws {
				x, labels := drawn(150, classes)
				d, m, w := evaluated(t, x, labels, w...)
				if value := metric.Of(m, w, all(d), m.NewScratch()); value < expected-metric.Margin(expected, metric.Rows(d.All().ClassCounts())) {
					below++
				}
			}
			if below > most {
				t.Errorf("%v of %d classes, expected %.4f: below by more than the margin in %d of %d draws", metric, classes,
					expected, below, draws)
			}
		}
	}
}

// The rows of a metric are the records on which its sampling error depends.
func TestRowsOfMetrics(t *testing.T) {
	for name, want := range map[string][3]int{ // of 90 and 10, of 10, 20 and 70, of a single class
		"accuracy": {100, 100, 50}, "balanced-accuracy": {20, 30, 50}, "auc": {10, 10, 0}, "f1": {10, 10, 0},
		"recall-at-precision:0.5": {10, 10, 0},
	} {
		m := metricsOf(t, name)[0]
		if got := [3]int{m.Rows([]int{90, 10}), m.Rows([]int{10, 20, 70}), m.Rows([]int{50, 0})}; got != want {
			t.Errorf("%s: rows %v, must be %v", name, got, want)
		}
		if got := m.Margin(0.5, m.Rows(nil)); got != 0 {
			t.Errorf("%s: margin %v without rows, must be 0", name, got)
		}
	}
}
