package realclock

import (
	"context"
	"math"
	"runtime"
	"time"

	"proactivedp/sim"
	"proactivedp/sim/clock"
)

// now returns the time on the run's clock, which stops at its largest time.
func (r *run) now() sim.Time {
	t := float64(time.Since(r.begun)) / r.Scale
	if !(t < float64(clock.Beyond)) {
		return sim.Time(clock.Beyond)
	}
	return sim.Time(t)
}

// real returns how long a duration of the clock takes in reality. If a timer cannot hold that, it
// returns a very long time.
func (r *run) real(t sim.Time) time.Duration {
	return time.Duration(min(float64(t)*r.Scale, math.MaxInt64/2))
}

// later returns the time d after at, or sim.ErrClock.
func later(at sim.Time, d time.Duration) (sim.Time, error) {
	if d > clock.Beyond-1-time.Duration(at) {
		return 0, sim.ErrClock
	}
	return at + sim.Time(d), nil
}

// note records the event h with the current time, and returns that time.
func (r *run) note(h sim.Happening) sim.Time {
	if r.Record == nil {
		return r.now()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	h.At = r.now()
	r.Record(h)
	return h.At
}

// spinning is how long before a time a goroutine yields instead of sleeping. Timers are up to a
// millisecond late, which is the granularity of the system's poller.
const spinning = 1200 * time.Microsecond

// waitUntil waits until the clock reaches the time at, or until the context is cancelled, which is
// an error.
func (r *run) waitUntil(ctx context.Context, at sim.Time) error {
	if rest := r.real(at - r.now()); rest > spinning {
		timer := time.NewTimer(rest - spinning)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
	}
	for r.now() < at {
		if ctx.Err() != nil {
			return stopped(ctx)
		}
		runtime.Gosched()
	}
	return nil
}
