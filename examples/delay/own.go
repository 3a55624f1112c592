package main

import (
	"fmt"
	"time"

	"proactivedp/data"
	"proactivedp/models"
	"proactivedp/rng"
	"proactivedp/sim"
)

// blocks is a custom permissible delay. Rounds are divided into blocks of this many rounds. A client
// may run ahead to the end of its block, and waits there for all other clients.
type blocks int

var _ sim.Delay = blocks(0)

// Permits is true for k ≥ i, as it must be, or clients would wait forever.
func (b blocks) Permits(k, i int) bool { return k >= i-i%int(b) }

func (b blocks) String() string { return fmt.Sprintf("blocks of %d", int(b)) }

// pauses is a custom duration. A gradient takes Usual. With probability P, the machine first does
// something else for the time Pause.
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

// curve is a custom observer that records accuracy against simulated time.
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

// observe looks at every tenth broadcast. It does not keep b.V, which belongs to the server and
// changes.
func (c *curve) observe(b sim.Broadcast) {
	if b.K%10 != 0 {
		return
	}
	c.Seconds = append(c.Seconds, float64(b.At)/1e9)
	c.Accuracy = append(c.Accuracy, models.Accuracy(c.model, b.V, c.test, c.scratch, c.labels))
}

// reaches returns when the accuracy first reached the target, in seconds.
func (c *curve) reaches(target float64) (seconds float64, ok bool) {
	for i, a := range c.Accuracy {
		if a >= target {
			return c.Seconds[i], true
		}
	}
	return 0, false
}
