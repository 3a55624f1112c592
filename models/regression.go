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
	// R2 is 1 − E/E₀, where E is the sum of the model's squared errors, and E₀ that of always predicting the mean
	// target of these records. R2 is at most 1, and negative if the model is worse than the mean. It is nil if all
	// targets are equal.
	R2 *float64 `json:"r2"`
	// MeanRMSE and MedianMAE are baselines for RMSE and MAE: the root mean squared error of always predicting the
	// mean target of these records, and the mean absolute error of always predicting their median. No constant
	// prediction has a smaller error.
	MeanRMSE  float64 `json:"rmse_of_mean"`
	MedianMAE float64 `json:"mae_of_median"`
}

// Predictions returns the predictions of the regression model m, with the parameters params, for the examples in b,
// in the original unit of the targets and clamped to their public bounds. (The Logits of such a model are on a scale
// from −1 to 1.)
func Predictions(m Scorer, params []float32, b data.Batch, scratch Scratch) []float64 {
	z := make([]float64, b.Len())
	InParts(b, func(from, to int, part data.Batch) { m.Logits(z[from:to], params, part, scratch) })
	for i := range z {
		z[i] = b.Data.Targets.Bounds.Original(z[i])
	}
	return z
}

// EvaluateRegression compares predictions, as [Predictions] returns them, with the targets of the batch b, and
// returns the errors. If b is empty, all numbers are 0.
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

// Regression reports whether the metric is for models of regression (r2, rmse or mae), and not for classifiers.
func (m Metric) Regression() bool {
	return m.name == r2Metric || m.name == rmseMetric || m.name == maeMetric
}

// Smaller reports whether a smaller value of the metric is better. This holds for the errors rmse and mae.
func (m Metric) Smaller() bool { return m.name == rmseMetric || m.name == maeMetric }

// Exceeds reports whether the value a of the metric is better than the value b by more than margin ≥ 0. A smaller
// value is better for rmse and mae, and a larger one for all other metrics.
func (m Metric) Exceeds(a, b, margin float64) bool {
	if m.Smaller() {
		return b-a > margin
	}
	return a-b > margin
}

// Text returns a value of the metric as text for reports. It has four decimals, or about five digits for rmse and
// mae, which are in the unit of the targets.
func (m Metric) Text(value float64) string {
	switch {
	case m.Smaller() && value >= 1e4 && value < 1e9:
		return fmt.Sprintf("%.0f", value)
	case m.Smaller():
		return fmt.Sprintf("%.5g", value)
	}
	return fmt.Sprintf("%.4f", value)
}

// CheckTarget returns an error unless value can be a target for the metric, for example a target accuracy that
// training must reach. For metrics of classifiers and r2, value must be above 0 and at most 1. For rmse and mae it is
// in the unit of the targets, and must be above 0 and at most the largest float32. named is the name of the value in
// the error, such as the option that gave it.
func (m Metric) CheckTarget(named string, value float64) error {
	switch {
	case m.Smaller() && !(value > 0 && value <= math.MaxFloat32):
		return fmt.Errorf("%s = %v, must be above 0, an error in the unit of the targets, for the metric %s", named, value, m)
	case !m.Smaller() && !(value > 0 && value <= 1):
		return fmt.Errorf("%s = %v, must be in (0, 1]", named, value)
	}
	return nil
}

// Score converts a value of the metric to a number in [0, 1], where larger is better, so that all metrics can be
// treated like an accuracy. Metrics of classifiers do not change. R² becomes max(0, R²). rmse and mae become 1 minus
// the error as a fraction of the range of the public bounds b of the targets: no error exceeds this range, because
// predictions are clamped to the bounds. b is not used for other metrics and may be nil.
func (m Metric) Score(value float64, b *data.TargetBounds) float64 {
	if m.Smaller() {
		value = 1 - value/(b.High-b.Low)
	}
	return min(max(value, 0), 1)
}

// SamplingErrors estimates by how much a metric of regression can be off because it was measured on few records. Use
// it to decide whether a model is really better than a target or the baseline. margin is for the metric's value: it
// is [Quantile] standard deviations of this value. chance is for its difference from [Metric.Baseline]: a model that
// is no better than the best constant prediction beats the baseline by more than chance with probability about 0.05.
//
// predictions has what [Predictions] returns for b. Both numbers are estimates from the spread of the model's errors
// on these records, because no bound is known that holds for every model. For r2 and rmse the estimates use the delta
// method: they treat the metric as a linear function of the squared errors, which is good only if the margin is much
// smaller than the rmse or, for r2, than 1 − R². Both numbers are 0 if nothing can be estimated: with fewer than two
// records or, for r2, if all targets are equal. For metrics of classifiers use [Metric.Margin] and [Metric.Chance].
func (m Metric) SamplingErrors(predictions []float64, b data.Batch) (margin, chance float64) {
	n := b.Len()
	r := EvaluateRegression(predictions, b)
	if n < 2 || m == R2 && r.R2 == nil {
		return 0, 0
	}
	targets, mean := targetsOf(b), 0.0
	for _, t := range targets {
		mean += t / float64(n)
	}
	sorted := slices.Sorted(slices.Values(targets))
	median := sorted[n/2]
	var value, beyond []float64 // what each record adds to the metric, and to its difference from the baseline
	for i, t := range targets {
		e, c := predictions[i]-t, mean-t // the errors of the model and of the constant
		switch m.name {
		case maeMetric:
			value = append(value, math.Abs(e))
			beyond = append(beyond, math.Abs(median-t)-math.Abs(e))
		case rmseMetric:
			own, constant := ratio(e*e, 2*r.RMSE), ratio(c*c, 2*r.MeanRMSE)
			value, beyond = append(value, own), append(beyond, constant-own)
		default:
			part := (e*e - (1-*r.R2)*c*c) / (r.MeanRMSE * r.MeanRMSE)
			value, beyond = append(value, part), append(beyond, part)
		}
	}
	scale := Quantile / math.Sqrt(float64(n))
	return scale * deviation(value), scale * deviation(beyond)
}

// deviation returns the standard deviation of a sample of at least two numbers.
func deviation(x []float64) float64 {
	mean, squares := 0.0, 0.0
	for _, v := range x {
		mean += v / float64(len(x))
	}
	for _, v := range x {
		squares += (v - mean) * (v - mean)
	}
	return math.Sqrt(squares / float64(len(x)-1))
}

// ratio returns a/b, or 0 if both are 0.
func ratio(a, b float64) float64 {
	if a == 0 {
		return 0
	}
	return a / b
}

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
