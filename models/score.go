package models

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"proactivedp/data"
)

// Scorer is a Model that gives a score (logit) for each class of an example, and not only the predicted class. The
// probability of class k is the softmax of the logits, e^{z_k} / Σ_j e^{z_j}. Metrics such as the AUC need scores.
type Scorer interface {
	Model
	// Logits sets z[i·K+k] to the logit of class k for example i, where K is the number of classes of the data set. z
	// has the length K·b.Len(). The class that Predict gives has the largest logit; if several are equal, it is the
	// first of them. A model of regression has one logit: its prediction, scaled so that the public bounds of the
	// targets are −1 and 1 (see data.TargetBounds.Scaled).
	Logits(z []float64, params []float32, b data.Batch, scratch Scratch)
}

// Evaluation compares the predictions of a model with the labels of records. Its numbers are not private, because
// they are computed from the evaluated records without noise.
type Evaluation struct {
	Accuracy float64 // fraction of the records that are labelled correctly
	// Confusion[c][p] counts the records of class c for which the model predicts class p.
	Confusion [][]int
	// BalancedAccuracy is the mean recall of the classes that have records. It does not depend on how frequent the
	// classes are: always predicting one of K classes has the value 1/K.
	BalancedAccuracy float64
	// F1 is the harmonic mean of precision and recall. With two classes, it is the F1 of class 1. With
	// more classes, it is the mean F1 of the classes that have records.
	F1 float64
	// LogLoss is the mean of −ln of the probability of the right class. It is nil if the model is not a Scorer, if
	// there are too many logits (see [Evaluate]), if there are no records, or if the value is not finite.
	LogLoss *float64
	// AUC is the area under the ROC curve. With several classes, it is the mean of the areas of the classes that have
	// records, each class against all others. It is nil if the model is not a Scorer, if there are too many logits
	// (see [Evaluate]), if there are no records, if all labels are equal, or if a score is NaN.
	AUC *float64
}

// InParts calls do for consecutive parts of the batch b, with at most 1000 examples each. Use it to evaluate a model
// on many examples with little working memory. part has the examples of b whose numbers are in [from, to).
func InParts(b data.Batch, do func(from, to int, part data.Batch)) {
	const most = 1000
	for from := 0; from < b.Len(); from += most {
		to := min(from+most, b.Len())
		do(from, to, data.Batch{Data: b.Data, Rows: b.Rows[from:to]})
	}
}

// mostLogits is the largest number of logits that are held at once for more than two classes: 256 MiB. For two
// classes, the logits of an example take less memory than the example itself.
const mostLogits = 1 << 25

// tooMany reports whether a batch of n examples has more logits than are held at once.
func tooMany(n, classes int) bool { return classes > 2 && n > mostLogits/classes }

// logits returns the logits of all examples, see [Scorer]. It returns nil if the model is not a Scorer,
// if there are fewer than two classes, or if there are tooMany.
func logits(m Model, params []float32, b data.Batch, scratch Scratch) []float64 {
	scorer, ok := m.(Scorer)
	classes := b.Data.Classes
	if !ok || classes < 2 || tooMany(b.Len(), classes) {
		return nil
	}
	z := make([]float64, b.Len()*classes)
	InParts(b, func(from, to int, part data.Batch) {
		scorer.Logits(z[from*classes:to*classes], params, part, scratch)
	})
	return z
}

// Evaluate predicts the class of each example in b with the model m at params, and compares the predictions with the
// labels. scratch must come from m.NewScratch. If the batch is empty, LogLoss and AUC are nil, and all other numbers of
// the result are 0. If there are more than two classes and more than 2²⁵ logits (examples times classes), LogLoss and
// AUC are nil, to limit the memory.
func Evaluate(m Model, params []float32, b data.Batch, scratch Scratch) *Evaluation {
	z := logits(m, params, b, scratch)
	if len(z) > 0 {
		return EvaluateLogits(z, largest(z, b), b)
	}
	labels := make([]int32, b.Len())
	if b.Len() > 0 {
		m.Predict(labels, params, b, scratch)
	}
	return EvaluateLogits(nil, labels, b)
}

// EvaluateLoss returns the results of both [Evaluate] and m.Loss, the mean loss, for the model m at params on the
// batch b. scratch must come from m.NewScratch. If m is a [Network], this takes only one pass over the batch instead
// of two, unless there are more than two classes and more than 2²⁵ logits (examples times classes).
func EvaluateLoss(m Model, params []float32, b data.Batch, scratch Scratch) (e *Evaluation, loss float64) {
	n, ok := m.(*Network)
	if !ok || tooMany(b.Len(), n.net.Classes()) {
		return Evaluate(m, params, b, scratch), m.Loss(params, b, scratch)
	}
	z := make([]float64, b.Len()*n.net.Classes())
	loss = n.net.LossAndLogits(z, params, b, scratch.(*networkScratch).whole())
	return EvaluateLogits(z, largest(z, b), b), loss
}

// largest returns the class of the largest logit of each example, or the first of several, as Predict does.
func largest(z []float64, b data.Batch) []int32 {
	labels := make([]int32, b.Len())
	for i := range labels {
		row := z[i*b.Data.Classes:][:b.Data.Classes]
		for k, v := range row {
			if v > row[labels[i]] {
				labels[i] = int32(k)
			}
		}
	}
	return labels
}

// EvaluateLogits does the same as [Evaluate] for predictions that were computed before. predicted has the class that
// a model predicts for each example of b. z has the logits: z[i·K+k] is that of class k of K for example i, as
// [Scorer] writes them. If z is nil, LogLoss and AUC are nil.
func EvaluateLogits(z []float64, predicted []int32, b data.Batch) *Evaluation {
	e := confusion(predicted, b)
	if len(z) == 0 {
		return e
	}
	loss, classes := 0.0, b.Data.Classes
	for i := range b.Len() {
		row := z[i*classes:][:classes]
		loss += logSum(row) - row[b.Label(i)]
	}
	if loss /= float64(b.Len()); !math.IsNaN(loss) && !math.IsInf(loss, 0) {
		e.LogLoss = &loss
	}
	if area, ok := auc(z, b); ok {
		e.AUC = &area
	}
	return e
}

func confusion(predicted []int32, b data.Batch) *Evaluation {
	e := &Evaluation{Confusion: make([][]int, b.Data.Classes)}
	for c := range e.Confusion {
		e.Confusion[c] = make([]int, b.Data.Classes)
	}
	for i, class := range predicted {
		e.Confusion[b.Label(i)][class]++
	}
	if b.Len() > 0 {
		e.count()
	}
	return e
}

// Softmax replaces z, the logits of one example, by the probabilities of its classes, which sum to 1.
func Softmax(z []float64) {
	sum := logSum(z)
	for k := range z {
		z[k] = math.Exp(z[k] - sum)
	}
}

// logSum returns ln Σ e^{z_k} without overflow.
func logSum(z []float64) float64 {
	most, sum := slices.Max(z), 0.0
	for _, x := range z {
		sum += math.Exp(x - most)
	}
	return most + math.Log(sum)
}

// count computes what follows from the confusion matrix.
func (e *Evaluation) count() {
	all, right, present := 0, 0, 0.0
	var recall, f1 float64
	for c := range e.Confusion {
		of := e.Class(c)
		all, right = all+of.Count, right+e.Confusion[c][c]
		if of.Count > 0 {
			present++
			recall += of.Recall
			f1 += of.F1
		}
	}
	e.Accuracy, e.BalancedAccuracy, e.F1 = float64(right)/float64(all), recall/present, f1/present
	if len(e.Confusion) == 2 {
		e.F1 = e.Class(1).F1
	}
}

// ClassResult has the counts, precision and recall of one class.
type ClassResult struct {
	Count     int     `json:"count"`     // records of the class
	Predicted int     `json:"predicted"` // records that are predicted as the class
	Precision float64 `json:"precision"` // fraction of Predicted that is right; 0 if Predicted is 0
	Recall    float64 `json:"recall"`    // fraction of Count that is found; 0 if Count is 0
	F1        float64 `json:"f1"`        // harmonic mean of both; 0 if no record is right
}

// Class returns the counts, precision and recall of class c, from 0, computed from the confusion matrix of e.
func (e *Evaluation) Class(c int) ClassResult {
	var r ClassResult
	for other := range e.Confusion {
		r.Count += e.Confusion[c][other]
		r.Predicted += e.Confusion[other][c]
	}
	if right := float64(e.Confusion[c][c]); right > 0 {
		r.Precision, r.Recall = right/float64(r.Predicted), right/float64(r.Count)
		r.F1 = 2 * right / float64(r.Predicted+r.Count)
	}
	return r
}

// auc returns the area under the ROC curve for the logits z of the batch. This is the probability that an
// example of class 1 gets a higher score than one of class 0, where a tie counts half (Mann and Whitney
// 1947). Guessing gives 0.5. Unlike accuracy, it does not grow with the share of a class. With more than
// two classes it is the mean over the classes that have examples, each against all others, with the
// probability of the class as the score. It reports false if there is no such area: there are no logits,
// all labels are equal, or a score is NaN.
func auc(z []float64, b data.Batch) (float64, bool) {
	switch classes := b.Data.Classes; {
	case len(z) == 0:
		return 0, false
	case classes == 2:
		return scoresOf(z, b, 1).area()
	default:
		sum, defined := 0.0, 0.0
		for class := range classes {
			s := scoresOf(z, b, class)
			if s.hasNaN() {
				return 0, false
			}
			if area, ok := s.area(); ok {
				sum += area
				defined++
			}
		}
		return sum / defined, defined > 0
	}
}

type scored struct {
	score float64
	in    bool // whether the example is of the class
}

// scoredList holds the examples of a batch by their score, the lowest first.
type scoredList []scored

// scoresOf returns the scores of a class, from the logits of the batch: the logarithm of the odds of the
// class, which for two classes is the difference of the logits.
func scoresOf(z []float64, b data.Batch, class int) scoredList {
	if len(z) == 0 {
		return nil
	}
	classes := b.Data.Classes
	list, others := make(scoredList, b.Len()), make([]float64, classes-1)
	for i := range list {
		row := z[i*classes:][:classes]
		copy(others[copy(others, row[:class]):], row[class+1:])
		rest := others[0]
		if classes > 2 {
			rest = logSum(others)
		}
		list[i] = scored{row[class] - rest, int(b.Label(i)) == class}
	}
	slices.SortFunc(list, func(x, y scored) int { return cmp.Compare(x.score, y.score) })
	return list
}

// hasNaN reports a score that is NaN. Sorting puts these first.
func (s scoredList) hasNaN() bool { return len(s) > 0 && math.IsNaN(s[0].score) }

// area returns the area under the ROC curve.
func (s scoredList) area() (float64, bool) {
	if s.hasNaN() {
		return 0, false
	}
	below, in, pairs := 0.0, 0.0, 0.0 // examples outside of the class so far, in it, pairs in order
	for i := 0; i < len(s); {
		var inside, outside float64 // examples with this score
		for score := s[i].score; i < len(s) && s[i].score == score; i++ {
			if s[i].in {
				inside++
			} else {
				outside++
			}
		}
		pairs += inside * (below + outside/2)
		below += outside
		in += inside
	}
	if below == 0 || in == 0 {
		return 0, false
	}
	return pairs / (below * in), true
}

// recallAt returns the largest recall of the class over all thresholds of the score at which at least
// this fraction of the predicted examples is of the class. It returns 0 if no threshold has that.
func (s scoredList) recallAt(precision float64) (recall float64, ok bool) {
	if s.hasNaN() {
		return 0, false
	}
	in, found := 0.0, 0.0
	for _, x := range s {
		if x.in {
			in++
		}
	}
	if in == 0 {
		return 0, false
	}
	for i := len(s) - 1; i >= 0; {
		for score := s[i].score; i >= 0 && s[i].score == score; i-- {
			if s[i].in {
				found++
			}
		}
		if predicted := float64(len(s) - 1 - i); found >= precision*predicted {
			recall = found / in
		}
	}
	return recall, true
}

// Metric is a number by which models are compared, such as accuracy or R². The zero value is the accuracy;
// [ParseMetric] makes the others. Metrics of classifiers are in [0, 1], and larger is better. For models of
// regression, R² is at most 1, and larger is better; rmse and mae are errors in the unit of the targets, and smaller
// is better.
type Metric struct {
	name      string
	precision float64 // of recallMetric
}

// The names of metrics.
const (
	accuracyMetric = "accuracy"
	balancedMetric = "balanced-accuracy"
	aucMetric      = "auc"
	f1Metric       = "f1"
	recallMetric   = "recall-at-precision" // followed by : and the precision
)

// MetricNames returns the names that ParseMetric reads. A name that needs a number after it ends in a
// colon, such as "recall-at-precision:".
func MetricNames() []string {
	return []string{accuracyMetric, balancedMetric, aucMetric, f1Metric, recallMetric + ":", r2Metric, rmseMetric, maeMetric}
}

// MetricsUsage is a text for the help of a command-line option. It lists the names of the metrics with explanations.
const MetricsUsage = accuracyMetric + ", " + balancedMetric + " (mean recall of the classes), " + aucMetric +
	" (area under the ROC curve; with several classes the mean of each against the rest), " + f1Metric +
	" (of class 1; with several classes the mean), or " + recallMetric + ":P (recall of class 1 at precision P, in (0, 1]); for the model linear " + r2Metric + ", " + rmseMetric +
	" or " + maeMetric

// ParseMetric returns the metric with the given name: accuracy, balanced-accuracy, auc, f1, recall-at-precision:P,
// r2, rmse or mae (see [MetricsUsage]). "" is the accuracy. P, in (0, 1], is the precision at which recall is
// measured.
func ParseMetric(text string) (Metric, error) {
	switch text {
	case "", accuracyMetric:
		return Metric{}, nil
	case balancedMetric, aucMetric, f1Metric, r2Metric, rmseMetric, maeMetric:
		return Metric{name: text}, nil
	}
	if number, found := strings.CutPrefix(text, recallMetric+":"); found {
		p, err := strconv.ParseFloat(number, 64)
		if err != nil || !(p > 0 && p <= 1) {
			return Metric{}, fmt.Errorf("metric = %.60q, the precision must be in (0, 1]", text)
		}
		return Metric{name: recallMetric, precision: p}, nil
	}
	return Metric{}, fmt.Errorf("metric = %.60q, must be %s", text, MetricsUsage)
}

// String returns the metric in the form that ParseMetric reads.
func (m Metric) String() string {
	switch m.name {
	case "":
		return accuracyMetric
	case recallMetric:
		return fmt.Sprintf("%s:%v", recallMetric, m.precision)
	}
	return m.name
}

// Check returns nil if the metric is defined for this model on the data set d, and otherwise an error. For example,
// the AUC needs a model that is a [Scorer], and r2 needs a data set with targets.
func (m Metric) Check(model Model, d *data.Dataset) error {
	if err := m.checkTargets(model, d); err != nil {
		return err
	}
	if _, scores := model.(Scorer); !scores && (m.name == aucMetric || m.name == recallMetric) {
		return fmt.Errorf("metric = %s: the model %s gives no scores", m, model.Name())
	}
	if m.name == recallMetric && d.Classes != 2 {
		return fmt.Errorf("metric = %s: %d classes, must be 2", m, d.Classes)
	}
	return nil
}

// Of returns the value of the metric for the model at params on the batch b. Call [Metric.Check] before. scratch must
// come from model.NewScratch. The value is 0 where the metric is not defined: for an empty batch; for the AUC and the
// recall at a precision, if a score is NaN; for the AUC, if all labels are equal, or if there are more than two
// classes and more than 2²⁵ logits (examples times classes); for the recall, if no record is of class 1; and for r2,
// if all targets are equal.
func (m Metric) Of(model Model, params []float32, b data.Batch, scratch Scratch) float64 {
	if m.Regression() {
		return EvaluateRegression(Predictions(model.(Scorer), params, b, scratch), b).of(m) // see Check
	}
	switch m.name {
	case "":
		return Accuracy(model, params, b, scratch, nil)
	case aucMetric:
		area, _ := auc(logits(model, params, b, scratch), b)
		return area
	case recallMetric:
		recall, _ := scoresOf(logits(model, params, b, scratch), b, 1).recallAt(m.precision)
		return recall
	}
	labels := make([]int32, b.Len())
	if b.Len() > 0 {
		model.Predict(labels, params, b, scratch)
	}
	if e := confusion(labels, b); m.name == f1Metric {
		return e.F1
	} else {
		return e.BalancedAccuracy
	}
}

// Baseline returns the best value of the metric that is possible on rows without using the features. A model has
// learnt something only if its value is better. The prediction without features is the same class for all examples
// or, if the metric ranks examples (AUC, recall at a precision), the same score. For r2 and rmse it is the mean
// target of the rows, and for mae their median.
func (m Metric) Baseline(rows data.Subset) float64 {
	switch {
	case m.Regression() && rows.Len() == 0, m.name == r2Metric:
		return 0
	case m.Regression():
		r := EvaluateRegression(make([]float64, rows.Len()), rows.All())
		return (&Regression{RMSE: r.MeanRMSE, MAE: r.MedianMAE}).of(m)
	}
	counts, present, best := rows.ClassCounts(), 0.0, 0
	for _, n := range counts {
		best = max(best, n)
		if n > 0 {
			present++
		}
	}
	if rows.Len() == 0 {
		return 0
	}
	share := func(n int) float64 { return float64(n) / float64(rows.Len()) }
	switch m.name {
	case balancedMetric:
		return 1 / present
	case aucMetric:
		return 0.5
	case f1Metric: // precision p and recall 1
		if len(counts) == 2 {
			p := share(counts[1])
			return 2 * p / (1 + p)
		}
		return 2 * share(best) / (1 + share(best)) / present
	case recallMetric:
		if len(counts) == 2 && share(counts[1]) >= m.precision {
			return 1
		}
		return 0
	}
	return rows.MajorityShare()
}

// Rows returns the number of records n that determines how much the metric varies between samples, as [Metric.Margin]
// and [Metric.Variance] need it. counts has the number of records of each class. Classes without records are left out
// of the following rules.
//
//   - Accuracy and the metrics of regression: n is the number of all records.
//   - Recall at a precision (which needs two classes), and F1 with two classes: the number of records of class 1.
//   - F1 with more classes, and AUC: the number of records of the rarest class. For AUC it is 0 if all records are of
//     one class.
//   - Balanced accuracy: the number of records of the rarest class, times the number of classes.
func (m Metric) Rows(counts []int) int {
	all, present, rarest := 0, 0, 0
	for _, n := range counts {
		all += n
		if n > 0 {
			present++
			if rarest == 0 || n < rarest {
				rarest = n
			}
		}
	}
	switch m.name {
	case balancedMetric:
		return present * rarest
	case aucMetric:
		return min(rarest, all-rarest)
	case f1Metric, recallMetric:
		if len(counts) == 2 {
			return counts[1]
		}
		return rarest
	}
	return all
}

// Variance returns the variance of the metric's value for one model over random samples of records, or an upper bound
// of this variance. It says how much the value may vary because it was measured on few records. value is the metric's
// value, and rows is the result of [Metric.Rows] for the sample, written n below. For metrics of regression the
// result is NaN, because no bound is known. The formulas are
//
//   - Accuracy A: A(1−A)/n, the variance of a binomial fraction, where n is the number of all records.
//   - Balanced accuracy A: at most A(1−A)/n, where n is K, the number of classes, times the number of records of the
//     rarest class. A is the mean of K recalls x, each with a variance of at most K·x(1−x)/n. The mean of x(1−x) is
//     at most A(1−A), because x(1−x) is concave in x.
//   - AUC A: A(1−A)/n, where n is the number of records of the rarer class (Birnbaum and Klose, "Bounds for the
//     variance of the Mann-Whitney statistic", 1957). With several classes, the AUC is a mean of areas, one for each
//     class against the rest. Its standard deviation is at most the mean of theirs.
//   - F1, here F: about F(1−F)(2−F)²/(2n), where n is the number of records of class 1. At least n records belong to
//     class 1 or are predicted as it. Of them, the fraction J = F/(2−F) both belongs to it and is predicted as it. So
//     the binomial variance of J is at most J(1−J)/n. F is 2J/(1+J), and a small change of J changes F by dF/dJ times
//     as much (the delta method), so the variance of F is about (dF/dJ)² times that of J. With several classes, F is
//     their mean F1, and n the number of records of the rarest class.
//   - Recall R at a precision: 4R(1−R)/n, where n is the number of records of class 1. The binomial variance R(1−R)/n
//     would be too small, because the threshold of the scores is chosen on the same records. The factor 4 is an
//     estimate and no bound: if the precision hardly depends on the threshold, the variance is larger.
func (m Metric) Variance(value, rows float64) float64 {
	switch m.name {
	case r2Metric, rmseMetric, maeMetric:
		return math.NaN()
	case f1Metric:
		return value * (1 - value) * (2 - value) * (2 - value) / (2 * rows)
	case recallMetric:
		return 4 * value * (1 - value) / rows
	}
	return value * (1 - value) / rows
}

// Quantile is the number of standard deviations by which a measured value must be better than a target, to show with
// 95 % confidence that the target is reached: see [Metric.Margin]. It is the 0.95 quantile of the normal
// distribution: a normal value is above its mean by more than Quantile standard deviations with probability 0.05.
const Quantile = 1.645

// Margin returns how far the metric's value of a model can be off because it was measured on few records: [Quantile]
// times the standard deviation of the value, see [Metric.Variance]. So a value that is above a target by more than
// Margin shows with about 95 % confidence that the target is reached. rows is the result of [Metric.Rows] for the
// records. If rows is 0, the records measure nothing (for example no record is of class 1, of which f1 is measured),
// and Margin returns 0. The value is then 0, too, so it reaches no target. The margin is not known for metrics of
// regression. For them Margin returns NaN if rows is above 0: use [Metric.SamplingErrors].
func (m Metric) Margin(value float64, rows int) float64 {
	if rows < 1 {
		return 0
	}
	return Quantile * math.Sqrt(m.Variance(value, float64(rows)))
}

// Chance returns by how much a model can exceed [Metric.Baseline] by luck, on the given rows. A model that has learnt
// nothing, because it does not use the features, exceeds the baseline by more than Chance with a probability of about
// 0.05 or less. So a model that exceeds the baseline by more than Chance has probably learnt something. For metrics
// of regression use [Metric.SamplingErrors].
//
// Chance is the [Metric.Margin] of the baseline, with one exception: the recall at a precision P, if the share q of
// class 1 is below P and not 0. The baseline is then 0, and Chance follows from Chernoff's bound. Let D be the
// Kullback-Leibler divergence of P from q. Put the examples in a random order. Among the first k, the share of class
// 1 is at least P with probability at most e^{−kD}. The sum of these probabilities over all k ≥ k₀ =
// ln(20/(1−e^{−D}))/D is 0.05. So with probability at least 0.95, a random order reaches the precision P only with
// its first k₀ examples or fewer. These contain at most k₀ examples of class 1, so the recall is at most k₀/n, where
// n is the number of all examples of class 1. Chance is this fraction, with k₀ rounded up, or 1 if it is larger.
func (m Metric) Chance(rows data.Subset) float64 {
	counts, baseline := rows.ClassCounts(), m.Baseline(rows)
	n := m.Rows(counts)
	if m.name != recallMetric || baseline > 0 || n < 1 {
		return m.Margin(baseline, n)
	}
	q, p := float64(n)/float64(rows.Len()), m.precision
	d := p * math.Log(p/q)
	if p < 1 {
		d += (1 - p) * math.Log((1-p)/(1-q))
	}
	return min(1, math.Ceil(math.Log(20/-math.Expm1(-d))/d)/float64(n))
}
