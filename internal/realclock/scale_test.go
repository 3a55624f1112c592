package realclock

import (
	"context"
	"errors"
	"testing"
	"time"

	"proactivedp/sim"
	"proactivedp/sim/clock"
)

// A clock that has shown more than it can hold stands still at the end: it would be below 0 else,
// and what is due then would be waited for without end.
func TestClockStandsAtItsEnd(t *testing.T) {
	for _, scale := range []float64{1e-12, 1e-300} {
		r := &run{Options: Options{Scale: scale}, begun: time.Now().Add(-time.Hour)}
		if now := r.now(); now != sim.Time(clock.Beyond) {
			t.Errorf("scale %v: the clock shows %d", scale, now)
		} else if _, err := later(now, 0); !errors.Is(err, sim.ErrClock) {
			t.Errorf("scale %v: error %v, want that of the clock", scale, err)
		}
	}
}

// On a clock of which a real second is more than it can hold, the run ends with the error that
// says so.
func TestClockThatRunsTooFast(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for _, scale := range []float64{1e-15, 1e-300} {
		if _, err := Run(ctx, config(t, 2, sim.AtMost(1)), Options{Scale: scale}); !errors.Is(err, sim.ErrClock) {
			t.Errorf("scale %v: error %v, want that of the clock", scale, err)
		}
	}
}
