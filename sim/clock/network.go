package clock

import (
	"errors"
	"fmt"
	"time"
)

// Network says how unreliable the simulated messages between client and server are, in both directions: how often a
// message is lost or duplicated on its way, and when a lost message is sent again. With the zero value each message
// arrives once.
type Network struct {
	Loss      float64       // probability that a message sent is lost, in [0, MaxLoss]
	Resend    time.Duration // time after which a lost message is sent again; must be above 0 if Loss is above 0
	Duplicate float64       // probability that a message that is not lost arrives twice, in [0, 1]
}

// MaxLoss is the largest Network.Loss, the probability p that a message is lost. A message is sent 1/(1 − p) times on
// average until it arrives, so 100 times at MaxLoss.
const MaxLoss = 0.99

// Validate returns an error that lists every field of n outside its range.
func (n Network) Validate() error {
	var errs []error
	fail := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if !(n.Loss >= 0 && n.Loss <= MaxLoss) {
		fail("loss = %v, must be in [0, %v]", n.Loss, MaxLoss)
	}
	if !(n.Duplicate >= 0 && n.Duplicate <= 1) {
		fail("duplicate = %v, must be in [0, 1]", n.Duplicate)
	}
	switch {
	case n.Resend < 0 || n.Resend > MaxDuration:
		fail("resend = %v, must be in [0, %v]", n.Resend, MaxDuration)
	case n.Loss > 0 && n.Resend == 0:
		fail("resend = 0, must be above 0: a lost message (loss = %v) is sent again after it", n.Loss)
	case n.Loss == 0 && n.Resend > 0:
		fail("resend = %v, must be 0 where no message is lost", n.Resend)
	}
	return errors.Join(errs...)
}

// Travel returns the mean time from the first sending of a message to its arrival, in nanoseconds, to estimate the
// length of a run. It includes the waits after which a lost message is sent again. latency is the time that a message
// is under way if it is not lost.
func (n Network) Travel(latency *Duration) float64 {
	return latency.Expected() + float64(n.Resend)*n.Loss/(1-n.Loss)
}
