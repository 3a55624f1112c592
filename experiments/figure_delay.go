package experiments

import (
	"encoding/json"
	"fmt"
)

// delayFigures returns the laboratory's figures, in the order of the index.
func (l laboratory) delayFigures() []Figure {
	all := []Figure{l.delayFigure(), l.stragglerFigure("-stragglers", l.with), l.stragglerFigure("-stragglers-without-noise", l.without)}
	if isNetwork(l.with.Model) {
		return all // the others are about the protocol, whatever it trains
	}
	return append(all, l.stalenessFigure(), l.idleFigure(), l.adaptiveFigure(), l.timelineFigure())
}

// contestFigure is a figure of runs on the virtual clock.
func (l laboratory) contestFigure(kind, title string, all func(f *frame) []contender, draw func(f *frame, all []contender, runs [][]timed) (*outcome, error)) Figure {
	return Figure{
		Name: l.name() + kind, Data: l.with.Data, Long: l.long,
		Title: fmt.Sprintf("%s, %s on %s", title, modelTitle(l.with.Model), l.with.Data),
		cells: func(f *frame) []cell { return contestCells(all(f), f.seeds, l.looks, f.data, f.hash) },
		finish: func(f *frame, results []json.RawMessage) (*outcome, error) {
			contenders := all(f)
			runs, err := decodeRuns(len(contenders), results)
			if err != nil {
				return nil, err
			}
			return draw(f, contenders, runs)
		},
	}
}

// delayFigure is the accuracy at the end against the permissible delay, with and
// without noise.
func (l laboratory) delayFigure() Figure {
	n := len(allDelays)
	return l.contestFigure("-delay", "Accuracy against the permissible delay",
		func(f *frame) []contender {
			return append(l.delays(f, l.with, allDelays), l.delays(f, l.without, allDelays)...)
		},
		func(f *frame, all []contender, runs [][]timed) (*outcome, error) {
			noisy, plain := newContest(all[:n], runs[:n]), newContest(all[n:], runs[n:])
			caption, err := noisy.caption(f)
			if err != nil {
				return nil, err
			}
			if step := stepText(l.without); step != stepText(l.with) {
				caption += " Without noise: step size " + step + "."
			}
			p := delayPicture(f, []*contest{noisy, plain}, l.yMin)
			p.caption = caption
			return &outcome{picture: p, table: append(noisy.table(f), plain.table(f)[1:]...), config: []contestConfig{noisy.config(), plain.config()}}, nil
		})
}

// stragglerFigure is accuracy against simulated time.
func (l laboratory) stragglerFigure(kind string, spec TrainSpec) Figure {
	title := "Accuracy against simulated time under stragglers"
	if spec.NoiseMultiplier == 0 {
		title += ", without noise"
	}
	return l.contestFigure(kind, title,
		func(f *frame) []contender { return l.delays(f, spec, timedDelays) },
		func(f *frame, all []contender, runs [][]timed) (*outcome, error) {
			c := newContest(all, runs)
			caption, err := c.caption(f)
			if err != nil {
				return nil, err
			}
			p := timePicture(f, c, l.yMin)
			p.caption = caption + "\n" + c.goalText()
			return &outcome{picture: p, table: c.curves(f), config: c.config()}, nil
		})
}

// stalenessFigure is how far behind rounds were computed, for each bound.
func (l laboratory) stalenessFigure() Figure {
	return l.contestFigure("-staleness", "Staleness against its bound",
		func(f *frame) []contender { return l.delays(f, l.with, allDelays) },
		func(f *frame, all []contender, runs [][]timed) (*outcome, error) {
			c := newContest(all, runs)
			caption, err := c.caption(f)
			if err != nil {
				return nil, err
			}
			p := stalenessPicture(f, c)
			p.caption = caption
			return &outcome{picture: p, table: c.stalenessTable(f), config: c.config()}, nil
		})
}

// idleFigure is how long clients of unequal speed wait.
func (l laboratory) idleFigure() Figure {
	return l.contestFigure("-idle", "Idle time of clients of unequal speed",
		func(f *frame) []contender {
			spec := l.with
			spec.Speeds = unequalSpeeds
			return l.delays(f, spec, allDelays)
		},
		func(f *frame, all []contender, runs [][]timed) (*outcome, error) {
			c := newContest(all, runs)
			caption, err := c.caption(f)
			if err != nil {
				return nil, err
			}
			p := idlePicture(f, c)
			p.caption = caption
			return &outcome{picture: p, table: c.idleTable(f), config: c.config()}, nil
		})
}
