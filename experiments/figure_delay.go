package experiments

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"proactivedp/train"
	"proactivedp/train/pool"
)

// comparisonFigure returns a figure of one comparison of runs on the virtual clock.
func (l delayExperiment) comparisonFigure(kind, title string, all func(f *figureConfig) []series,
	draw func(ctx context.Context, f *figureConfig, c *comparison) (*content, error)) Figure {
	return Figure{
		Name: l.name() + kind, Data: l.with.Data, Long: l.long,
		Title: fmt.Sprintf("%s, %s on %s", title, train.ModelTitle(l.with.Model), l.with.Data),
		cells: func(_ context.Context, f *figureConfig) ([]pool.Cell, error) {
			return comparisonCells(all(f), f.seeds, l.looks, f.source), nil
		},
		finish: func(ctx context.Context, f *figureConfig, results []json.RawMessage) (*content, error) {
			c, err := decodeComparison(all(f), results)
			if err != nil {
				return nil, err
			}
			return draw(ctx, f, c)
		},
	}
}

// delayFigure shows the final accuracy against the permissible delay, with and without noise.
func (l delayExperiment) delayFigure() Figure {
	parts := func(f *figureConfig) [][]series {
		return [][]series{l.delays(f, l.with, allDelays), l.delays(f, l.without, allDelays)}
	}
	fig := l.comparisonFigure("-delay", "Accuracy against the permissible delay",
		func(f *figureConfig) []series { return slices.Concat(parts(f)...) },
		func(ctx context.Context, f *figureConfig, c *comparison) (*content, error) {
			n := len(allDelays)
			return delayContent(ctx, f, c.part(0, n), c.part(n, 2*n))
		})
	fig.redraw = redrawComparisons(parts, nil, delayContent)
	return fig
}

// stragglerFigure shows accuracy against simulated time.
func (l delayExperiment) stragglerFigure(kind string, spec train.Spec) Figure {
	title := "Accuracy against simulated time under stragglers"
	if spec.NoiseMultiplier == 0 {
		title += ", without noise"
	}
	all := func(f *figureConfig) []series { return l.delays(f, spec, timedDelays) }
	fig := l.comparisonFigure(kind, title, all, timeContent)
	fig.redraw = redrawComparison(all, nil, timeContent)
	return fig
}

// skewedFigure shows the final accuracy against the permissible delay where delay costs accuracy: each
// client mostly has records of one label, the steps are ten times those of the other figures, and there
// is no noise that hides the loss.
func (l delayExperiment) skewedFigure() Figure {
	spec := l.without
	spec.Partition, spec.Eta0 = "dirichlet:0.1", 10*l.without.Eta0
	all := func(f *figureConfig) []series { return l.delays(f, spec, allDelays) }
	draw := func(ctx context.Context, f *figureConfig, c *comparison) (*content, error) {
		return delayContent(ctx, f, c)
	}
	fig := l.comparisonFigure("-skewed-delay", "Accuracy against the permissible delay, skewed labels and large steps", all, draw)
	fig.redraw = redrawComparison(all, nil, draw)
	return fig
}

// stalenessFigure shows how far behind rounds were computed, for each delay.
func (l delayExperiment) stalenessFigure() Figure {
	all := func(f *figureConfig) []series { return l.delays(f, l.with, allDelays) }
	fig := l.comparisonFigure("-staleness", "Staleness against its bound", all, stalenessContent)
	fig.redraw = redrawComparison(all, storedLags, stalenessContent)
	return fig
}

// idleFigure shows how long clients of unequal speed wait.
func (l delayExperiment) idleFigure() Figure {
	spec := l.with
	spec.Speeds = unequalSpeeds
	all := func(f *figureConfig) []series { return l.delays(f, spec, allDelays) }
	fig := l.comparisonFigure("-idle", "Idle time of clients of unequal speed", all, idleContent)
	fig.redraw = redrawComparison(all, storedWaits, idleContent)
	return fig
}
