package sim

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"proactivedp/sim/clock"
)

// For each client, the time of a run without waiting is the sum of the drawn times divided by the speed.
func TestSpeedAndTraceDecideTheTime(t *testing.T) {
	trace, err := clock.ParseTrace(strings.NewReader("client,duration\n0,1ms\n1,5ms\n0,3ms\n2,2ms\n3,7us\n"))
	if err != nil {
		t.Fatal(err)
	}
	cfg := small(t, func(c *Config) {
		c.Timing.Compute = clock.Duration{Kind: clock.Traced, File: "t", Trace: trace}
		c.Speeds = clock.Speeds{List: []float64{1, 2, 0.5, 1}}
		c.Delay = Unlimited{}
	})
	r := runVirtual(t, cfg, Perf{})
	for c, perGradient := range []time.Duration{2 * time.Millisecond, 5 * time.Millisecond / 2, 4 * time.Millisecond,
		7 * time.Microsecond} {
		if want := Time(400 * perGradient); r.Busy[c] != want {
			t.Errorf("client %d was busy for %d, want %d", c, r.Busy[c], want)
		}
	}
	cfg.Rows = cfg.Rows[:3]
	if err := cfg.Validate(); err == nil || !strings.Contains(err.Error(), "clients of the trace = 4") ||
		!strings.Contains(err.Error(), "number of speeds = 4") {
		t.Errorf("3 clients: %v", err)
	}
}

// A drawn time that the clock cannot hold ends the run with an error.
func TestClockOverflowIsAnError(t *testing.T) {
	cfg := small(t)
	v, err := NewVirtual(cfg, Perf{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if d := (clock.Duration{Kind: clock.Constant, Mean: time.Hour}); d.Draw(1e9, nil, 0, 0) != clock.Beyond {
		t.Error("a time that no int64 holds is not clock.Beyond the clock")
	}
	sound := v.Snapshot()
	v.enter(clock.Beyond, &event{kind: roundEnds})
	failed := v.Snapshot()
	for range 2 {
		if _, err := v.Run(context.Background()); !errors.Is(err, ErrClock) {
			t.Errorf("error %v, want ErrClock", err)
		}
	}
	// A failure belongs to the state that it left, not to the run that is put into another.
	v.Restore(sound)
	if _, err := v.Run(context.Background()); err != nil {
		t.Errorf("put back to before the failure: %v", err)
	}
	v.Restore(failed)
	if _, err := v.Run(context.Background()); !errors.Is(err, ErrClock) {
		t.Errorf("put into the state of a failure: error %v, want ErrClock", err)
	}
	cfg.Timing.Compute = clock.Duration{Kind: clock.Pareto, Mean: time.Hour, Shape: 1.0001}
	cfg.GradComps = 8 * 10_000
	if err := cfg.Validate(); err == nil || !strings.Contains(err.Error(), "expected virtual time") {
		t.Errorf("error %v", err)
	}
}
