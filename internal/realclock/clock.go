package realclock

import (
	"context"
	"math"
	"runtime"
	"time"

	"proactivedp/sim"
	"proactivedp/sim/clock"
)

// now returns the time of the run's clock, which stands still where it can show no more.
func (r *run) now() sim.Time {
	t := float64(time.Since(r.begun)) / r.Scale
	if !(t < float64(clock.Beyond)) {
		return sim.Time(clock.Beyond)
	}
	return sim.Time(t)
}

// real returns how long a stretch of the clock really is, or, beyond what a timer holds, a
// very long time.
func (r *run) real(t sim.Time) time.Duration {
	return time.Duration(min(float64(t)*r.Scale, math.MaxInt64/2))
}

// later returns the time that is so much later than another, or sim.ErrClock.
func later(at sim.Time, d time.Duration) (sim.Time, error) {
	if d > clock.Beyond-1-time.Duration(at) {
		return 0, sim.ErrClock
	}
	return at + sim.Time(d), nil
}

// note records what happens now, and returns when that is.
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

// spinning is for how long before a time a goroutine does not sleep but yields: timers are
// up to a millisecond late, which is the granularity of the system's poller.
const spinning = 1200 * time.Microsecond

// waitUntil returns when the clock shows the time, or the context is cancelled.
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
