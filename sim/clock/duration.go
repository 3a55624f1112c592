// Package clock describes how long things take in a simulated training. Package sim simulates clients and a server on
// a virtual clock, which is not related to real time. This package has the distributions of the durations of
// gradients and messages, the speeds of clients, and traces of measured durations, from which package sim draws.
//
//	timing := clock.DefaultTiming()
//	timing.Compute = clock.Duration{Kind: clock.Pareto, Mean: time.Millisecond, Shape: 1.5}
//	speeds, err := clock.ParseSpeeds("1,1,1,0.1")
//
// A custom distribution implements Distribution.
package clock

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"proactivedp/rng"
)

// Duration is a distribution of how long something takes on the virtual clock, such as a gradient or a message. Kind
// says which of the other fields are used. The rest must be 0. Make one as a literal or with [ParseDuration].
type Duration struct {
	Kind      Family        // the family of distributions, such as Exponential
	Mean      time.Duration // the mean, for constant, exponential, lognormal and pareto
	Low, High time.Duration // the bounds, for uniform
	// Shape is the standard deviation σ of the logarithm for Lognormal, and the exponent α for Pareto.
	Shape float64
	File  string       // for trace, the file's name
	Trace *Trace       // for trace, its durations
	Own   Distribution // for own, the custom distribution
}

// Distribution is a custom distribution of durations, for Duration.Own. It must be immutable, and its draws must
// depend only on the stream. Otherwise a run cannot be repeated.
type Distribution interface {
	// Mean returns the mean, in [0, MaxDuration]. It is used to estimate how long a run is, and how much memory the
	// messages need that are under way at the same time.
	Mean() time.Duration
	// Draw returns one duration, drawn from s. A negative duration counts as 0.
	Draw(s *rng.Stream) time.Duration
	// String returns the name of the distribution and its parameters, for texts.
	String() string
}

// Family is the name of a family of distributions of durations, such as "exponential": see [Duration].
type Family string

// These are the values of [Family]. Each is also the word with which ParseDuration reads a distribution of this
// family.
const (
	Constant    Family = "constant"    // constant:MEAN
	Exponential Family = "exponential" // exponential:MEAN
	Uniform     Family = "uniform"     // uniform:LOW,HIGH
	Lognormal   Family = "lognormal"   // lognormal:MEAN,SIGMA
	Pareto      Family = "pareto"      // pareto:MEAN,ALPHA, with a heavy tail: P(X > x) = (x₀/x)^α, x₀ = MEAN·(α−1)/α, α > 1
	Traced      Family = "trace"       // trace:FILE, see Trace
	Own         Family = "own"         // a custom Distribution in Duration.Own; ParseDuration cannot read this family
)

// MaxDuration is the largest mean or bound of a [Duration], and the largest duration in a [Trace].
const MaxDuration = time.Hour

// These are the upper limits of Duration.Shape.
const (
	maxSigma = 5    // of a lognormal: above this, the mean of any number of draws is far below the true mean
	maxAlpha = 1000 // of a Pareto
)

const durationForms = "constant:MEAN, exponential:MEAN, uniform:LOW,HIGH, lognormal:MEAN,SIGMA, pareto:MEAN,ALPHA or " +
	"trace:FILE"

// ParseDuration reads a [Duration] from text in one of these forms:
//
//	constant:1ms  exponential:250us  uniform:1ms,3ms
//	lognormal:1ms,0.5 (mean, sigma)  pareto:1ms,1.5 (mean, alpha)  trace:FILE
//
// The numbers of constant and exponential are their means, and those of uniform its two bounds. sigma and alpha are
// explained at Duration.Shape. For a trace, ParseDuration sets only the field File; the caller must read that file
// (see [ParseTrace]) and set the field Trace.
func ParseDuration(text string) (Duration, error) {
	kind, args, _ := strings.Cut(text, ":")
	d := Duration{Kind: Family(kind)}
	bad := func(why error) (Duration, error) {
		return Duration{}, fmt.Errorf("duration = %q, must be %s, times such as 10us or 1ms: %w", text,
			durationForms, why)
	}
	if d.Kind == Traced {
		if d.File = args; args == "" {
			return bad(fmt.Errorf("it names no file"))
		}
		return d, nil
	}
	var fields []any
	switch d.Kind {
	case Constant, Exponential:
		fields = []any{&d.Mean}
	case Uniform:
		fields = []any{&d.Low, &d.High}
	case Lognormal, Pareto:
		fields = []any{&d.Mean, &d.Shape}
	default:
		return bad(fmt.Errorf("%q is not a family", kind))
	}
	given := strings.Split(args, ",")
	if len(given) != len(fields) {
		return bad(fmt.Errorf("%d values, must be %d", len(given), len(fields)))
	}
	for i, f := range fields {
		var err error
		switch f := f.(type) {
		case *time.Duration:
			if *f, err = time.ParseDuration(given[i]); err != nil {
				return bad(fmt.Errorf("%q is not a time", given[i]))
			}
		case *float64:
			if *f, err = strconv.ParseFloat(given[i], 64); err != nil {
				return bad(fmt.Errorf("%q is not a number", given[i]))
			}
		}
	}
	if err := d.check(); err != nil {
		return bad(err)
	}
	return d, nil
}

func (d Duration) String() string {
	kind := string(d.Kind) + ":"
	switch d.Kind {
	case Uniform:
		return kind + d.Low.String() + "," + d.High.String()
	case Lognormal, Pareto:
		return kind + d.Mean.String() + "," + strconv.FormatFloat(d.Shape, 'g', -1, 64)
	case Traced:
		return kind + d.File
	case Own:
		return kind + fmt.Sprint(d.Own)
	}
	return kind + d.Mean.String()
}

// validate returns an error if a field is outside its range. clients is the number of clients in the
// run.
func (d Duration) validate(clients int) error {
	if err := d.check(); err != nil || d.Kind != Traced {
		return err
	}
	return d.Trace.checkClients(clients)
}

// check returns an error if a field is outside its range.
func (d Duration) check() error {
	switch d.Kind {
	case Constant, Exponential:
	case Uniform:
		if d.Low < 0 || d.Low > d.High || d.High > MaxDuration {
			return fmt.Errorf("uniform duration = %v to %v, must be in order, in [0, %v]", d.Low, d.High,
				MaxDuration)
		}
	case Lognormal:
		if !(d.Shape >= 0 && d.Shape <= maxSigma) {
			return fmt.Errorf("lognormal sigma = %v, must be in [0, %d]", d.Shape, maxSigma)
		}
	case Pareto:
		if !(d.Shape > 1 && d.Shape <= maxAlpha) {
			return fmt.Errorf("pareto alpha = %v, must be in (1, %d]: at 1 the mean is infinite", d.Shape, maxAlpha)
		}
	case Traced:
		if d.Trace == nil {
			return fmt.Errorf("trace %s has not been read", d.File)
		}
	case Own:
		if d.Own == nil {
			return errors.New("own duration = nil, must be a Distribution")
		}
		if m := d.Own.Mean(); m < 0 || m > MaxDuration {
			return fmt.Errorf("mean of %v = %v, must be in [0, %v]", d.Own, m, MaxDuration)
		}
	default:
		return fmt.Errorf("duration kind = %q, must be %s", d.Kind, durationForms)
	}
	if d.Mean < 0 || d.Mean > MaxDuration {
		return fmt.Errorf("mean duration = %v, must be in [0, %v]", d.Mean, MaxDuration)
	}
	return nil
}

// Expected returns the mean of the distribution, in nanoseconds. For a trace, it is the average of the clients'
// means.
func (d *Duration) Expected() float64 {
	switch d.Kind {
	case Uniform:
		return (float64(d.Low) + float64(d.High)) / 2
	case Traced:
		sum := 0.0
		for _, m := range d.Trace.means {
			sum += m
		}
		return sum / float64(len(d.Trace.means))
	case Own:
		return float64(d.Own.Mean())
	}
	return float64(d.Mean)
}

// ExpectedOf returns the mean duration for one client, in nanoseconds. It is the same for all clients, except for a
// trace, which has a list of durations for each client.
func (d *Duration) ExpectedOf(client int) float64 {
	if d.Kind == Traced {
		return d.Trace.means[client]
	}
	return d.Expected()
}

// At draws the duration of one round or message and returns it times scale, for example the number of gradients in
// the round. The draw depends only on the root, the purpose p (what the number is for, such as rng.ComputeTime), the
// client, and at, the number of the round or message, and not on other draws. So a run can be repeated. The result is
// rounded to whole nanoseconds, so that the order of events does not depend on the last bits of a float64. It is at
// most Beyond. s is working memory.
func (d *Duration) At(root *rng.Root, p rng.Purpose, client, at int, scale float64, s *rng.Stream) time.Duration {
	if d.Kind == Constant {
		return whole(float64(d.Mean) * scale)
	}
	root.Reseed(s, p, uint32(client), at)
	return d.Draw(scale, s, client, at)
}

// Draw draws one duration from the stream s and returns it times scale, in whole nanoseconds and at most Beyond.
// [Duration.At] calls it with the stream of a round or message. Constant durations and traces draw nothing from s.
// For a trace, Draw returns duration number at of the given client (see [Trace]). The other families ignore client
// and at.
func (d *Duration) Draw(scale float64, s *rng.Stream, client, at int) time.Duration {
	mean := float64(d.Mean) * scale
	switch d.Kind {
	case Constant:
		return whole(mean)
	case Exponential:
		return whole(mean * s.Exp())
	case Uniform:
		return whole(scale * (float64(d.Low) + float64(s.Float64()*float64(d.High-d.Low))))
	case Traced:
		return whole(scale * float64(d.Trace.at(client, at)))
	case Own:
		return whole(scale * float64(max(0, d.Own.Draw(s))))
	}
	return whole(mean * d.unit(s))
}

// unit draws from a lognormal or Pareto distribution of mean 1.
func (d *Duration) unit(s *rng.Stream) float64 {
	if d.Kind == Lognormal {
		return math.Exp(float64(d.Shape*s.Normal()) - float64(d.Shape*d.Shape/2))
	}
	// U^(−1/α) is exp(E/α), where U is uniform in (0, 1) and E is exponential.
	return (d.Shape - 1) / d.Shape * math.Exp(s.Exp()/d.Shape)
}

// Beyond stands for every time that the virtual clock cannot hold: it is the largest time.Duration, about 292 years.
// A run that draws such a time stops with sim.ErrClock.
const Beyond time.Duration = math.MaxInt64

// whole rounds ns to whole nanoseconds, as math.Round does but without a branch on the fraction.
// Times that the clock cannot hold become Beyond.
func whole(ns float64) time.Duration {
	if !(ns < float64(Beyond)) {
		return Beyond
	}
	n := time.Duration(ns)
	return n + time.Duration(2*(ns-float64(n)))
}
