package experiments

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"proactivedp/internal/decimal"
	"proactivedp/internal/plots"
	"proactivedp/internal/report"
	"proactivedp/train"
	"proactivedp/train/pool"
)

// utilityFigure returns the paper's figure (a): how much test accuracy is left when noise is added to a
// trained model, against σ, for several clipping norms.
func (s experiment) utilityFigure() Figure {
	return utilityFigureOf(Figure{
		Name: s.name() + "-utility",
		Data: s.Train.Data,
		Long: s.long,
		Title: fmt.Sprintf("Utility graph: %s left under noise, %s on %s", s.Train.MetricName(), train.ModelTitle(s.Train.Model),
			s.Train.Data),
	}, s.utilitySpecs, s.drawUtility, "clip", "seed")
}

// utilityFigureOf returns a figure of utility graphs. columns are those of its data that distinguish the graphs.
func utilityFigureOf(fig Figure, specs func(f *figureConfig) []pool.UtilitySpec,
	draw func(f *figureConfig, all []*pool.Utility) *content, columns ...string) Figure {
	return figureOf(fig, func(f *figureConfig) (cells []pool.Cell, err error) {
		for _, spec := range specs(f) {
			cells = append(cells, pool.OfUtility(spec, f.source))
		}
		return cells, nil
	}, func(_ context.Context, f *figureConfig, all []*pool.Utility) (*content, error) {
		return draw(f, all), nil
	}, func(f *figureConfig, k *storedFigure) ([]*pool.Utility, error) {
		return storedUtilities(k, len(specs(f)), columns...)
	})
}

// drawUtility draws the graphs, by clipping norm and then by seed.
func (s experiment) drawUtility(f *figureConfig, graphs []*pool.Utility) *content {
	table := [][]string{{"data", "model", "clip", "seed", "sigma", "fraction", "fraction_sd", "test_accuracy",
		"wstar_accuracy", "wstar_norm"}}
	var lines []plots.Line
	var norms []string
	for c, clip := range s.Clips {
		bySeed := graphs[c*f.seeds : (c+1)*f.seeds]
		for seed, u := range bySeed {
			for _, p := range u.Points {
				table = append(table, []string{f.data().Name, s.Train.Model, report.Number(clip),
					strconv.Itoa(seed + 1), decimal.Exactly(p.Sigma),
					report.Number(p.Fraction), report.Number(p.FractionSD), report.Number(p.MeanAccuracy),
					report.Number(u.Accuracy), report.Number(u.Norm)})
			}
		}
		lines = append(lines, utilityLine(clip, bySeed))
		norms = append(norms, utilityNorm(clip, bySeed))
	}
	all := s.utilitySpecs(f)
	return &content{
		picture: plots.Picture{
			Title: fmt.Sprintf("%s, %s: %s of w* + n over that of w*", f.data().Name,
				train.ModelTitle(s.Train.Model), s.Train.MetricName()),
			XLabel:  "noise multiplier σ (noise per coordinate: Cσ)",
			YLabel:  "fraction of " + accuracyLabel(s.Train),
			Caption: s.utilityCaption(f, all[0], norms),
			Banner:  f.banner(), Lines: lines,
			YMin: min(0.5, s.yMin), YMax: 1.02,
		},
		table: table, config: all,
	}
}

// ownPrivacy is the privacy statement about a graph of w* + n. It follows the word "This".
const ownPrivacy = "graph spends privacy of its own: it looks at the data without noise and is covered by no (ε, δ)"

// utilityCaption returns the caption of a utility graph: how w* was trained, and which noise was
// added to it.
func (s experiment) utilityCaption(f *figureConfig, spec pool.UtilitySpec, norms []string) string {
	t := spec.Train
	return fmt.Sprintf("w*: clipping norm C, no noise, K = %d gradient computations in all (%s, s = %s, step size "+
		"%s)%s.\n"+
		"Mean ‖w*‖ and %s over %s: %s.\n"+
		"n ~ N(0, C²σ²I) on every coordinate, unscaled, %s per point; mean and one standard deviation over seeds "+
		"and draws.\nThis "+ownPrivacy+".",
		t.GradComps*t.Clients, decimal.Many(t.Clients, "client"), t.SampleSize, t.StepText()+s.foundBy(), f.note(),
		accuracyLabel(t), seedsText(f.seeds), strings.Join(norms, "; "), decimal.Many(spec.Draws, "draw"))
}

// utilitySpecs lists the specs that are run, by clipping norm and then by seed.
func (s experiment) utilitySpecs(f *figureConfig) (out []pool.UtilitySpec) {
	for _, clip := range s.Clips {
		for seed := range f.seeds {
			train := f.by(s.Utility())
			train.Clip, train.Seed = clip, uint64(seed+1)
			train.GradComps = f.gradComps(s.WStar) / train.Clients
			out = append(out, pool.UtilitySpec{Train: train, Sigmas: s.Sigmas, Draws: f.draws(s.Draws)})
		}
	}
	return out
}

// utilityLine returns the line of one clipping norm: the mean over seeds, with a band of one
// standard deviation over seeds and draws together.
func utilityLine(clip float64, bySeed []*pool.Utility) plots.Line {
	l := plots.Line{Name: fmt.Sprintf("C = %g", clip)}
	for i, p := range bySeed[0].Points {
		addLeft(&l, p.Sigma, bySeed, i)
	}
	return l
}

// addLeft appends a point at x: the fraction of the accuracy of w* that is left at point i, over seeds.
func addLeft(l *plots.Line, x float64, bySeed []*pool.Utility, i int) {
	var means []float64
	within := 0.0
	for _, u := range bySeed {
		means = append(means, u.Points[i].Fraction)
		within += u.Points[i].FractionSD * u.Points[i].FractionSD / float64(len(bySeed))
	}
	addMean(l, x, means, within)
}

func utilityNorm(clip float64, bySeed []*pool.Utility) string {
	var norm, accuracy float64
	for _, u := range bySeed {
		norm += u.Norm / float64(len(bySeed))
		accuracy += u.Accuracy / float64(len(bySeed))
	}
	return fmt.Sprintf("C = %g: %.2f, %.3f", clip, norm, accuracy)
}
