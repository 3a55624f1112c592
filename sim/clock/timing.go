package clock

import (
	"errors"
	"fmt"
	"time"
)

// Timing says how long gradients and messages take in simulated time.
type Timing struct {
	// Compute is the time of one gradient of a client with speed 1. One duration is drawn for each round, and
	// multiplied by the batch size s_i.
	Compute  Duration
	Uplink   Duration // time that a message takes from client to server
	Downlink Duration // time that a message takes from server to client
}

// DefaultTiming returns a timing in which clients of equal speed get ahead of each other by chance: the time of a
// round is exponentially distributed, with a mean of 10 µs for each gradient, and a message takes 100 µs.
func DefaultTiming() Timing {
	message := Duration{Kind: Constant, Mean: 100 * time.Microsecond}
	return Timing{
		Compute:  Duration{Kind: Exponential, Mean: 10 * time.Microsecond},
		Uplink:   message,
		Downlink: message,
	}
}

// Validate returns one error that lists every field outside its range. clients is the number of clients in the run,
// because a trace must have durations for each of them.
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
