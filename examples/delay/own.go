package main

import (
	"fmt"
	"time"

	"proactivedp/data"
	"proactivedp/models"
	"proactivedp/rng"
	"proactivedp/sim"
)

// blocks is a permissible delay of one's own: a client may run ahead as far as the
// end of its block of so many rounds, and there it waits for all others.
type blocks int

var _ sim.Delay = blocks(0)

// Permits is true for k ≥ i, as it must be, or clients would wait for ever.
func (b blocks) Permits(k, i int) bool { return k >= i-i%int(b) }

func (b blocks) String() string { return fmt.Sprintf("blocks of %d", int(b)) }

// pauses is a duration of one's own: a gradient takes Usual, but with probability
// P the machine has something else to do first, for Pause.
type pauses struct {
	Usual, Pause time.Duration
	P            float64
}

func (d pauses) Mean() time.Duration { return d.Usual + time.Duration(d.P*float64(d.Pause)) }

// Draw takes all its randomness from s, so that runs can be repeated.
func (d pauses) Draw(s *rng.Stream) time.Duration {
	if s.Float64() < d.P {
		return d.Pause + d.Usual
	}
	return d.Usual
}

func (d pauses) String() string {
	return fmt.Sprintf("%v, and %v with probability %g", d.Usual, d.Pause, d.P)
}

// curve is accuracy against simulated time: an observer of one's own.
type curve struct {
	model   models.Model
	test    data.Batch
	scratch models.Scratch
	labels  []int32

	Seconds, Accuracy []float64
}

func newCurve(m models.Model, test data.Subset) *curve {
	return &curve{model: m, test: test.All(), scratch: m.NewScratch(), labels: make([]int32, test.Len())}
}

// observe looks at every tenth broadcast. It keeps nothing of b.V, which is the
// server's own and changes.
func (c *curve) observe(b sim.Broadcast) {
	if b.K%10 != 0 {
		return
	}
	c.Seconds = append(c.Seconds, float64(b.At)/1e9)
	c.Accuracy = append(c.Accuracy, models.Accuracy(c.model, b.V, c.test, c.scratch, c.labels))
}

// reaches returns when the accuracy was first at least the target, in seconds.
func (c *curve) reaches(target float64) (seconds float64, ok bool) {
	for i, a := range c.Accuracy {
		if a >= target {
			return c.Seconds[i], true
		}
	}
	return 0, false
}
