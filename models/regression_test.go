package models_test

import (
	"math"
	"testing"

	"proactivedp/data"
	"proactivedp/models"
	"proactivedp/models/logreg"
	"proactivedp/rng"
)

// numbers has one feature and targets in [0, 100].
func numbers(t *testing.T, x []float32, targets ...float64) (*data.Dataset, *logreg.Model) {
	t.Helper()
	rows := make([][]float32, len(x))
	for i := range x {
		rows[i] = x[i : i+1]
	}
	d, err := data.FromRows("numbers", rows, make([]int32, len(x)))
	if err == nil {
		d, err = d.WithTargets(data.TargetBounds{Low: 0, High: 100}, targets)
	}
	if err != nil {
		t.Fatal(err)
	}
	m, err := logreg.NewLinear(1)
	if err != nil {
		t.Fatal(err)
	}
	return d, m
}

// By hand: the model predicts 50 + 50z for z = x, clamped to [0, 100], so the errors are 10, −20, 0 and 10. The
// mean of the targets is 50 and their squared distances sum to 5000; their median is 60.
func TestRegressionMetrics(t *testing.T) {
	d, m := numbers(t, []float32{-1, 0, 5, 0.4}, -7, 70, 100, 60)
	d.Targets.Value[0], _ = d.Targets.Bounds.Scaled(-10) // the same as 0
	params := []float32{1, 0}
	p := models.Predictions(m, params, all(d), m.NewScratch())
	for i, want := range []float64{0, 50, 100, 70} {
		if math.Abs(p[i]-want) > 1e-5 {
			t.Errorf("prediction %d: %v, want %v", i, p[i], want)
		}
	}
	mean := (0.0 + 70 + 100 + 60) / 4
	total := 0.0
	for _, v := range []float64{0, 70, 100, 60} {
		total += (v - mean) * (v - mean)
	}
	e := models.EvaluateRegression(p, all(d))
	want := map[string][2]float64{
		"rmse": {e.RMSE, math.Sqrt((400 + 100) / 4.0)}, "mae": {e.MAE, 30 / 4.0}, "r2": {*e.R2, 1 - 500/total},
		"rmse of the mean": {e.MeanRMSE, math.Sqrt(total / 4)}, "mae of the median": {e.MedianMAE, (70 + 0 + 30 + 10) / 4.0},
	}
	for name, v := range want {
		if math.Abs(v[0]-v[1]) > 1e-5*math.Abs(v[1]) {
			t.Errorf("%s = %v, want %v", name, v[0], v[1])
		}
	}
	for name, baseline := range map[string]float64{"r2": 0, "rmse": e.MeanRMSE, "mae": e.MedianMAE} {
		metric, err := models.ParseMetric(name)
		if err != nil || !metric.Regression() || metric.Smaller() != (name != "r2") || metric.String() != name {
			t.Errorf("%s: %v, %v", name, metric, err)
		}
		if got := metric.Of(m, params, all(d), m.NewScratch()); math.Abs(got-want[name][1]) > 1e-4 {
			t.Errorf("%s of the model: %v, want %v", name, got, want[name][1])
		}
		if got := metric.Baseline(d.All()); got != baseline {
			t.Errorf("%s of a constant: %v, want %v", name, got, baseline)
		}
		if err := metric.Check(m, d); err != nil {
			t.Error(err)
		}
		if !math.IsNaN(metric.Margin(0.5, 100)) {
			t.Errorf("%s has an interval that nothing bounds", name)
		}
	}
	if (models.Metric{}).Check(m, d) == nil {
		t.Error("an accuracy of targets")
	}
	classes, softmax, _ := evaluated(t, []float32{0, 1}, []int32{0, 1}, 1, 0, 0, 0)
	if models.R2.Check(softmax, classes) == nil {
		t.Error("R² of classes")
	}
}

// R² is not defined if all targets are equal. Without rows there are no errors.
func TestNoR2(t *testing.T) {
	d, m := numbers(t, []float32{1, 2, 3}, 200, 100, 1e9)
	e := models.EvaluateRegression(models.Predictions(m, []float32{0, 0}, all(d), nil), all(d))
	if e.R2 != nil || e.MeanRMSE != 0 || e.MedianMAE != 0 || math.Abs(e.RMSE-50) > 1e-9 {
		t.Errorf("%+v", e)
	}
	if got := models.R2.Of(m, []float32{0, 0}, all(d), nil); got != 0 {
		t.Errorf("R² = %v", got)
	}
	none := data.Batch{Data: d}
	if e := models.EvaluateRegression(models.Predictions(m, []float32{0, 0}, none, nil), none); e.R2 != nil || e.RMSE != 0 {
		t.Errorf("%+v", e)
	}
}

// The direction of each metric, its text, its range and its score.
func TestRegressionMetricsCompare(t *testing.T) {
	b := data.TargetBounds{Low: -50, High: 50}
	for _, c := range []struct {
		name                string
		better, worse       float64
		text                string // of better
		score               float64
		possible, impossble float64 // targets
	}{
		{"r2", 0.75, -2, "0.7500", 0.75, 1, 1.5},
		{"rmse", 25, 50, "25", 0.75, 80_000, 0},
		{"mae", 12.3456, 99, "12.346", 0.876544, 1e-9, -1},
		{"accuracy", 0.75, 0.5, "0.7500", 0.75, 1, 0},
	} {
		m, err := models.ParseMetric(c.name)
		if err != nil {
			t.Fatal(err)
		}
		gap := math.Abs(c.better - c.worse)
		if !m.Exceeds(c.better, c.worse, 0) || m.Exceeds(c.worse, c.better, 0) || m.Exceeds(c.better, c.worse, gap) || m.Exceeds(math.NaN(), c.worse, 0) {
			t.Errorf("%s: %v is better than %v by %v", c.name, c.better, c.worse, gap)
		}
		if text, score := m.Text(c.better), m.Score(c.better, &b); text != c.text || math.Abs(score-c.score) > 1e-12 || !(m.Score(c.worse, &b) < score) {
			t.Errorf("%s: text %s, score %v, of %v: %v", c.name, text, score, c.worse, m.Score(c.worse, &b))
		}
		if m.CheckTarget("target", c.possible) != nil || m.CheckTarget("target", c.impossble) == nil || m.CheckTarget("target", math.NaN()) == nil {
			t.Errorf("%s: targets %v and %v", c.name, c.possible, c.impossble)
		}
	}
}

// Over samples of 60 records, the metric is further than its margin from its value on all records in about one case of
// ten (half of them on each side), and a model whose predictions do not depend on the targets beats the best constant by
// more than chance in fewer than one of twenty.
func TestSamplingErrorsCover(t *testing.T) {
	const n, samples = 60, 1000
	random := rng.New(5).Stream(rng.Synthetic, 0, 0)
	for _, name := range []string{"r2", "rmse", "mae"} {
		m, err := models.ParseMetric(name)
		if err != nil {
			t.Fatal(err)
		}
		truth := map[string]float64{"r2": 1 - 25./125, "rmse": 5, "mae": 5 * math.Sqrt(2/math.Pi)}[name]
		outside, lucky := 0, 0
		for range samples {
			var x []float32
			var targets, learnt, blind []float64
			for range n {
				signal := 10 * random.Normal()
				y := 50 + signal + 5*random.Normal()
				x, targets = append(x, 0), append(targets, y)
				learnt, blind = append(learnt, 50+signal), append(blind, 50+2*random.Normal())
			}
			d, _ := numbers(t, x, targets...)
			of := func(p []float64) float64 {
				r := models.EvaluateRegression(p, all(d))
				return map[string]float64{"r2": *r.R2, "rmse": r.RMSE, "mae": r.MAE}[name]
			}
			margin, _ := m.SamplingErrors(learnt, all(d))
			if math.Abs(of(learnt)-truth) > margin {
				outside++
			}
			_, chance := m.SamplingErrors(blind, all(d))
			if m.Exceeds(of(blind), m.Baseline(d.All()), chance) {
				lucky++
			}
		}
		t.Logf("%s: %d of %d outside the margin, %d beat the constant", name, outside, samples, lucky)
		if outside > 180 || outside < 50 || lucky > 50 {
			t.Errorf("%s: %d of %d outside the margin, %d beat the constant", name, outside, samples, lucky)
		}
	}
	d, _ := numbers(t, []float32{0, 0}, 5, 5)
	for _, name := range []string{"r2", "rmse", "mae"} { // errors of 0, and equal targets
		m, _ := models.ParseMetric(name)
		if margin, chance := m.SamplingErrors([]float64{5, 5}, all(d)); margin != 0 || chance != 0 {
			t.Errorf("%s: %v, %v without errors", name, margin, chance)
		}
	}
}
