package experiments

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"

	"proactivedp/internal/report"
	"proactivedp/internal/results"
	"proactivedp/sim"
	"proactivedp/train/pool"
)

// redrawComparisons returns a function that draws the comparisons of a figure again. The accuracies are those
// of the figure's data, and lags, idle times and speed-ups those of its manifest. parts returns the series of
// each comparison.
func redrawComparisons(parts func(f *figureConfig) [][]series,
	draw func(ctx context.Context, f *figureConfig, all ...*comparison) (*content, error),
) func(ctx context.Context, f *figureConfig, k *storedFigure) (*content, error) {
	return func(ctx context.Context, f *figureConfig, k *storedFigure) (*content, error) {
		all, err := storedComparisons(f, k, parts(f))
		if err != nil {
			return nil, err
		}
		return draw(ctx, f, all...)
	}
}

func storedComparisons(f *figureConfig, k *storedFigure, parts [][]series) ([]*comparison, error) {
	text := k.config
	if bytes.HasPrefix(bytes.TrimSpace(text), []byte("{")) { // a figure of one comparison has no list
		text = fmt.Appendf(nil, "[%s]", text)
	}
	var configs []comparisonConfig
	if err := json.Unmarshal(text, &configs); err != nil {
		return nil, fmt.Errorf("%s: config: %w", results.ManifestFile, err)
	}
	if len(configs) != len(parts) {
		return nil, fmt.Errorf("%s has %d comparisons, must have %d", results.ManifestFile, len(configs), len(parts))
	}
	n := 0
	for _, all := range parts {
		n += len(all) * k.Seeds
	}
	runs, err := k.table.Runs(n, "sigma", "series", "seed")
	if err != nil {
		return nil, err
	}
	var out []*comparison
	for i, all := range parts {
		c, err := storedComparison(f, &configs[i], all, runs[:len(all)*k.Seeds])
		if err != nil {
			return nil, err
		}
		runs = runs[len(all)*k.Seeds:]
		out = append(out, c)
	}
	return out, nil
}

// storedComparison returns the comparison of series that a manifest and the runs of a table describe.
func storedComparison(f *figureConfig, config *comparisonConfig, all []series, tables []results.Table) (*comparison, error) {
	if len(config.Summaries) != len(all) {
		return nil, fmt.Errorf("%s has %d summaries of delays, must have %d", results.ManifestFile, len(config.Summaries), len(all))
	}
	p, err := f.source.Prepare(all[0].spec)
	if err != nil {
		return nil, err
	}
	c := &comparison{all: all, tolerance: config.Tolerance, stored: config}
	seeds := len(tables) / len(all)
	names := clockColumns(all[0].spec, []string{"virtual_seconds", "test_accuracy"})
	for i, s := range config.Summaries {
		if s.Diverged > 0 {
			return nil, fmt.Errorf("%w: runs of %s diverged", ErrNotRedrawn, s.Name)
		}
		var runs []pool.Timed
		var ends []float64
		for _, t := range tables[i*seeds : (i+1)*seeds] {
			var at, accuracy []float64
			if err := t.Columns(map[string]*[]float64{names[0]: &at, names[1]: &accuracy}); err != nil {
				return nil, err
			}
			r := pool.Timed{TestRows: p.Test.Len(), Accuracy: accuracy}
			for _, seconds := range at {
				r.At = append(r.At, sim.Time(math.Round(1e9*seconds)))
			}
			r.Clock = r.At[len(r.At)-1]
			runs, ends = append(runs, r), append(ends, clockSeconds(r.Clock))
			c.kept = append(c.kept, t.Rows...)
		}
		accuracy, _ := report.Spread(finals(runs))
		end, _ := report.Spread(ends)
		if math.Abs(accuracy-s.Accuracy) > 1e-5 || end > s.Seconds+1e-8 || end < 0.9*s.Seconds {
			return nil, fmt.Errorf("%s has the accuracy %.6g after %.9g s for %s, not %.6g after %.9g s as in %s", results.TableFile,
				accuracy, end, s.Name, s.Accuracy, s.Seconds, results.ManifestFile)
		}
		for j := range runs { // a run ends with the last broadcast, shortly after the last look at the model
			runs[j].Clock += sim.Time(math.Round(1e9 * (s.Seconds - end)))
		}
		c.runs = append(c.runs, runs)
	}
	for _, accuracy := range finals(c.runs[0]) {
		c.goal = append(c.goal, accuracy-c.tolerance)
	}
	return c, nil
}
