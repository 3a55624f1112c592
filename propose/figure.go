package propose

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"proactivedp/dp"
	"proactivedp/dp/claim"
	"proactivedp/internal/decimal"
	"proactivedp/internal/plots"
	"proactivedp/internal/report"
	"proactivedp/internal/results"
	"proactivedp/train"
)

// Write writes the report as a figure to the folder dir: a picture of predicted accuracy against ε, drawn as d says,
// the numbers as CSV, and a manifest. The manifest has command (the command line that repeats the search), the data
// sets (sources) and the time that the search took.
func (r *Report) Write(
	dir, command string, d results.Drawing, sources []*train.Source, took time.Duration,
) error {
	return results.WriteFigure(dir, r.picture().Write, r.table(), results.Manifest{
		Title: fmt.Sprintf("Settings for %s on %s", train.ModelTitle(r.Model), r.Data), Command: command, Config: r,
		Seeds: len(r.Proposals[0].Seeds), Drawing: d,
	}, sources, took)
}

// picture plots accuracy against ε, with a line for each noise multiplier, because the noise multiplier
// determines the number of gradients.
func (r *Report) picture() plots.Picture {
	budgets := []float64{r.TargetEpsilon}
	for _, p := range r.Frontier {
		budgets = append(budgets, p.Epsilon)
	}
	slices.Sort(budgets)
	budgets = slices.Compact(budgets)
	at := func(epsilon float64) float64 { return float64(slices.Index(budgets, epsilon)) }
	p := plots.Picture{
		Title:  fmt.Sprintf("%s, %s: %s predicted within ε", r.Data, train.ModelTitle(r.Model), r.metric()),
		XLabel: "target epsilon of " + claim.Whom(dp.Event{Group: r.Group}), YLabel: "predicted " + r.metric(), YMin: 1,
		Caption: fmt.Sprintf("δ = %s, %d clients of %d records, %s sampling, %s adjacency, certified by pld. Bands "+
			"and bars are the stated intervals (%s). The noise multiplier decides the gradients. Below: gradients of "+
			"all clients. %s.",
			decimal.Up(r.Delta, 5), r.Clients, r.Records, r.Sampling, r.Adjacency, report.Share(r.Confidence),
			r.Probe.Statement),
	}
	if r.Probe.Kind == Other {
		p.Title = fmt.Sprintf("%s, %s: settings judged on %s", r.Data, train.ModelTitle(r.Model), r.Probe.Data)
		p.YLabel = r.metric() + " on " + r.Probe.Data
		p.Banner = "NO PREDICTION FOR " + r.Data
	} else if r.Probe.Synthetic {
		p.Banner = "PREDICTED ON SYNTHETIC DATA (" + r.Probe.Data + ")"
	}
	header := []string{"ε"}
	for _, epsilon := range budgets {
		p.XNames = append(p.XNames, decimal.Exactly(epsilon))
		header = append(header, decimal.Exactly(epsilon))
	}
	p.Rows = [][]string{header}
	for _, noise := range triedNoise {
		line := plots.Line{Name: fmt.Sprintf("σ about %g", noise), Points: true}
		row := slices.Repeat([]string{report.NoAnswer}, len(header))
		row[0] = line.Name
		for _, point := range r.Frontier {
			if point.noise == noise {
				line.Add(at(point.Epsilon), point.Accuracy, point.Low, point.High)
				row[1+slices.Index(budgets, point.Epsilon)] = strconv.Itoa(point.Gradients)
				p.YMin, p.YMax = min(p.YMin, point.Low), max(p.YMax, point.High)
			}
		}
		if len(line.X) > 0 {
			p.Lines, p.Rows = append(p.Lines, line), append(p.Rows, row)
		}
	}
	proposed := plots.Line{Name: "proposed", Scatter: true}
	for _, q := range r.Proposals {
		proposed.Add(at(r.TargetEpsilon), q.Accuracy, q.Low, q.High)
		p.YMin, p.YMax = min(p.YMin, q.Low), max(p.YMax, q.High)
	}
	p.Lines = append(p.Lines, proposed)
	return p
}

// table returns the proposals and the frontier, after a header.
func (r *Report) table() [][]string {
	rows := [][]string{{"rank", "epsilon", "predicted_accuracy", "predicted_low", "predicted_high", "gradients",
		"sample_size", "grad_computations", "sigma", "clip", "eta0", "schedule", "average", "features", "input_scale"}}
	add := func(rank string, epsilon float64, p Prediction, gradients int, s train.Spec) {
		rows = append(rows, []string{rank, decimal.Exactly(epsilon), report.Number(p.Accuracy), report.Number(p.Low),
			report.Number(p.High), strconv.Itoa(gradients), s.SampleSize, strconv.Itoa(s.GradComps),
			decimal.Exactly(s.NoiseMultiplier), report.Number(s.Clip), report.Number(s.Eta0),
			s.Schedule, s.Average, s.FeatureMap, report.Number(max(s.InputScale, 0))})
	}
	for _, p := range r.Proposals {
		add(strconv.Itoa(p.Rank), r.TargetEpsilon, p.Prediction, p.Gradients, p.Setting)
	}
	for _, p := range r.Frontier {
		add("", p.Epsilon, p.Prediction, p.Gradients, p.Setting)
	}
	return rows
}
