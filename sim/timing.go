package sim

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"proactivedp/dp"
	"proactivedp/internal/rng"
)

// Time is a point on the virtual clock, in nanoseconds from the start.
type Time int64

// Duration is a distribution of how long something takes.
type Duration struct {
	Kind DurationKind
	Mean time.Duration // ≥ 0
}

// DurationKind names a family of distributions.
type DurationKind string

// The families.
const (
	ConstantDuration    DurationKind = "constant"
	ExponentialDuration DurationKind = "exponential"
)

// ParseDuration reads "constant:1ms" or "exponential:250us".
func ParseDuration(text string) (Duration, error) {
	kind, mean, _ := strings.Cut(text, ":")
	m, err := time.ParseDuration(mean)
	d := Duration{DurationKind(kind), m}
	if err != nil || d.Validate() != nil {
		return Duration{}, fmt.Errorf("sim: duration = %q, must be %s:MEAN or %s:MEAN with MEAN such as 10us or 1ms, at most %v", text, ConstantDuration, ExponentialDuration, maxMean)
	}
	return d, nil
}

func (d Duration) String() string { return string(d.Kind) + ":" + d.Mean.String() }

// maxMean is the longest mean of one duration.
const maxMean = time.Hour

// Validate reports a field outside its range.
func (d Duration) Validate() error {
	if d.Kind != ConstantDuration && d.Kind != ExponentialDuration {
		return fmt.Errorf("sim: duration kind = %q, must be %q or %q", d.Kind, ConstantDuration, ExponentialDuration)
	}
	if d.Mean < 0 || d.Mean > maxMean {
		return fmt.Errorf("sim: mean duration = %v, must be in [0, %v]", d.Mean, maxMean)
	}
	return nil
}

// sample returns scale times the draw at the given place, in whole nanoseconds
// so that the order of events does not hang on the last bits of a float64.
func (d *Duration) sample(scale int, root *rng.Root, s *rng.Stream, p rng.Purpose, client, at int) Time {
	if d.Kind == ConstantDuration {
		return Time(d.Mean) * Time(scale)
	}
	root.Reseed(s, p, uint32(client), at)
	return Time(math.Round(float64(d.Mean) * float64(scale) * s.Exp()))
}

// Timing is how long things take on the virtual clock.
type Timing struct {
	Compute  Duration // one gradient; a round takes s_i times one draw
	Uplink   Duration // a message from client to server
	Downlink Duration // a message from server to client
}

// expected returns about how long a client's run takes, in nanoseconds.
func (t Timing) expected(run dp.Run) float64 {
	messages := float64(t.Uplink.Mean) + float64(t.Downlink.Mean)
	return float64(run.Computed)*float64(t.Compute.Mean) + float64(run.Rounds)*messages
}

// DefaultTiming makes clients of one expected speed that drift apart by chance:
// a round's time is exponential, 10 µs a gradient on average, and a message
// takes 100 µs.
func DefaultTiming() Timing {
	return Timing{
		Compute:  Duration{ExponentialDuration, 10 * time.Microsecond},
		Uplink:   Duration{ConstantDuration, 100 * time.Microsecond},
		Downlink: Duration{ConstantDuration, 100 * time.Microsecond},
	}
}

// Validate reports every field outside its range.
func (t Timing) Validate() error {
	var errs []error
	for _, part := range []struct {
		name string
		d    Duration
	}{{"compute", t.Compute}, {"uplink", t.Uplink}, {"downlink", t.Downlink}} {
		if err := part.d.Validate(); err != nil {
			errs = append(errs, fmt.Errorf("%w (%s)", err, part.name))
		}
	}
	return errors.Join(errs...)
}
