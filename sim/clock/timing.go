package clock

import (
	"errors"
	"fmt"
	"time"
)

// Timing says how long gradients and messages take on the virtual clock.
type Timing struct {
	Compute  Duration // the time of one gradient at speed 1; drawn once for a round and multiplied by its number of gradients
	Uplink   Duration // a message from client to server
	Downlink Duration // a message from server to client
}

// DefaultTiming returns the default timing of a simulation. A round of s gradients takes an exponentially distributed
// time with the mean s·10 µs, drawn once for the round. So of clients with equal speed, some get ahead of others by
// chance. A message always takes 100 µs.
func DefaultTiming() Timing {
	message := Duration{Kind: Constant, Mean: 100 * time.Microsecond}
	return Timing{
		Compute:  Duration{Kind: Exponential, Mean: 10 * time.Microsecond},
		Uplink:   message,
		Downlink: message,
	}
}

// Validate returns an error that lists every field of t outside its range, for a run with the given number of clients.
// If a field plays back a [Trace], the trace must have the same number of clients as the run.
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
