package experiments

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"proactivedp/internal/results"
	"proactivedp/train"
	"proactivedp/train/pool"
)

// comparisonFigure returns a figure of one comparison of runs on the virtual clock. To draw it again, read returns what
// the figure's data have of a run, see storedComparisons.
func (l delayExperiment) comparisonFigure(kind, title string, all func(f *figureConfig) []series,
	read func(results.Table) (pool.Timed, error),
	draw func(ctx context.Context, f *figureConfig, c *comparison) (*content, error)) Figure {
	return Figure{
		Name: l.name() + kind, Data: l.with.Data, Long: l.long,
		Title: fmt.Sprintf("%s, %s on %s", title, train.ModelTitle(l.with.Model), l.with.Data),
		cells: func(_ context.Context, f *figureConfig) ([]pool.Cell, error) {
			return comparisonCells(all(f), f.seeds, l.looks, f.source), nil
		},
		finish: func(ctx context.Context, f *figureConfig, trained []json.RawMessage) (*content, error) {
			c, err := decodeComparison(all(f), trained)
			if err != nil {
				return nil, err
			}
			return draw(ctx, f, c)
		},
		redraw: func(ctx context.Context, f *figureConfig, k *storedFigure) (*content, error) {
			c, err := storedComparisons(f, k, [][]series{all(f)}, read)
			if err != nil {
				return nil, err
			}
			return draw(ctx, f, c[0])
		},
	}
}

// delayFigure shows the final accuracy against the permissible delay, with and without noise.
func (l delayExperiment) delayFigure() Figure {
	parts := func(f *figureConfig) [][]series {
		return [][]series{l.delays(f, l.with, allDelays), l.delays(f, l.without, allDelays)}
	}
	fig := l.comparisonFigure("-delay", "Accuracy against the permissible delay",
		func(f *figureConfig) []series { return slices.Concat(parts(f)...) }, nil,
		func(ctx context.Context, f *figureConfig, c *comparison) (*content, error) {
			n := len(allDelays)
			return delayContent(ctx, f, c.part(0, n), c.part(n, 2*n))
		})
	fig.redraw = func(ctx context.Context, f *figureConfig, k *storedFigure) (*content, error) {
		both, err := storedComparisons(f, k, parts(f), nil)
		if err != nil {
			return nil, err
		}
		return delayContent(ctx, f, both...)
	}
	return fig
}

// stragglerFigure shows accuracy against simulated time.
func (l delayExperiment) stragglerFigure(kind string, spec train.Spec) Figure {
	title := "Accuracy against simulated time under stragglers"
	if spec.NoiseMultiplier == 0 {
		title += ", without noise"
	}
	all := func(f *figureConfig) []series { return l.delays(f, spec, timedDelays) }
	return l.comparisonFigure(kind, title, all, nil, timeContent)
}

// skewedFigure shows the final accuracy against the permissible delay where delay costs accuracy: each
// client mostly has records of one label, the steps are ten times those of the other figures, and there
// is no noise that hides the loss.
func (l delayExperiment) skewedFigure() Figure {
	spec := l.without
	spec.Partition, spec.Eta0 = "dirichlet:0.1", 10*l.without.Eta0
	all := func(f *figureConfig) []series { return l.delays(f, spec, allDelays) }
	return l.comparisonFigure("-skewed-delay", "Accuracy against the permissible delay, skewed labels and large steps", all, nil,
		func(ctx context.Context, f *figureConfig, c *comparison) (*content, error) {
			return delayContent(ctx, f, c)
		})
}

// stalenessFigure shows how far behind rounds were computed, for each delay.
func (l delayExperiment) stalenessFigure() Figure {
	all := func(f *figureConfig) []series { return l.delays(f, l.with, allDelays) }
	return l.comparisonFigure("-staleness", "Staleness against its bound", all, storedLags, stalenessContent)
}

// idleFigure shows how long clients of unequal speed wait.
func (l delayExperiment) idleFigure() Figure {
	spec := l.with
	spec.Speeds = unequalSpeeds
	all := func(f *figureConfig) []series { return l.delays(f, spec, allDelays) }
	return l.comparisonFigure("-idle", "Idle time of clients of unequal speed", all, storedWaits, idleContent)
}
