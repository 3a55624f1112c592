package clock

import (
	"errors"
	"fmt"
	"time"
)

// Timing says how long gradients and messages take on the virtual clock.
type Timing struct {
	Compute  Duration // one gradient at speed 1; a round draws once and takes s_i times as long
	Uplink   Duration // a message from client to server
	Downlink Duration // a message from server to client
}

// DefaultTiming returns a timing with which clients of equal speed get ahead of each other by chance. The time of a
// round is exponentially distributed, with a mean of 10 µs for each gradient. A message takes 100 µs.
func DefaultTiming() Timing {
	message := Duration{Kind: Constant, Mean: 100 * time.Microsecond}
	return Timing{
		Compute:  Duration{Kind: Exponential, Mean: 10 * time.Microsecond},
		Uplink:   message,
		Downlink: message,
	}
}

// Validate reports every field outside its range. clients is the number of clients in the run.
func (t Timing) Validate(clients int) error {
	var errs []error
	for _, part := range []struct {
		name string
		d    Duration
	}{{"compute", t.Compute}, {"uplink", t.Uplink}, {"downlink", t.Downlink}} {
		if err := part.d.validate(clients); err != nil {
			errs = append(errs, fmt.Errorf("%w (%s)", err, part.name))
		}
	}
	return errors.Join(errs...)
}
