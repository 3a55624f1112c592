package experiments

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"proactivedp/internal/decimal"
	"proactivedp/internal/plots"
	"proactivedp/internal/spread"
)

// equalFigure shows, at the certified ε of the paper's plan, the accuracy of other
// plans against the gradients that each computes.
func (s setting) equalFigure() Figure {
	plan := budgetPlan(s.atEqualEpsilon)
	return Figure{
		Name: s.train.Data + "-equal-epsilon", Data: s.train.Data, Long: true,
		Title: fmt.Sprintf("Accuracy and gradients of plans of the same certified ε, on %s", s.train.Data),
		cells: plan.cells,
		finish: func(ctx context.Context, f *frame, results []json.RawMessage) (*outcome, error) {
			all, err := plan.results(ctx, f, results)
			if err != nil {
				return nil, err
			}
			picture := plots.Picture{
				Title:  f.data().Name + ": accuracy at equal certified ε",
				XLabel: "gradients computed, of all clients", YLabel: "test accuracy (fraction)", LogarithmicX: true,
				Lines: linesOver(all, func(p *priced) float64 { return float64(p.gradients) }),
				Rows:  equalRows(all), Banner: f.banner(), Caption: budgetCaption(f, all),
			}
			accuracyAxis(&picture)
			return &outcome{picture: picture, table: budgetTable(f, all), config: all}, nil
		},
	}
}

// atEqualEpsilon returns a training of each approach at the ε of the paper's plan.
func (s setting) atEqualEpsilon(ctx context.Context, f *frame) ([]priced, error) {
	plan := s.models[0]
	if !s.heavy {
		plan = s.train
	}
	plan, err := f.part(plan)
	if err != nil {
		return nil, err
	}
	paid, err := f.price(ctx, "the paper's plan", plan)
	if err != nil {
		return nil, err
	}
	approaches, err := s.approaches(paid.Privacy.PerClient.DatasetSize)
	if err != nil {
		return nil, err
	}
	var all []priced
	for _, a := range approaches {
		spec, err := a.spec(ctx, f, paid.epsilon())
		if err != nil {
			return nil, fmt.Errorf("%s: %w", a.name, err)
		}
		p, err := f.price(ctx, a.name, spec)
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
}

// equalRows is the table below the picture.
func equalRows(all []priced) [][]string {
	rows := [][]string{{"", "clients", "s", "T", "σ", "gradients", "test accuracy", "certified"}}
	for _, p := range all {
		mean, sd := spread.Of(p.accuracy)
		rows = append(rows, []string{p.Series, strconv.Itoa(p.Train.Clients), p.Train.SampleSize,
			strconv.Itoa(p.Privacy.PerClient.Rounds), decimal.Down(p.Train.NoiseMultiplier, 4),
			strconv.Itoa(p.gradients), spread.Text(mean, sd, len(p.accuracy)),
			epsilonAtMost(p.Privacy.Certified.PerRecord.EpsilonUpper)})
	}
	return rows
}
