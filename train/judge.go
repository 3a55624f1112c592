package train

import (
	"fmt"
	"io"
	"math"
	"strings"

	"proactivedp/data"
	"proactivedp/internal/decimal"
	"proactivedp/models"
)

// Judge returns a function that evaluates a model on p.Test (the test set or, if the spec holds records out, the
// held-out records). Its argument has the parameters of the model. Its result is the value of Spec.Metric, which is
// the accuracy by default. The function is not safe for concurrent use: call Judge once for each goroutine.
func (p *Prepared) Judge() func(params []float32) float64 { return p.JudgeOn(p.Test) }

// JudgeOn does the same as [Prepared.Judge], but its function evaluates the model on the given rows of p's data
// instead of p.Test, for example on the test rows of one client.
func (p *Prepared) JudgeOn(rows data.Subset) func(params []float32) float64 {
	metric, scratch := p.Spec.MetricOf(), p.Config.Model.NewScratch()
	return func(params []float32) float64 { return metric.Of(p.Config.Model, params, rows.All(), scratch) }
}

// Baseline returns the best value of Spec.Metric that a prediction can reach on rows without looking at their
// features. For the accuracy it is the fraction of the most frequent class. A model that is not better has learnt
// nothing. See [models.Metric.Baseline].
func (p *Prepared) Baseline(rows data.Subset) float64 { return p.Spec.MetricOf().Baseline(rows) }

// MetricOf returns Spec.Metric, or its default, in parsed form: the metric by which models with these settings are
// compared. The spec must be valid (see [Spec.Validate]).
func (s Spec) MetricOf() models.Metric {
	metric, _ := models.ParseMetric(s.Metric)
	if s.Metric == "" && IsRegression(s.Model) {
		return models.R2
	}
	return metric
}

// IsAccuracy reports whether models with these settings are compared by their accuracy: whether Spec.Metric is the
// accuracy, given or by default.
func (s Spec) IsAccuracy() bool { return s.MetricOf() == (models.Metric{}) }

// MetricName returns the name of Spec.Metric, or of its default, for use in texts, such as "balanced accuracy".
func (s Spec) MetricName() string {
	return strings.NewReplacer("-", " ", ":", " ").Replace(s.MetricOf().String())
}

// MetricValue has the value of Spec.Metric for a model, and the baseline to compare it with: the best value that is
// possible without looking at the features of the records.
type MetricValue struct {
	Name     string  `json:"name"`
	Value    float64 `json:"value"`
	Baseline float64 `json:"baseline"` // see models.Metric.Baseline
}

// metricValue returns the spec's metric of a model on p.Test. It returns nil if that is the accuracy, or a
// metric of regression, which a report has anyway.
func (p *Prepared) metricValue(params []float32) *MetricValue {
	if p.Spec.IsAccuracy() || IsRegression(p.Spec.Model) {
		return nil
	}
	return &MetricValue{p.Spec.Metric, p.Judge()(params), p.Baseline(p.Test)}
}

// writeText writes the metric in one line. It writes nothing for nil.
func (m *MetricValue) writeText(b *strings.Builder) {
	if m != nil {
		fmt.Fprintf(b, "metric          %s %.4f; %.4f without looking at the features\n", m.Name, m.Value, m.Baseline)
	}
}

// JudgedOn returns "held-out training rows" if Spec.Holdout is above 0, and otherwise "test set". Reports say with it
// on which rows the accuracy was measured.
func (s Spec) JudgedOn() string {
	if s.Holdout > 0 {
		return "held-out training rows"
	}
	return "test set"
}

// JudgedRows has counts of the rows on which an accuracy was measured. They show whether the accuracy is reliable.
// With fewer than 200 distinct rows, or if the copies of one record are more than a tenth of the rows, another seed can
// give a very different accuracy, because the seed chooses the rows. Copies matter because [data.SplitByRecord] puts all
// copies of a record either into the test rows or into the training rows.
type JudgedRows struct {
	TestRows     int `json:"test_rows"`     // all rows on which the accuracy was measured
	DistinctRows int `json:"distinct_rows"` // number of different records among these rows
	MostCopies   int `json:"most_copies"`   // number of copies of the most frequent record
}

// RowsOf returns the counts for rows, which are the test rows or the held-out rows of a run.
func RowsOf(rows data.Subset) JudgedRows {
	distinct, copies := rows.Distinct()
	return JudgedRows{rows.Len(), distinct, copies}
}

// A report warns if there are fewer distinct rows than fewDistinct, or if one record is a larger
// part than largestShare.
const (
	fewDistinct  = 200
	largestShare = 0.1
)

// Warning returns a warning with advice if there are fewer than 200 distinct rows, or if one record is more than
// 10 % of the rows. Otherwise, and if there are no rows, it returns "". heldOut says whether the rows are held-out
// training rows (true) or test rows (false). The advice in the text differs for the two.
func (r JudgedRows) Warning(heldOut bool) string {
	share := float64(r.MostCopies) / float64(r.TestRows)
	if r.TestRows == 0 || r.DistinctRows >= fewDistinct && share <= largestShare {
		return ""
	}
	of, why, larger := "test row", " and, with --split by-record, all copies of each",
		"a separate test file (--test)"
	if heldOut {
		of, why, larger = "held-out row", "", "a larger part (--holdout)"
	}
	return fmt.Sprintf("%s, %d distinct, the most frequent is %.3g %% of them: the accuracy may be very different "+
		"with another seed, which picks other records%s. Use %s, more records, or the mean over seeds (train --seeds)",
		decimal.Many(r.TestRows, of), r.DistinctRows, 100*share, why, larger)
}

// Judgement has the numbers that a reader needs to interpret a classifier's accuracy, such as the accuracy of always
// predicting the most frequent class. If most rows are of one class, even a model that has learnt nothing can have a
// high accuracy. These numbers depend on the test or held-out rows, which the ε of the training does not cover.
type Judgement struct {
	MajorityShare float64  `json:"majority_share"` // the accuracy of always predicting the most frequent class of these rows
	BeatsMajority bool     `json:"beats_majority"` // whether the model's accuracy is above MajorityShare
	Loss          *float64 `json:"test_loss"`      // the mean objective, including any penalty; null if it is not finite
	ClassMetrics
}

// Accuracy is the fraction of test or held-out rows that a classifier predicts correctly. It is a struct so that a
// report that embeds it has this number as the first key of its JSON.
type Accuracy struct {
	TestAccuracy float64 `json:"test_accuracy"`
}

// Regression has the errors of a regression model on the test or held-out rows, such as the root mean squared error.
// The numbers depend on these rows, which the ε of the training does not cover. A target or a prediction outside
// Bounds counts as the nearer bound.
type Regression struct {
	models.Regression
	// Loss is the mean of the objective that training minimises, computed with targets that are scaled so that the
	// lower bound becomes -1 and the upper bound 1. Loss is null if this mean is not finite.
	Loss   *float64          `json:"test_loss"`
	Bounds data.TargetBounds `json:"target_bounds"` // the public bounds of the targets
}

// RegressionWarning is the warning that reports print about a regression model whose predictions are no better than
// always predicting the mean of the targets.
const RegressionWarning = "the model is NOT better than always predicting the mean target of these rows; narrower " +
	"--target-bounds or a smaller --learning-rate may help"

// writeText writes the errors, those of the best constants, and a warning if the model is not better.
func (r *Regression) writeText(b *strings.Builder) {
	fmt.Fprintf(b, "errors          RMSE %.5g, mean absolute error %.5g; %s\nbaseline        R² 0 and RMSE %.5g by "+
		"always predicting the mean of these rows, mean absolute error %.5g by their median\n", r.RMSE, r.MAE,
		defined("loss", r.Loss), r.MeanRMSE, r.MedianMAE)
	if r.R2 == nil || !(*r.R2 > 0) {
		fmt.Fprintf(b, "WARNING         %s\n", RegressionWarning)
	}
}

// ClassMetrics has the metrics of a classifier other than its accuracy, as [models.Evaluation] defines and computes
// them on the test or held-out rows.
type ClassMetrics struct {
	AUC              *float64      `json:"auc"`               // null if it is not defined, as for rows that are all of one class
	BalancedAccuracy float64       `json:"balanced_accuracy"` // mean recall of the classes that have rows
	F1               float64       `json:"f1"`                // with two classes, that of class 1; with more, the mean over the classes that have rows
	LogLoss          *float64      `json:"log_loss"`          // null if the model gives no probabilities, or if it is not finite
	PerClass         []ClassResult `json:"per_class"`
	// Confusion[c][p] counts the rows of class c for which the model predicts class p.
	Confusion [][]int `json:"confusion"`
}

// ClassResult has the recall and precision of one class, with its label.
type ClassResult struct {
	Label string `json:"label"`
	models.ClassResult
}

// ClassMetricsOf returns the metrics of the evaluation e in the form in which reports have them. labels has the label
// of each class, in the order of the classes.
func ClassMetricsOf(e models.Evaluation, labels []string) ClassMetrics {
	m := ClassMetrics{AUC: e.AUC, BalancedAccuracy: e.BalancedAccuracy, F1: e.F1, LogLoss: e.LogLoss, Confusion: e.Confusion}
	for c := range e.Confusion {
		m.PerClass = append(m.PerClass, ClassResult{labels[c], e.Class(c)})
	}
	return m
}

// judged is how good a model is on p.Test. A model of classes has the first two parts, and a model of
// regression has the third.
type judged struct {
	accuracy   *Accuracy
	judgement  *Judgement
	regression *Regression
}

// text returns the accuracy or R².
func (j judged) text() string {
	switch {
	case j.accuracy != nil:
		return fmt.Sprintf("%.4f", j.accuracy.TestAccuracy)
	case j.regression != nil && j.regression.R2 != nil:
		return fmt.Sprintf("%.4f", *j.regression.R2)
	}
	return "not defined, because all targets are equal or at the same bound,"
}

// writeText writes the baseline and the other metrics of a model of the spec.
func (j judged) writeText(b *strings.Builder, s Spec) {
	switch {
	case j.regression != nil:
		j.regression.writeText(b)
	case j.judgement != nil:
		j.judgement.writeText(b, s)
	}
}

// judgement returns how good the model params is on p.Test.
func (p *Prepared) judgement(params []float32) judged {
	m, scratch, all := p.Config.Model, p.Config.Model.NewScratch(), p.Test.All()
	finite := func(loss float64) *float64 {
		if math.IsInf(loss, 0) || math.IsNaN(loss) {
			return nil
		}
		return &loss
	}
	if t := p.Test.Data.Targets; t != nil {
		e := models.EvaluateRegression(models.Predictions(m.(models.Scorer), params, all, scratch), all)
		return judged{regression: &Regression{*e, finite(m.Loss(params, all, scratch)), t.Bounds}}
	}
	share := p.Test.MajorityShare()
	e, loss := models.EvaluateLoss(m, params, all, scratch)
	return judged{&Accuracy{e.Accuracy}, &Judgement{MajorityShare: share, BeatsMajority: e.Accuracy > share, Loss: finite(loss),
		ClassMetrics: ClassMetricsOf(*e, classNames(p.Test.Data))}, nil}
}

// MajorityWarning begins the warning that reports print about a classifier whose accuracy is no better than that of
// always predicting the most frequent class.
const MajorityWarning = "the model is NOT better than always predicting the most frequent class: its accuracy shows nothing; "

// majorityWarning returns the whole warning, with advice that applies to trainings of the spec.
func (s Spec) majorityWarning() string {
	helps := "more records or columns of similar size (in your own file, by --normalise) can help"
	if s.NoiseMultiplier > 0 {
		helps = "a larger ε, " + helps
	}
	if s.ClassWeights != "" {
		return MajorityWarning + helps + "; class weights can lower the accuracy, so compare other metrics"
	}
	return MajorityWarning + helps + ", and --class-weights if a class is rare"
}

// BaselineWarning returns the text to print if a model is no better than the baseline (see [Prepared.Baseline]). It
// does not check whether that is so. The text depends on Spec.Metric, and its advice on the other settings.
func (s Spec) BaselineWarning() string {
	if s.IsAccuracy() {
		return s.majorityWarning()
	}
	if IsRegression(s.Model) {
		return RegressionWarning
	}
	return "the model is NOT better than always predicting the same class: its " + s.MetricName() + " shows nothing"
}

// writeText writes the baseline, a warning if the model is not better, and the other metrics.
func (j Judgement) writeText(b *strings.Builder, s Spec) {
	fmt.Fprintf(b, "baseline        %.4f by always predicting the most frequent class\n", j.MajorityShare)
	if !j.BeatsMajority {
		fmt.Fprintf(b, "WARNING         %s\n", s.majorityWarning())
	}
	j.ClassMetrics.writeText(b)
}

// mostClassesShown is the largest number of classes that a text lists one by one.
const mostClassesShown = 10

// WriteText writes the metrics to w in one line, followed by a line with recall and precision for each class if there
// are at most 10 classes.
func (m ClassMetrics) WriteText(w io.Writer) error {
	var b strings.Builder
	m.writeText(&b)
	_, err := io.WriteString(w, b.String())
	return err
}

func (m ClassMetrics) writeText(b *strings.Builder) {
	fmt.Fprintf(b, "other metrics   balanced accuracy %.4f, F1 %.4f, %s, %s\n", m.BalancedAccuracy, m.F1,
		defined("AUC", m.AUC), defined("log loss", m.LogLoss))
	if len(m.PerClass) > mostClassesShown {
		return
	}
	title := "classes"
	for _, c := range m.PerClass {
		fmt.Fprintf(b, "%-16s%s: %s, recall %.4f, precision %.4f\n", title, data.InList(c.Label),
			decimal.Many(c.Count, "row"), c.Recall, c.Precision)
		title = ""
	}
}

func defined(name string, x *float64) string {
	if x == nil {
		return "no " + name
	}
	return fmt.Sprintf("%s %.4f", name, *x)
}
