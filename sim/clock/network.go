package clock

import (
	"errors"
	"fmt"
	"time"
)

// Network says how reliable the simulated network is: how often a message between client and server, in either
// direction, is lost or duplicated, and when a lost message is sent again. With the zero value each message arrives
// once.
type Network struct {
	Loss      float64       // probability in [0, MaxLoss] that a message is lost each time it is sent
	Resend    time.Duration // time after the sending of a lost message until it is sent again
	Duplicate float64       // probability that a message that is not lost arrives twice, in [0, 1]
}

// MaxLoss is the largest Network.Loss, the probability p that a message is lost. A message is sent 1/(1 − p) times on
// average until it arrives, so at MaxLoss 100 times.
const MaxLoss = 0.99

// Validate returns one error that lists every field outside its range.
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

// Travel returns the mean time from the first sending of a message to its arrival, in nanoseconds: the mean of
// latency (the time that a message takes if it is not lost) and the waits after which a lost message is sent again.
func (n Network) Travel(latency *Duration) float64 {
	return latency.Expected() + float64(n.Resend)*n.Loss/(1-n.Loss)
}
