package pool

import (
	"context"
	"errors"
	"slices"

	"proactivedp/internal/realclock"
	"proactivedp/models"
	"proactivedp/sim"
	"proactivedp/train"
)

// runOnRealClock trains by hogwild and really waits for the durations that the virtual clock would
// draw. It copies the model during the run and evaluates the copies at the end, because evaluation
// takes time.
func runOnRealClock(ctx context.Context, p *train.Prepared, looks int, progress func(part float64)) (*Timed, error) {
	run := p.Config.Run()
	t := &Timed{Rounds: run.Rounds, TestRows: p.Test.Len(), Done: make([]sim.Time, p.Config.Clients())}
	updates := int64(run.Rounds) * int64(p.Config.Clients())
	var seen [][]float32
	look := func(done int, at sim.Time, v []float32) {
		for len(seen) <= looks && int64(done) >= int64(len(seen))*updates/int64(looks) {
			t.At, seen = append(t.At, at), append(seen, slices.Clone(v))
		}
	}
	look(0, 0, p.Config.InitialModel())
	result, err := realclock.Run(ctx, p.Config, realclock.Options{
		Scale: p.Spec.TimeScale, Observe: p.Progress(progress), Look: look,
		Record: func(h sim.Happening) {
			if h.Kind == sim.RoundEnds {
				t.Done[h.Client] = h.At
			}
		},
	})
	diverged := errors.Is(err, models.ErrDiverged)
	if err != nil && !diverged {
		return nil, err
	}
	judge := p.Judge()
	for _, v := range seen {
		t.Accuracy = append(t.Accuracy, judge(v))
	}
	if diverged {
		t.diverge(looks, t.At[len(t.At)-1])
		return t, nil
	}
	t.Clock, t.Staleness, t.Busy = result.Clock, result.Staleness, result.Busy
	return t, nil
}
