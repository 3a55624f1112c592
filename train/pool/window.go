package pool

import (
	"context"
	"encoding/json"
	"fmt"

	"proactivedp/internal/realclock"
	"proactivedp/internal/timeline"
	"proactivedp/sim"
	"proactivedp/train"
)

// OfWindow returns the cell whose result is a [timeline.Window]: what the clients did in the first rounds of a
// training of spec on source, on a virtual or real clock. Use it to draw a timeline. rounds is the number of rounds
// of each client.
func OfWindow(spec train.Spec, rounds int, source *train.Source) Cell {
	c := clockCellOf(cellSpec{Kind: "window", Train: &spec, Rounds: rounds}, source)
	c.Cost = func(workers int) (train.Cost, error) {
		c, err := CostOf(source, spec, 0, workers)
		c.Work = 0 // negligible compared with whole runs
		return c, err
	}
	c.Run = func(ctx context.Context, perf sim.Perf, _ func(float64), _ train.Keep) (any, error) {
		p, err := source.Prepare(spec)
		if err != nil {
			return nil, err
		}
		return runWindow(ctx, p, perf, rounds)
	}
	c.Check = func(text json.RawMessage) error {
		w, err := Decode[timeline.Window](text)
		if err == nil && len(w.Rounds) == 0 {
			err = fmt.Errorf("finished cell: it has no rounds")
		}
		return err
	}
	return c.checked()
}

// runWindow runs the first rounds and records when things happened.
func runWindow(ctx context.Context, p *train.Prepared, perf sim.Perf, rounds int) (*timeline.Window, error) {
	r := timeline.NewRecorder(min(rounds, p.Config.Run().Rounds), p.Config.Clients())
	if p.Spec.Runner == train.HogwildRunner {
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		_, err := realclock.Run(ctx, p.Config, realclock.Options{Scale: p.Spec.TimeScale,
			Record: func(h sim.Happening) {
				if !r.Done() {
					r.Record(h)
				} else {
					stop()
				}
			}})
		if err != nil && !r.Done() {
			return nil, err
		}
		return r.End(), nil
	}
	v, err := sim.NewVirtual(p.Config, perf, nil)
	if err != nil {
		return nil, err
	}
	v.Record(r.Record)
	if _, err := v.RunUntil(ctx, func() bool { return r.Done() }); err != nil {
		return nil, err
	}
	return r.End(), nil
}
