package experiments

import (
	"context"
	"encoding/json"
	"fmt"
	"image/color"
	"math"
	"slices"
	"strconv"

	"proactivedp/dp/claim"
	"proactivedp/internal/decimal"
	"proactivedp/internal/paper"
	"proactivedp/internal/plots"
	"proactivedp/internal/report"
	"proactivedp/train"
	"proactivedp/train/pool"
)

// budgetEpsilons are the certified ε per record in the figures of budgets.
var budgetEpsilons = []float64{0.03, 0.05, 0.1, 0.2, 0.5, 1, 2}

// priced is a training in a figure of budgets, with its privacy cost.
type priced struct {
	Series  string       `json:"series"`
	Train   train.Spec   `json:"train"` // without the seed
	Privacy claim.Report `json:"privacy"`

	accuracy  []float64 // on the test set, by seed
	gradients int       // of all clients
}

// epsilon returns the certified ε of a record. It is +Inf if nothing is claimed.
func (p *priced) epsilon() float64 {
	if e := p.Privacy.Certified.PerRecord.EpsilonUpper; e != nil {
		return *e
	}
	return math.Inf(1)
}

type budgetPlan func(ctx context.Context, f *figureConfig) ([]priced, error)

func (b budgetPlan) cells(ctx context.Context, f *figureConfig) ([]pool.Cell, error) {
	all, err := b(ctx, f)
	if err != nil {
		return nil, err
	}
	var cells []pool.Cell
	for _, p := range all {
		if p.accuracy != nil {
			continue // kept
		}
		for seed := range f.seeds {
			p.Train.Seed = uint64(seed + 1)
			cells = append(cells, pool.OfTrial(p.Train, f.source))
		}
	}
	return cells, nil
}

// price returns a training with its planned cost: that of the costliest seed.
func (f *figureConfig) price(ctx context.Context, series string, spec train.Spec) (priced, error) {
	spec = f.by(spec)
	p, err := f.source.Costliest(ctx, spec, f.seeds)
	if err != nil {
		return priced{}, fmt.Errorf("%s: %w", series, err)
	}
	privacy, err := p.PlannedPrivacy(ctx)
	if err != nil {
		return priced{}, err
	}
	out := priced{Series: series, Train: spec, Privacy: privacy,
		gradients: p.Config.Run().Computed * p.Config.Clients()}
	e := out.epsilon()
	if e == 0 {
		return out, fmt.Errorf("%s: the certified ε is 0, because δ = %s alone covers what a record changes with σ = %s, so "+
			"there is no ε to compare: it needs more rounds or less noise (a larger --scale or, for a file of your own, "+
			"--target-epsilon)", series, decimal.Exactly(p.Delta),
			decimal.Up(spec.NoiseMultiplier, 4))
	}
	if !(e > 0 && e <= math.MaxFloat64) {
		return out, fmt.Errorf("%s: certified ε = %v, must be above 0 and finite to be shown on a logarithmic "+
			"axis", series, e)
	}
	return out, nil
}

// results returns the plan's trainings with the accuracies of their cells.
func (b budgetPlan) results(ctx context.Context, f *figureConfig, results []json.RawMessage) ([]priced, error) {
	all, err := b(ctx, f)
	if err != nil {
		return nil, err
	}
	for i := range all {
		if all[i].accuracy != nil {
			continue // kept
		}
		bySeed, err := pool.DecodeAll[pool.Trial](results[:f.seeds])
		if err != nil {
			return nil, err
		}
		results = results[f.seeds:]
		for _, t := range bySeed {
			all[i].accuracy = append(all[i].accuracy, t.Accuracy)
		}
	}
	return all, nil
}

// budgetTable returns the data of a figure of budgets, with a row for each run, and then those of published results.
func budgetTable(f *figureConfig, all []priced, others []published) [][]string {
	header := []string{"data", "series", "model", "features", "seed", "clients", "sample_size", "rounds", "sigma",
		"clip", "eta0", "schedule", "gradients_of_all_clients", "delta", "certified_epsilon_per_record",
		"epsilon_per_record", "test_accuracy"}
	var rows [][]string
	if len(others) > 0 {
		header, rows = publishedRows(header, f.data().Name, others)
	}
	table := [][]string{header}
	for _, p := range all {
		for seed, accuracy := range p.accuracy {
			table = append(table, []string{f.data().Name, p.Series, p.Train.Model, p.Train.FeatureMap,
				strconv.Itoa(seed + 1), strconv.Itoa(p.Train.Clients), p.Train.SampleSize,
				strconv.Itoa(p.Privacy.PerClient.Rounds), decimal.Exactly(p.Train.NoiseMultiplier),
				report.Number(p.Train.Clip), report.Number(p.Train.Eta0), p.Train.Schedule,
				strconv.Itoa(p.gradients), decimal.Up(p.Privacy.Delta, 6),
				epsilonText(p.Privacy.Certified.PerRecord.EpsilonUpper),
				epsilonText(p.Privacy.Closed().PerRecord.EpsilonUpper), report.Number(accuracy)})
			for len(table[len(table)-1]) < len(header) {
				table[len(table)-1] = append(table[len(table)-1], "") // nothing is published
			}
		}
	}
	return append(table, rows...)
}

// budgetCaption returns the caption of a figure of budgets, which says how the settings were chosen
// and judged.
func budgetCaption(f *figureConfig, all []priced) string {
	p := all[0].Privacy
	features := ""
	if slices.ContainsFunc(all, func(p priced) bool { return p.Train.Scattered() }) {
		features = "Softmax regression has --features hog:4:8; on scatter, it has --features scatter and the usual step size " +
			"for σ, which does not depend on the data.\n"
	}
	return features + fmt.Sprintf("Shown: %s%s; accuracy on the test set. Chosen: σ is the "+
		"least that the certified accountant (%s) allows, clipping norm and step size are the best of a search by "+
		"proxies on records held out of the training set, which looks at the data as at a public benchmark: the ε "+
		"does not cover it.\n"+
		"ε: certified, upper end, per record over all clients that hold it, δ = 1/N, %s adjacency, %s sampling. "+
		"Numbered seeds: a simulation, no release.", spreadText(f.seeds), f.note(), p.Certified.PerClient.Accountant,
		p.Adjacency, p.Sampling)
}

// divergedNote says how many runs diverged, for the end of a caption.
func divergedNote(all []priced) string {
	failed := 0
	for _, one := range all {
		for _, accuracy := range one.accuracy {
			if accuracy == 0 {
				failed++
			}
		}
	}
	switch failed {
	case 0:
		return ""
	case 1:
		return " 1 run of accuracy 0 is in the means: it diverged."
	}
	return fmt.Sprintf(" %d runs of accuracy 0 are in the means: they diverged.", failed)
}

// budgetFigure shows the accuracy for each budget, and therefore the ε that the accuracies stated in
// the paper need.
func (s experiment) budgetFigure() Figure {
	fig := s.pricedFigure(s.Train.Data+"-budget", "Accuracy over the certified ε, step sizes chosen for each budget", s.overBudgets,
		publishedResults[s.Train.Data], func(f *figureConfig, all []priced, p *plots.Picture) string {
			p.Title = f.data().Name + ": what accuracy a budget buys"
			lines := p.Lines
			p.Lines = append(lines, s.statedLines(lines)...)
			if len(s.stated()) > 0 {
				p.Rows = s.needs(lines)
				p.Caption += " The table reads off the lines, between points by log ε, what an accuracy that the " +
					"paper states needs; \"–\": none of these budgets is enough."
			}
			return ""
		})
	fig.series = true
	return fig
}

// pricedFigure returns a figure of trainings with their costs, over the certified ε unless draw sets
// another logarithmic x axis. others are published results on the real data. draw returns the advice that the figure gives.
func (s experiment) pricedFigure(name, title string, plan budgetPlan, others []published,
	draw func(f *figureConfig, all []priced, p *plots.Picture) string) Figure {
	drawn := func(f *figureConfig, all []priced) *content {
		others := others
		if f.data().Synthetic {
			others = nil
		}
		picture := plots.Picture{XLabel: "certified ε of a record", YLabel: accuracyLabel(s.Train) + " (fraction)",
			LogarithmicX: true, Lines: linesOver(all, (*priced).epsilon), Banner: f.banner(), Caption: budgetCaption(f, all)}
		advice := draw(f, all, &picture)
		picture.Lines = append(picture.Lines, publishedLines(others)...)
		picture.Caption += divergedNote(all) + publishedText(others)
		accuracyAxis(&picture)
		return &content{picture: picture, table: budgetTable(f, all, others), config: all, advice: advice}
	}
	return Figure{
		Name: name, Data: s.Train.Data, Long: true,
		Title: fmt.Sprintf("%s, on %s", title, s.Train.Data),
		cells: plan.cells,
		finish: func(ctx context.Context, f *figureConfig, results []json.RawMessage) (*content, error) {
			all, err := plan.results(ctx, f, results)
			if err != nil {
				return nil, err
			}
			return drawn(f, all), nil
		},
		redraw: func(_ context.Context, f *figureConfig, k *storedFigure) (*content, error) {
			all, err := storedPriced(k)
			if err != nil {
				return nil, err
			}
			return drawn(f, all), nil
		},
	}
}

func (s experiment) stated() []paper.Stated {
	return slices.DeleteFunc(slices.Clone(s.paper.Stated), func(a paper.Stated) bool { return a.Data != s.Train.Data })
}

// overBudgets returns the trainings of the figure: one for each row of the paper's table of budgets, all with the
// same step size (none if s is heavy), one for each model and each of budgetEpsilons, with the step size chosen for
// that budget, and for images those on scattering features.
func (s experiment) overBudgets(ctx context.Context, f *figureConfig) ([]priced, error) {
	var all []priced
	add := func(series string, budgets int, of func(i int) (train.Spec, error)) error {
		more, err := f.series(ctx, series, budgets, of)
		all = append(all, more...)
		return err
	}
	if !s.heavy {
		rows := s.paper.Budgets.Rows
		if err := add(s.label(s.Train)+"the paper's table, one step", len(rows), func(i int) (train.Spec, error) {
			spec := s.Train
			spec.SampleSize, spec.NoiseMultiplier = string(rows[i].Size), rows[i].Sigma.Value()
			return f.part(spec)
		}); err != nil {
			return nil, err
		}
	}
	for _, spec := range s.models {
		short, err := tight(spec)
		if err != nil {
			return nil, err
		}
		if short, err = f.part(short); err != nil {
			return nil, err
		}
		if err := add(s.label(spec)+"steps chosen by budget", len(budgetEpsilons), func(i int) (train.Spec, error) {
			return f.choice(ctx, ChoiceRequest{short, budgetEpsilons[i], false})
		}); err != nil {
			return nil, err
		}
	}
	if scatterPlans[s.Train.Data] == nil {
		return all, nil
	}
	epsilons := append(slices.Clone(budgetEpsilons), publishedEpsilon)
	err := add(scatterSeries+"usual step", len(epsilons), func(i int) (train.Spec, error) {
		return s.large(ctx, f, epsilons[i])
	})
	return all, err
}

// series returns the n trainings of a series with their costs: those that MakeOptions.Add keeps, or otherwise
// those of the specs that of returns.
func (f *figureConfig) series(ctx context.Context, name string, n int, of func(i int) (train.Spec, error)) ([]priced, error) {
	if kept := f.kept.series(name); len(kept) > 0 {
		return kept, nil
	}
	var all []priced
	for i := range n {
		spec, err := of(i)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		p, err := f.price(ctx, name, spec)
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
}

// linesOver returns a line for each series: accuracy over x(p) for each training p.
func linesOver(all []priced, x func(*priced) float64) []plots.Line {
	var lines []plots.Line
	for i := range all {
		if i == 0 || all[i].Series != all[i-1].Series {
			lines = append(lines, plots.Line{Name: all[i].Series, Points: true})
		}
		addMean(&lines[len(lines)-1], x(&all[i]), all[i].accuracy, 0)
	}
	return lines
}

// statedLines draws the accuracies that the paper states for its budgets.
func (s experiment) statedLines(lines []plots.Line) []plots.Line {
	var out []plots.Line
	for _, stated := range s.stated() {
		if stated.Epsilon == "" {
			continue
		}
		name := fmt.Sprintf("stated: %s at ε %s", stated.Accuracy, stated.Epsilon)
		level := levelLine(lines, name, stated.Accuracy.Value())
		grey := uint8(min(40+90*len(out), 200)) // the first is as dark as every reference
		level.Colour = color.RGBA{grey, grey, grey, 255}
		if len(out) > 0 {
			level.Like = len(out) + 2 // dots, and then dashes with dots
		}
		out = append(out, level)
	}
	return out
}

// levelLine returns a horizontal line at y, as wide as the other lines.
func levelLine(lines []plots.Line, name string, y float64) plots.Line {
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, l := range lines {
		lo, hi = min(lo, slices.Min(l.X)), max(hi, slices.Max(l.X))
	}
	level := plots.Line{Name: name, Emphasise: true}
	level.AddLevel(lo, hi, y)
	return level
}

// needs returns a table of the ε at which each line reaches the accuracies that the paper states.
func (s experiment) needs(lines []plots.Line) [][]string {
	header := []string{"what is stated by the paper needs"}
	for _, stated := range s.stated() {
		text := string(stated.Accuracy) + ", without noise"
		if stated.Epsilon != "" {
			text = fmt.Sprintf("%s at ε %s", stated.Accuracy, stated.Epsilon)
		}
		header = append(header, text)
	}
	rows := [][]string{header}
	for _, l := range lines {
		row := []string{l.Name}
		for _, stated := range s.stated() {
			row = append(row, needed(l, stated.Accuracy.Value()))
		}
		rows = append(rows, row)
	}
	return rows
}

// needed describes the least ε at which the line reaches an accuracy.
func needed(l plots.Line, accuracy float64) string {
	for i, y := range l.Y {
		if y < accuracy {
			continue
		}
		if i == 0 {
			return "ε ≤ " + decimal.Up(l.X[0], 2)
		}
		part := (accuracy - l.Y[i-1]) / (y - l.Y[i-1])
		return "ε ≈ " + decimal.Up(l.X[i-1]*math.Pow(l.X[i]/l.X[i-1], part), 2)
	}
	return "–"
}
