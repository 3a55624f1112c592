package models

import (
	"fmt"
	"math"
	"slices"

	"proactivedp/data"
)

// Regression compares the predictions of a regression model with the targets of records, in the targets' original
// unit. Predictions are clamped to the bounds of the targets. The numbers are not private: like [Evaluation], they
// read the evaluated records without noise.
type Regression struct {
	RMSE float64 `json:"rmse"` // root of the mean squared error
	MAE  float64 `json:"mae"`  // mean absolute error
	// R2 is 1 minus the sum of squared errors divided by that of always predicting the mean target of these
	// records. It is at most 1, and negative for a model that is worse than that. It is nil if all
	// targets are equal.
	R2 *float64 `json:"r2"`
	// MeanRMSE is the root mean squared error of always predicting the mean target of these records, and
	// MedianMAE the mean absolute error of always predicting their median. No other constant prediction
	// has a smaller one.
	MeanRMSE  float64 `json:"rmse_of_mean"`
	MedianMAE float64 `json:"mae_of_median"`
}

// Predictions returns the predictions of a regression model for the batch, in the original unit of the targets and
// clamped to their bounds.
func Predictions(m Scorer, params []float32, b data.Batch, scratch Scratch) []float64 {
	z := make([]float64, b.Len())
	InParts(b, func(from, to int, part data.Batch) { m.Logits(z[from:to], params, part, scratch) })
	for i := range z {
		z[i] = b.Data.Targets.Bounds.Original(z[i])
	}
	return z
}

// EvaluateRegression compares predictions, as [Predictions] returns them, with the targets of the batch. If the batch
// is empty, all numbers are 0.
func EvaluateRegression(predictions []float64, b data.Batch) *Regression {
	r := new(Regression)
	n := float64(b.Len())
	if b.Len() == 0 {
		return r
	}
	targets, mean := targetsOf(b), 0.0
	for i, t := range targets {
		e := predictions[i] - t
		r.RMSE += e * e / n
		r.MAE += math.Abs(e) / n
		mean += t / n
	}
	for _, t := range targets {
		r.MeanRMSE += (t - mean) * (t - mean) / n
	}
	slices.Sort(targets)
	if targets[0] < targets[len(targets)-1] {
		r2 := 1 - r.RMSE/r.MeanRMSE
		r.R2 = &r2
	} else {
		r.MeanRMSE = 0 // the mean may be rounded
	}
	r.RMSE, r.MeanRMSE = math.Sqrt(r.RMSE), math.Sqrt(r.MeanRMSE)
	for _, t := range targets {
		r.MedianMAE += math.Abs(t-targets[len(targets)/2]) / n
	}
	return r
}

// targetsOf returns the targets of the batch in their original unit.
func targetsOf(b data.Batch) []float64 {
	targets := make([]float64, b.Len())
	for i, row := range b.Rows {
		targets[i] = b.Data.Targets.Bounds.Original(float64(b.Data.Targets.Value[row]))
	}
	return targets
}

// The names of metrics of regression.
const (
	r2Metric   = "r2"
	rmseMetric = "rmse"
	maeMetric  = "mae"
)

// R2 is the coefficient of determination R², the default metric of regression models.
var R2 = Metric{name: r2Metric}

// Regression reports whether the metric is for regression models (r2, rmse or mae) and not for
// classifiers.
func (m Metric) Regression() bool {
	return m.name == r2Metric || m.name == rmseMetric || m.name == maeMetric
}

// Smaller reports whether a smaller value of the metric is better.
func (m Metric) Smaller() bool { return m.name == rmseMetric || m.name == maeMetric }

func (r *Regression) of(m Metric) float64 {
	switch {
	case m.name == rmseMetric:
		return r.RMSE
	case m.name == maeMetric:
		return r.MAE
	case r.R2 == nil:
		return 0
	}
	return *r.R2
}

// checkTargets returns an error if the metric is of classes and the data set has targets, or the reverse.
func (m Metric) checkTargets(model Model, d *data.Dataset) error {
	targets := d.Targets != nil
	switch _, scores := model.(Scorer); {
	case targets && !scores:
		return fmt.Errorf("metric = %s: the model %s predicts no numbers", m, model.Name())
	case targets && !m.Regression():
		return fmt.Errorf("metric = %s is for classes, and %s has targets: must be r2, rmse or mae", m, d.Name)
	case m.Regression() && !targets:
		return fmt.Errorf("metric = %s is for real targets, and %s has classes", m, d.Name)
	}
	return nil
}
