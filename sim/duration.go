package sim

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"proactivedp/rng"
)

// Duration is a distribution of how long something takes. Its family says which
// of the other fields it has; those are 0 else.
type Duration struct {
	Kind      DurationKind
	Mean      time.Duration // constant, exponential, lognormal, pareto
	Low, High time.Duration // uniform
	Shape     float64       // lognormal: σ of the logarithm; pareto: α
	File      string        // trace: the name that Trace goes by
	Trace     *Trace        // trace
}

// DurationKind names a family of distributions.
type DurationKind string

// The families.
const (
	ConstantDuration    DurationKind = "constant"    // constant:MEAN
	ExponentialDuration DurationKind = "exponential" // exponential:MEAN
	UniformDuration     DurationKind = "uniform"     // uniform:LOW,HIGH
	LognormalDuration   DurationKind = "lognormal"   // lognormal:MEAN,SIGMA
	ParetoDuration      DurationKind = "pareto"      // pareto:MEAN,ALPHA, P(X > x) = (x₀/x)^α with x₀ = MEAN·(α−1)/α: stragglers
	TraceDuration       DurationKind = "trace"       // trace:FILE, see Trace
)

// Limits of one duration.
const (
	maxMean  = time.Hour // of a mean, a bound and a duration of a trace
	maxSigma = 5         // of a lognormal: beyond it no mean is ever seen
	maxAlpha = 1000      // of a Pareto
)

const durationForms = "constant:MEAN, exponential:MEAN, uniform:LOW,HIGH, lognormal:MEAN,SIGMA, pareto:MEAN,ALPHA or trace:FILE"

// ParseDuration reads one of
//
//	constant:1ms  exponential:250us  uniform:1ms,3ms
//	lognormal:1ms,0.5  pareto:1ms,1.5  trace:FILE
//
// A trace's File is named only: whoever can reads it and sets Trace.
func ParseDuration(text string) (Duration, error) {
	kind, args, _ := strings.Cut(text, ":")
	d := Duration{Kind: DurationKind(kind)}
	bad := func(why error) (Duration, error) {
		return Duration{}, fmt.Errorf("sim: duration = %q, must be %s, times such as 10us or 1ms: %w", text, durationForms, why)
	}
	if d.Kind == TraceDuration {
		if d.File = args; args == "" {
			return bad(fmt.Errorf("no file is named"))
		}
		return d, nil
	}
	var fields []any
	switch d.Kind {
	case ConstantDuration, ExponentialDuration:
		fields = []any{&d.Mean}
	case UniformDuration:
		fields = []any{&d.Low, &d.High}
	case LognormalDuration, ParetoDuration:
		fields = []any{&d.Mean, &d.Shape}
	default:
		return bad(fmt.Errorf("there is no %q", kind))
	}
	given := strings.Split(args, ",")
	if len(given) != len(fields) {
		return bad(fmt.Errorf("%d values, must be %d", len(given), len(fields)))
	}
	for i, f := range fields {
		var err error
		switch f := f.(type) {
		case *time.Duration:
			*f, err = time.ParseDuration(given[i])
		case *float64:
			*f, err = strconv.ParseFloat(given[i], 64)
		}
		if err != nil {
			return bad(err)
		}
	}
	if err := d.Validate(); err != nil {
		return bad(err)
	}
	return d, nil
}

func (d Duration) String() string {
	kind := string(d.Kind) + ":"
	switch d.Kind {
	case UniformDuration:
		return kind + d.Low.String() + "," + d.High.String()
	case LognormalDuration, ParetoDuration:
		return kind + d.Mean.String() + "," + strconv.FormatFloat(d.Shape, 'g', -1, 64)
	case TraceDuration:
		return kind + d.File
	}
	return kind + d.Mean.String()
}

// Validate reports a field outside its range.
func (d Duration) Validate() error {
	switch d.Kind {
	case ConstantDuration, ExponentialDuration:
	case UniformDuration:
		if d.Low < 0 || d.Low > d.High || d.High > maxMean {
			return fmt.Errorf("sim: uniform duration = %v to %v, must be in order, in [0, %v]", d.Low, d.High, maxMean)
		}
	case LognormalDuration:
		if !(d.Shape >= 0 && d.Shape <= maxSigma) {
			return fmt.Errorf("sim: lognormal sigma = %v, must be in [0, %d]", d.Shape, maxSigma)
		}
	case ParetoDuration:
		if !(d.Shape > 1 && d.Shape <= maxAlpha) {
			return fmt.Errorf("sim: pareto alpha = %v, must be in (1, %d]: at 1 there is no mean", d.Shape, maxAlpha)
		}
	case TraceDuration:
		if d.Trace == nil {
			return fmt.Errorf("sim: trace %s has not been read", d.File)
		}
	default:
		return fmt.Errorf("sim: duration kind = %q, must be %s", d.Kind, durationForms)
	}
	if d.Mean < 0 || d.Mean > maxMean {
		return fmt.Errorf("sim: mean duration = %v, must be in [0, %v]", d.Mean, maxMean)
	}
	return nil
}

// mean returns the mean in nanoseconds; of a trace that over all clients, each
// of one weight.
func (d *Duration) mean() float64 {
	switch d.Kind {
	case UniformDuration:
		return (float64(d.Low) + float64(d.High)) / 2
	case TraceDuration:
		sum := 0.0
		for _, m := range d.Trace.means {
			sum += m
		}
		return sum / float64(len(d.Trace.means))
	}
	return float64(d.Mean)
}

// meanOf returns the mean of a client's.
func (d *Duration) meanOf(client int) float64 {
	if d.Kind == TraceDuration {
		return d.Trace.means[client]
	}
	return d.mean()
}

// sample returns scale times the draw at the given place, in whole nanoseconds
// so that the order of events does not hang on the last bits of a float64.
func (d *Duration) sample(scale float64, root *rng.Root, s *rng.Stream, p rng.Purpose, client, at int) Time {
	if d.Kind != ConstantDuration {
		root.Reseed(s, p, uint32(client), at)
	}
	return d.draw(scale, s, client, at)
}

// draw returns scale times the next draw of the stream; of a trace, the client's
// duration number at.
func (d *Duration) draw(scale float64, s *rng.Stream, client, at int) Time {
	mean := float64(d.Mean) * scale
	switch d.Kind {
	case ConstantDuration:
		return whole(mean)
	case ExponentialDuration:
		return whole(mean * s.Exp())
	case UniformDuration:
		return whole(scale * (float64(d.Low) + float64(s.Float64()*float64(d.High-d.Low))))
	case TraceDuration:
		return whole(scale * float64(d.Trace.at(client, at)))
	}
	return whole(mean * d.unit(s))
}

// unit draws from a lognormal or Pareto distribution of mean 1.
func (d *Duration) unit(s *rng.Stream) float64 {
	if d.Kind == LognormalDuration {
		return math.Exp(float64(d.Shape*s.Normal()) - float64(d.Shape*d.Shape/2))
	}
	// U^(−1/α) is the exponential of an exponential number.
	return (d.Shape - 1) / d.Shape * math.Exp(s.Exp()/d.Shape)
}

// beyond is a time that the clock cannot hold.
const beyond Time = math.MaxInt64

// whole rounds to whole nanoseconds.
func whole(ns float64) Time {
	if ns = math.Round(ns); ns < float64(beyond) {
		return Time(ns)
	}
	return beyond
}
