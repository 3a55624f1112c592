package experiments

import (
	"context"
	"encoding/json"
	"fmt"

	"proactivedp/internal/results"
	"proactivedp/train"
	"proactivedp/train/pool"
)

// comparisonFigure returns a figure of comparisons of runs on the virtual clock. parts has the series of each comparison.
// To draw the figure again, read returns what its data have of a run, see storedComparisons.
func (l delayExperiment) comparisonFigure(kind, title string, parts func(f *figureConfig) [][]series,
	read func(results.Table) (pool.Timed, error),
	draw func(ctx context.Context, f *figureConfig, all []*comparison) (*content, error)) Figure {
	return Figure{
		Name: l.name() + kind, Data: l.with.Data, Long: l.long,
		Title: fmt.Sprintf("%s, %s on %s", title, train.ModelTitle(l.with.Model), l.with.Data),
		cells: func(_ context.Context, f *figureConfig) (cells []pool.Cell, err error) {
			for _, all := range parts(f) {
				cells = append(cells, comparisonCells(all, f.seeds, l.looks, f.source)...)
			}
			return cells, nil
		},
		finish: func(ctx context.Context, f *figureConfig, trained []json.RawMessage) (*content, error) {
			var comparisons []*comparison
			for _, all := range parts(f) {
				n := len(all) * f.seeds
				c, err := decodeComparison(all, trained[:n])
				if err != nil {
					return nil, err
				}
				comparisons, trained = append(comparisons, c), trained[n:]
			}
			return draw(ctx, f, comparisons)
		},
		redraw: func(ctx context.Context, f *figureConfig, k *storedFigure) (*content, error) {
			comparisons, err := storedComparisons(f, k, parts(f), read)
			if err != nil {
				return nil, err
			}
			return draw(ctx, f, comparisons)
		},
	}
}

// single draws a figure of one comparison.
func single(draw func(context.Context, *figureConfig, *comparison) (*content, error)) func(context.Context, *figureConfig,
	[]*comparison) (*content, error) {
	return func(ctx context.Context, f *figureConfig, all []*comparison) (*content, error) {
		return draw(ctx, f, all[0])
	}
}

// under returns the parts of a figure that compares the delays, once for each spec.
func (l delayExperiment) under(delays []string, specs ...train.Spec) func(f *figureConfig) [][]series {
	return func(f *figureConfig) (parts [][]series) {
		for _, spec := range specs {
			parts = append(parts, l.delays(f, spec, delays))
		}
		return parts
	}
}

// delayFigure shows the final accuracy against the permissible delay, with and without noise.
func (l delayExperiment) delayFigure() Figure {
	return l.comparisonFigure("-delay", "Accuracy against the permissible delay", l.under(allDelays, l.with, l.without), nil, delayContent)
}

// delayFigures returns all figures of delays. Those of the protocol, for which the model does not matter, are only for
// models that are not networks.
func (l delayExperiment) delayFigures() []Figure {
	const stragglers = "Accuracy against simulated time under stragglers"
	figures := []Figure{l.delayFigure(),
		l.comparisonFigure("-stragglers", stragglers, l.under(timedDelays, l.with), nil, single(timeContent)),
		l.comparisonFigure("-stragglers-without-noise", stragglers+", without noise", l.under(timedDelays, l.without), nil,
			single(timeContent)),
		l.runnersFigure(), l.throughputFigure()}
	if train.IsNetwork(l.with.Model) {
		return figures
	}
	unequal := l.with
	unequal.Speeds = unequalSpeeds
	// Delay costs accuracy if each client mostly has records of one label and the steps are ten times those of the other
	// figures, and there is no noise that hides the loss.
	skewed := l.without
	skewed.Partition, skewed.Eta0 = "dirichlet:0.1", 10*l.without.Eta0
	return append(figures,
		l.comparisonFigure("-staleness", "Staleness against its bound", l.under(allDelays, l.with), storedLags, single(stalenessContent)),
		l.comparisonFigure("-idle", "Idle time of clients of unequal speed", l.under(allDelays, unequal), storedWaits, single(idleContent)),
		l.adaptiveFigure(), l.timelineFigure(),
		l.comparisonFigure("-skewed-delay", "Accuracy against the permissible delay, skewed labels and large steps",
			l.under(allDelays, skewed), nil, delayContent))
}
