// This file shows how the accuracy of a training grows, over several seeds.
//
//	curve, err := experiments.TrainCurve(ctx, source, spec, 5, pool.Options{Workers: 2})

package experiments

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"proactivedp/dp/claim"
	"proactivedp/internal/decimal"
	"proactivedp/internal/plots"
	"proactivedp/internal/report"
	"proactivedp/internal/results"
	"proactivedp/train"
	"proactivedp/train/pool"
)

// LearningCurve shows how the accuracy grows during a training: the accuracies of the global models that the server
// broadcasts, as means over several seeds. [TrainCurve] makes one.
type LearningCurve struct {
	TestAccuracy float64         `json:"test_accuracy"`    // accuracy at the end of the training, mean over seeds
	TestSD       float64         `json:"test_accuracy_sd"` // standard deviation over seeds; 0 for one seed
	TestRows     int             `json:"test_rows"`        // number of rows on which accuracies were measured
	JudgedOn     string          `json:"judged_on"`        // kind of these rows, such as "test set"
	Seeds        int             `json:"seeds"`            // number of seeds: the spec's seed and the next ones
	Points       []LearningPoint `json:"points"`
	// Privacy is the guarantee of a single training, for the seed with the largest ε. All trainings together cost
	// more.
	Privacy    claim.Report `json:"privacy"`
	Synthetic  bool         `json:"synthetic_data"`      // whether the data are made up
	DataNote   string       `json:"data_note,omitempty"` // warning about the rows of the data, see data.Dataset.Note
	Notes      []string     `json:"notes,omitempty"`     // warnings about the settings of the training
	DataSHA256 string       `json:"data_sha256"`         // SHA-256 of the parsed records of the data set
	Spec       train.Spec   `json:"config"`

	source *train.Source
	took   time.Duration
}

// LearningPoint is one point of a [LearningCurve]: the accuracy of the first global model that contains at least
// GradComps gradients of every client.
type LearningPoint struct {
	GradComps int       `json:"grad_computations"` // number of gradients that each client has computed
	Accuracy  float64   `json:"accuracy"`          // mean over seeds
	SD        float64   `json:"accuracy_sd"`       // standard deviation over seeds
	BySeed    []float64 `json:"by_seed"`           // accuracy with each seed
}

// mostPoints is the largest number of points of a curve after its first.
const mostPoints = 50

// CheckLearning returns an error if [TrainCurve] cannot make a learning curve of the spec: if the number of seeds is
// not in [1, 10000], if the spec draws its seed from the operating system, or if it averages models, because the
// curve shows the models that the server broadcasts. Use it before you read the data.
func CheckLearning(spec train.Spec, seeds int) error {
	errs := []error{CheckSeeds(seeds)}
	if spec.SeedFromOS {
		errs = append(errs, errors.New("a learning curve needs numbered seeds, must not use the operating "+
			"system's randomness"))
	}
	if spec.Averages() {
		errs = append(errs, fmt.Errorf("average = %q, must be none: a learning curve shows the broadcast models",
			spec.Average))
	}
	return errors.Join(errs...)
}

// TrainCurve trains the spec with the given number of seeds (the spec's seed and the next ones) on the data of
// source, and returns the accuracy at several points of the training. Finished trainings are stored in the folder
// o.Folder, and a later call does not repeat them.
func TrainCurve(ctx context.Context, source *train.Source, spec train.Spec, seeds int, o pool.Options) (
	*LearningCurve, error,
) {
	if err := errors.Join(CheckLearning(spec, seeds), spec.Validate()); err != nil {
		return nil, err
	}
	start := time.Now()
	p, err := source.Prepare(spec)
	if err != nil {
		return nil, err
	}
	costliest, err := source.Costliest(ctx, spec, seeds)
	if err == nil {
		err = costliest.KeepsTarget(ctx)
	}
	if err != nil {
		return nil, err
	}
	points := max(1, min(mostPoints, p.Config.Run().Rounds))
	var specs []train.Spec
	for i := range seeds {
		one := spec
		one.Seed += uint64(i)
		specs = append(specs, one)
	}
	curves, _, err := pool.Curves(ctx, source, specs, points, o)
	if err != nil {
		return nil, err
	}
	privacy, err := costliest.PlannedPrivacy(ctx)
	if err != nil {
		return nil, err
	}
	d := source.Data()
	l := &LearningCurve{
		TestRows: p.Test.Len(), JudgedOn: spec.JudgedOn(), Seeds: seeds, Privacy: privacy, Synthetic: d.Synthetic,
		DataNote: d.Note, Notes: spec.Notes(), DataSHA256: source.Hash(), Spec: spec, source: source,
	}
	for j, target := range curves[0].Target {
		at := LearningPoint{GradComps: target}
		for _, c := range curves {
			at.BySeed = append(at.BySeed, c.Accuracy[j])
		}
		at.Accuracy, at.SD = report.Spread(at.BySeed)
		l.Points = append(l.Points, at)
	}
	last := l.Points[len(l.Points)-1]
	l.TestAccuracy, l.TestSD, l.took = last.Accuracy, last.SD, time.Since(start)
	return l, nil
}

// shownPoints is the approximate number of points in text output.
const shownPoints = 10

// WriteStatement writes the full privacy statement of a single training of the curve, for the seed with the largest
// ε.
func (l *LearningCurve) WriteStatement(w io.Writer) error { return l.Privacy.WriteStatement(w) }

// WriteText writes the accuracies at several points of the training as a table, and then the privacy guarantee of a
// single training.
func (l *LearningCurve) WriteText(w io.Writer) error {
	var text strings.Builder
	fmt.Fprintf(&text, "%s on the %s, %s of %s; mean and standard deviation over %s\n", l.Spec.MetricName(), l.JudgedOn,
		decimal.Many(l.TestRows, "row"), report.Data(l.Spec.Data, l.Synthetic, l.DataNote), seedsText(l.Seeds))
	t := tabwriter.NewWriter(&text, 0, 0, 2, ' ', tabwriter.AlignRight)
	value := "accuracy"
	if train.IsRegression(l.Spec.Model) {
		value = l.Spec.MetricName()
	}
	fmt.Fprintf(t, "gradients per client\t%s\t\n", value)
	every := max(1, (len(l.Points)-1)/shownPoints)
	for i := len(l.Points) - 1; i >= 0; i-- {
		if at := l.Points[len(l.Points)-1-i]; i%every == 0 {
			fmt.Fprintf(t, "%d\t%s\t\n", at.GradComps, report.SpreadText(at.Accuracy, at.SD, l.Seeds))
		}
	}
	if err := errors.Join(t.Flush(), report.WriteNotes(&text, l.Notes)); err != nil {
		return err
	}
	if l.Seeds > 1 {
		fmt.Fprintf(&text, "privacy of ONE of the %d trainings; releases of all of them cost more:\n", l.Seeds)
	}
	if _, err := io.WriteString(w, text.String()); err != nil {
		return err
	}
	return l.Privacy.WriteText(w)
}

// Write writes the curve to the folder dir as a figure: the picture in the style of d, the data and a manifest.
// command is the command line that makes the curve again; it is stored in the manifest.
func (l *LearningCurve) Write(dir, command string, d results.Drawing) error {
	return results.WriteFigure(dir, l.picture().Write, l.table(), results.Manifest{
		Title:   fmt.Sprintf("Learning curve of %s on %s", train.ModelTitle(l.Spec.Model), l.Spec.Data),
		Command: command, Config: l.Spec, Seeds: l.Seeds, Drawing: d,
	}, []*train.Source{l.source}, l.took)
}

func (l *LearningCurve) picture() plots.Picture {
	line := plots.Line{Name: epsilonName(l.Privacy)}
	for _, at := range l.Points {
		line.Add(float64(at.GradComps), at.Accuracy, at.Accuracy-at.SD, at.Accuracy+at.SD)
	}
	p := plots.Picture{
		Title:  fmt.Sprintf("%s, %s: %s of the broadcast models", l.Spec.Data, train.ModelTitle(l.Spec.Model), l.Spec.MetricName()),
		XLabel: "gradient computations per client", YLabel: l.Spec.MetricName() + " (fraction)", Lines: []plots.Line{line},
		Caption: fmt.Sprintf("%s of s = %s, σ = %s, C = %g, step size %s; %s. Judged by %s of the %s. %s",
			decimal.Many(l.Spec.Clients, "client"), l.Spec.SampleSize, decimal.Exactly(l.Spec.NoiseMultiplier),
			l.Spec.Clip, l.Spec.StepText(), "mean and one standard deviation over "+decimal.Many(l.Seeds, "seed"),
			decimal.Many(l.TestRows, "row"), l.JudgedOn, learningEpsilon(l.Privacy)),
		Banner: results.Banner(l.Spec, l.Synthetic),
	}
	if metric := l.Spec.MetricOf(); metric.Regression() {
		p.YLabel = l.Spec.MetricName()
		if metric.Smaller() { // in the unit of the target
			p.YMax = 1.05 * slices.Max(line.Hi)
			return p
		}
	}
	p.YMin, p.YMax = max(0, math.Floor(10*slices.Min(line.Lo))/10), 1
	return p
}

// epsilonName returns the name of a training with its privacy, for a legend.
func epsilonName(r claim.Report) string {
	if r.NoiseMultiplier == 0 {
		return "no noise"
	}
	if e := r.Certified.PerRecord.EpsilonUpper; e != nil {
		return "training, ε ≤ " + decimal.Up(*e, 4)
	}
	return "training, no ε claimed"
}

// learningEpsilon returns the sentence about ε for the caption of a learning curve. It may say that
// no ε is claimed.
func learningEpsilon(r claim.Report) string {
	if r.NoiseMultiplier == 0 || r.Certified.PerRecord.EpsilonUpper == nil {
		return "No ε is claimed."
	}
	return fmt.Sprintf("ε is that of one training, certified by %s, %s, δ = %s, %s adjacency, %s sampling. "+
		"Numbered seeds: a simulation, no release.", r.Certified.PerRecord.Accountant, claim.For(r.Group),
		decimal.Up(r.Delta, 5), r.Adjacency, r.Sampling)
}

func (l *LearningCurve) table() [][]string {
	value := "accuracy" // also of other metrics of classes, as programs know it
	if train.IsRegression(l.Spec.Model) {
		value = l.Spec.MetricName()
	}
	rows := [][]string{{"data", "model", "seed", "grad_computations", value}}
	for i := range l.Seeds {
		for _, at := range l.Points {
			rows = append(rows, []string{l.Spec.Data, l.Spec.Model, strconv.FormatUint(l.Spec.Seed+uint64(i), 10),
				strconv.Itoa(at.GradComps), report.Number(at.BySeed[i])})
		}
	}
	return rows
}
