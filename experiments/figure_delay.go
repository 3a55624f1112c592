package experiments

import (
	"context"
	"encoding/json"
	"fmt"

	"proactivedp/train"
	"proactivedp/train/pool"
)

// contestFigure returns a figure of runs on the virtual clock, made from one
// contest.
func (l laboratory) contestFigure(kind, title string, all func(f *frame) []contender,
	draw func(ctx context.Context, f *frame, c *contest) (*outcome, error)) Figure {
	return Figure{
		Name: l.name() + kind, Data: l.with.Data, Long: l.long,
		Title: fmt.Sprintf("%s, %s on %s", title, train.ModelTitle(l.with.Model), l.with.Data),
		cells: func(_ context.Context, f *frame) ([]pool.Cell, error) {
			return contestCells(all(f), f.seeds, l.looks, f.source), nil
		},
		finish: func(ctx context.Context, f *frame, results []json.RawMessage) (*outcome, error) {
			c, err := decodeContest(all(f), results)
			if err != nil {
				return nil, err
			}
			return draw(ctx, f, c)
		},
	}
}

// delayFigure shows the accuracy at the end against the permissible delay, with
// and without noise.
func (l laboratory) delayFigure() Figure {
	return l.contestFigure("-delay", "Accuracy against the permissible delay",
		func(f *frame) []contender {
			return append(l.delays(f, l.with, allDelays), l.delays(f, l.without, allDelays)...)
		},
		func(ctx context.Context, f *frame, c *contest) (*outcome, error) {
			n := len(allDelays)
			return delayOutcome(ctx, f, c.part(0, n), c.part(n, 2*n))
		})
}

// stragglerFigure shows accuracy against simulated time.
func (l laboratory) stragglerFigure(kind string, spec train.Spec) Figure {
	title := "Accuracy against simulated time under stragglers"
	if spec.NoiseMultiplier == 0 {
		title += ", without noise"
	}
	return l.contestFigure(kind, title, func(f *frame) []contender { return l.delays(f, spec, timedDelays) },
		timeOutcome)
}

// stalenessFigure shows how far behind rounds were computed, for each delay.
func (l laboratory) stalenessFigure() Figure {
	return l.contestFigure("-staleness", "Staleness against its bound",
		func(f *frame) []contender { return l.delays(f, l.with, allDelays) }, stalenessOutcome)
}

// idleFigure shows how long clients of unequal speed wait.
func (l laboratory) idleFigure() Figure {
	spec := l.with
	spec.Speeds = unequalSpeeds
	return l.contestFigure("-idle", "Idle time of clients of unequal speed",
		func(f *frame) []contender { return l.delays(f, spec, allDelays) }, idleOutcome)
}
