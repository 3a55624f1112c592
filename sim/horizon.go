package sim

import (
	"errors"
	"fmt"

	"proactivedp/dp"
	"proactivedp/sim/clock"
)

// maxClock bounds the expected length of a run on the virtual clock, in
// nanoseconds (some three years): a hundredth of what the clock can hold, far
// beyond what exponential times can add to it. A heavier tail may still: see
// ErrClock.
const maxClock = 1e17

// maxTries bounds how often a client may be expected to begin a round, or to be
// sent a broadcast, until it stays for long enough.
const maxTries = 100

// unreliable reports whether messages may meet more than their latency.
func (c *Config) unreliable() bool { return c.Network != clock.Network{} || c.Churn != clock.Churn{} }

// gradientTimes returns the mean time of a gradient by client, in nanoseconds.
func (c *Config) gradientTimes() []float64 {
	slower := c.Speeds.Factors(c.Clients(), c.Roots.Run)
	times := make([]float64, c.Clients())
	for client := range times {
		times[client] = c.Timing.Compute.ExpectedOf(client)
		if slower != nil {
			times[client] *= slower[client]
		}
	}
	return times
}

// checkClock reports that a run would not end in time: that it is expected to be
// longer than maxClock, or a client not to stay for a round or a broadcast.
func (c *Config) checkClock(run dp.Run) error {
	if c.Adapt != 0 && c.Timing.Compute.Expected() == 0 {
		return errors.New("sim: adapt needs gradients that take time, their mean is 0")
	}
	down := c.Network.Travel(&c.Timing.Downlink)
	messages := c.Network.Travel(&c.Timing.Uplink) + down
	longest, tries := 0.0, 1.0
	for _, gradient := range c.gradientTimes() {
		if c.Adapt != 0 { // A fast client's rounds become as long as expected; a slow one's first is long.
			gradient *= max(1, min(c.Timing.Compute.Expected()/gradient, float64(c.Adapt)))
		}
		// At worst a client begins every round as often as the largest.
		again := max(c.Churn.Tries(gradient*float64(run.Max)), c.Churn.Tries(down))
		tries = max(tries, again)
		longest = max(longest, again*(gradient*float64(run.Computed)+messages*float64(run.Rounds)))
	}
	longest *= c.Churn.Stretch()
	var errs []error
	if !(longest <= maxClock) {
		errs = append(errs, fmt.Errorf("sim: expected virtual time = %.3g ns, must be at most %.3g", longest, maxClock))
	}
	if tries > maxTries {
		errs = append(errs, fmt.Errorf("sim: churn = %v: a round or a broadcast would be begun %.3g times until a client stays for it, must be at most %d: raise the mean presence", c.Churn, tries, maxTries))
	}
	return errors.Join(errs...)
}

// CheckFreeRunning reports every part of the configuration that only the virtual
// clock has: a free-running client takes the time that it takes.
func (c *Config) CheckFreeRunning() error {
	var errs []error
	for _, part := range []struct {
		name string
		on   bool
	}{
		{"speeds", !c.Speeds.AllOne()},
		{"loss", c.Network.Loss != 0},
		{"duplicate", c.Network.Duplicate != 0},
		{"churn", c.Churn != clock.Churn{}},
		{"adapt", c.Adapt != 0},
	} {
		if part.on {
			errs = append(errs, fmt.Errorf("sim: %s is of the virtual clock, hogwild must go without", part.name))
		}
	}
	return errors.Join(errs...)
}
