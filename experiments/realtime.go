package experiments

import (
	"context"
	"errors"
	"slices"
	"strings"

	"proactivedp/models"
	"proactivedp/sim"
	"proactivedp/sim/realclock"
	"proactivedp/train"
)

// runOnRealClock trains by hogwild, which waits for the durations that the virtual clock
// would draw, and looks at the model on the way. What is looked at is judged at the end, as
// judging takes time.
func runOnRealClock(ctx context.Context, p *train.Prepared, looks int, progress func(part float64)) (*timed, error) {
	run := p.Config.Run()
	t := &timed{Rounds: run.Rounds, TestRows: p.Test.Len(), Done: make([]sim.Time, p.Config.Clients())}
	updates := int64(run.Rounds) * int64(p.Config.Clients())
	var seen [][]float32
	look := func(done int, at sim.Time, v []float32) {
		for len(seen) <= looks && int64(done) >= int64(len(seen))*updates/int64(looks) {
			t.At, seen = append(t.At, at), append(seen, slices.Clone(v))
		}
	}
	initial := make([]float32, p.Config.Model.NumParams())
	p.Config.Model.Init(initial, p.Config.InitStream())
	look(0, 0, initial)
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

// clockLabel returns what axes and titles call the time of a spec's runs.
func clockLabel(s train.Spec) string {
	if s.Runner == train.HogwildRunner {
		return "time on a real clock"
	}
	return "time on the virtual clock"
}

// clockColumns returns the header of a table of such times.
func clockColumns(s train.Spec, columns []string) []string {
	if s.Runner != train.HogwildRunner {
		return columns
	}
	out := make([]string, len(columns))
	for i, c := range columns {
		out[i] = strings.ReplaceAll(c, "virtual_seconds", "real_clock_seconds")
	}
	return out
}
