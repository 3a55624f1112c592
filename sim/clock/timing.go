package clock

import (
	"errors"
	"fmt"
	"time"
)

// Timing is how long things take on the virtual clock.
type Timing struct {
	Compute  Duration // one gradient at speed 1; a round takes s_i times one draw
	Uplink   Duration // a message from client to server
	Downlink Duration // a message from server to client
}

// DefaultTiming makes clients of one expected speed that drift apart by chance:
// a round's time is exponential, 10 µs a gradient on average, and a message
// takes 100 µs.
func DefaultTiming() Timing {
	message := Duration{Kind: Constant, Mean: 100 * time.Microsecond}
	return Timing{
		Compute:  Duration{Kind: Exponential, Mean: 10 * time.Microsecond},
		Uplink:   message,
		Downlink: message,
	}
}

// Validate reports every field outside its range, for a run of so many clients.
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
