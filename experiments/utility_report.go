package experiments

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"proactivedp/internal/decimal"
	"proactivedp/internal/plots"
	"proactivedp/internal/report"
	"proactivedp/internal/results"
	"proactivedp/sim"
	"proactivedp/train"
	"proactivedp/train/pool"
)

// UtilityReport is the result of [Graph]: the accuracy that a model trained without noise keeps when noise N(0, C²σ²)
// is added to each of its parameters, as a line over σ for each clipping norm C.
type UtilityReport struct {
	Lines    []*pool.Utility `json:"lines"` // one line for each clipping norm
	TestRows int             `json:"test_rows"`
	// JudgedOn describes the records on which accuracies were measured, such as the test set; TestRows is
	// their number.
	JudgedOn string `json:"judged_on"`
	// Majority is the baseline: the best value of the metric that the same prediction for all rows reaches, see
	// models.Metric.Baseline.
	Majority   float64  `json:"majority_share"`
	Synthetic  bool     `json:"synthetic_data"`      // whether the data are made up
	DataNote   string   `json:"data_note,omitempty"` // warning about the rows of the data, see data.Dataset.Note
	Notes      []string `json:"notes,omitempty"`     // warnings about the settings, and that no (ε, δ) covers the graph
	DataSHA256 string   `json:"data_sha256"`         // SHA-256 of the parsed records of the data set
	// Spec has the settings of all lines. Its clipping norm is 0, because each line has its own.
	Spec pool.UtilitySpec `json:"config"`
}

// Graph makes a utility graph, which shows how much noise the accuracy of a model tolerates. For each clipping norm C
// in clips it trains a model without noise. Then it adds noise N(0, C²σ²) to each parameter, for each σ in s.Sigmas,
// and measures the accuracy. The graph reads the data without noise, so no (ε, δ) covers it. perf sets the speed and
// the memory of the trainings. If a run takes long, it shows a progress bar on progress, unless that is nil.
func Graph(ctx context.Context, s pool.UtilitySpec, source *train.Source, clips []float64, perf sim.Perf,
	progress io.Writer) (*UtilityReport, error) {
	if len(clips) == 0 {
		return nil, errors.New("clips: none given, must be at least one")
	}
	p, err := source.Prepare(s.Train)
	if err != nil {
		return nil, err
	}
	d := source.Data()
	r := &UtilityReport{
		TestRows: p.Test.Len(), JudgedOn: s.Train.JudgedOn(), Majority: p.Baseline(p.Test),
		Synthetic: d.Synthetic, DataNote: d.Note, DataSHA256: source.Hash(), Spec: s,
	}
	r.Spec.Train.Clip, r.Notes = 0, append(s.Train.Notes(), "this "+ownPrivacy)
	n := float64(len(clips))
	show, finish := report.LongBar(progress, "training and judging", n*s.Work(p))
	defer finish()
	for i, clip := range clips {
		one := s
		one.Train.Clip = clip
		u, err := one.Run(ctx, source, perf, func(part float64) {
			if show != nil {
				show((float64(i) + part) / n)
			}
		}, train.Keep{})
		if err != nil {
			return nil, err
		}
		r.Lines = append(r.Lines, u)
	}
	return r, nil
}

// WriteText writes the graph as a table for people: for each σ and clipping norm, the accuracy with noise as a
// fraction of the accuracy without noise.
func (r *UtilityReport) WriteText(w io.Writer) error {
	var text strings.Builder
	fmt.Fprintf(&text, "%s of w* + n over that of w*, on the %s: %s of %s\n", r.Spec.Train.MetricName(), r.JudgedOn,
		decimal.Many(r.TestRows, "row"), report.Data(r.Spec.Train.Data, r.Synthetic, r.DataNote))
	t := tabwriter.NewWriter(&text, 0, 0, 2, ' ', tabwriter.AlignRight)
	row := func(name string, format string, value func(*pool.Utility) float64) {
		fmt.Fprintf(t, "%s\t", name)
		for _, u := range r.Lines {
			fmt.Fprintf(t, format+"\t", value(u))
		}
		fmt.Fprint(t, "\n")
	}
	row("σ", "C = %g", func(u *pool.Utility) float64 { return u.Clip })
	for i, sigma := range r.Spec.Sigmas {
		row(fmt.Sprintf("%g", sigma), "%.4f", func(u *pool.Utility) float64 { return u.Points[i].Fraction })
	}
	row(r.Spec.Train.MetricName()+" of w*", "%.4f", func(u *pool.Utility) float64 { return u.Accuracy })
	row("baseline", "%.4f", func(*pool.Utility) float64 { return r.Majority })
	row("‖w*‖", "%.4f", func(u *pool.Utility) float64 { return u.Norm })
	if err := errors.Join(t.Flush(), report.WriteNotes(&text, r.Notes)); err != nil {
		return err
	}
	for _, u := range r.Lines {
		if u.Accuracy <= r.Majority {
			fmt.Fprintf(&text, "WARNING: C = %g: %s\n", u.Clip, r.Spec.Train.BaselineWarning())
		}
	}
	_, err := io.WriteString(w, text.String())
	return err
}

// Write writes the graph to the folder dir as a figure: the picture in the style of d, the data and a manifest. The
// manifest stores how the graph was made: command, the command line that makes it again; the data of source; and
// took, the duration of the computation.
func (r *UtilityReport) Write(
	dir, command string, d results.Drawing, source *train.Source, took time.Duration,
) error {
	s := r.Spec.Train
	p := plots.Picture{
		Title:  fmt.Sprintf("%s, %s: accuracy of w* + n over that of w*", s.Data, train.ModelTitle(s.Model)),
		XLabel: "noise multiplier σ (noise per coordinate: Cσ)", YLabel: "fraction of accuracy", YMax: 1.02,
		Caption: fmt.Sprintf("w*: %s, s = %s, K = %d each, no noise, step size %s. n ~ N(0, C²σ²I), unscaled, %s per "+
			"point; mean and one standard deviation over these. Judged by %s of the %s. The graph looks at the data "+
			"without noise and is covered by no (ε, δ).", decimal.Many(s.Clients, "client"), s.SampleSize, s.GradComps,
			s.StepText(), decimal.Many(r.Spec.Draws, "draw"), decimal.Many(r.TestRows, "row"), r.JudgedOn),
		Banner: results.Banner(s, r.Synthetic),
	}
	table := [][]string{{"data", "model", "clip", "sigma", "fraction", "fraction_sd", "test_accuracy", "wstar_accuracy",
		"wstar_norm"}}
	p.YMin = 1
	for _, u := range r.Lines {
		line := utilityLine(u.Clip, []*pool.Utility{u})
		p.Lines, p.YMin = append(p.Lines, line), min(p.YMin, slices.Min(line.Lo))
		for _, at := range u.Points {
			table = append(table, []string{s.Data, s.Model, report.Number(u.Clip), decimal.Exactly(at.Sigma),
				report.Number(at.Fraction), report.Number(at.FractionSD), report.Number(at.MeanAccuracy),
				report.Number(u.Accuracy), report.Number(u.Norm)})
		}
	}
	return results.WriteFigure(dir, p.Write, table, results.Manifest{Title: p.Title, Command: command,
		Config: r.Spec, Seeds: 1, Drawing: d}, []*train.Source{source}, took)
}
