package experiments

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"proactivedp/internal/decimal"
	"proactivedp/internal/plots"
	"proactivedp/internal/report"
	"proactivedp/train"
	"proactivedp/train/pool"
)

// equalFigure shows the accuracy of several plans with the certified ε of the paper's plan, against the
// gradients that each computes.
func (s experiment) equalFigure() Figure {
	fig := s.pricedFigure(s.Train.Data+"-equal-epsilon", "Accuracy and gradients of plans of the same certified ε", s.atEqualEpsilon, nil,
		func(f *figureConfig, all []priced, p *plots.Picture) string {
			p.Title = f.data().Name + ": accuracy at equal certified ε"
			p.XLabel = "gradients computed, of all clients"
			p.Lines = linesOver(all, func(p *priced) float64 { return float64(p.gradients) })
			byMethod(p.Lines)
			p.Rows = equalRows(all)
			if s.Printed != (pool.Steps{}) { // the name of the series is in committed data
				p.Caption += fmt.Sprintf(" The paper's step size is here %s, which was searched; the paper prints %s.",
					s.Train.StepText(), s.Printed.Of(s.Train).StepText())
			}
			return ""
		})
	fig.series = true
	return fig
}

// byMethod gives lines that are named after a model and a method the colour of their method and the mark of their
// model, because there are too many to have both for themselves.
func byMethod(lines []plots.Line) {
	var models, methods []string
	number := func(all *[]string, name string) int {
		if !slices.Contains(*all, name) {
			*all = append(*all, name)
		}
		return slices.Index(*all, name)
	}
	for i := range lines {
		if model, method, both := strings.Cut(lines[i].Name, ": "); both {
			lines[i].Like = number(&models, model) + 1
			lines[i].Colour = plots.Palette[number(&methods, method)%len(plots.Palette)]
		}
	}
}

// atEqualEpsilon returns a training of each method at the ε of the paper's plan.
func (s experiment) atEqualEpsilon(ctx context.Context, f *figureConfig) ([]priced, error) {
	plan := s.models[0]
	if !s.heavy {
		plan = s.Train
	}
	plan, err := f.part(plan)
	if err != nil {
		return nil, err
	}
	paid, err := f.price(ctx, "the paper's plan", plan)
	if err != nil {
		return nil, err
	}
	methods, err := s.methods(paid.Privacy.PerClient.DatasetSize)
	if err != nil {
		return nil, err
	}
	var all []priced
	for _, a := range methods {
		more, err := f.series(ctx, a.name, 1, func(int) (train.Spec, error) { return a.spec(ctx, f, paid.epsilon()) })
		if err != nil {
			return nil, err
		}
		all = append(all, more...)
	}
	return all, nil
}

// equalRows returns the table below the picture.
func equalRows(all []priced) [][]string {
	rows := [][]string{{"", "clients", "s", "T", "σ", "gradients", "test accuracy", "certified"}}
	for _, p := range all {
		mean, sd := report.Spread(p.accuracy)
		rows = append(rows, []string{p.Series, strconv.Itoa(p.Train.Clients), p.Train.SampleSize,
			strconv.Itoa(p.Privacy.PerClient.Rounds), decimal.Up(p.Train.NoiseMultiplier, 4),
			strconv.Itoa(p.gradients), report.SpreadText(mean, sd, len(p.accuracy)),
			epsilonAtMost(p.Privacy.Certified.PerRecord.EpsilonUpper)})
	}
	return rows
}
