package audit

import (
	"errors"
	"fmt"
	"io"
	"math"

	"proactivedp/dp"
)

// Runner says how package sim runs the clients and the server of a training: simulated on a virtual clock (Virtual),
// or as goroutines in real time (Hogwild).
type Runner string

// These are the values of [Runner], named after sim.Virtual and sim.Hogwild.
const (
	Virtual Runner = "virtual"
	Hogwild Runner = "hogwild"
)

// Options say what [Run] audits: which fault is planted in the mechanism, how clients run, and how much work is done.
// Begin with [DefaultOptions].
type Options struct {
	Fault     Fault   `json:"fault"`
	FaultSize float64 `json:"fault_size"` // how strong the planted fault is, see Fault.Unit; 0 means the first of Fault.Sizes
	Runner    Runner  `json:"runner"`
	Seed      uint64  `json:"seed"`
	// Runs sets how many trainings a probe makes with the canary (the record in question), and how many without it.
	// It is in [MinRuns, MaxRuns]. To save time, some probes make only a fraction of this number, but at least
	// MinRuns. More runs find smaller faults.
	Runs int `json:"runs"`
	// Delta is the δ at which ε is claimed and bounded, in [1e-15, 0.5]. The probe that audits by a single training
	// with many canaries (see [OneRun]) uses a smaller δ if Delta is too large for the number of canaries: each canary
	// adds to the probability that δ allows, so many right guesses would then be possible even with ε = 0.
	Delta      float64  `json:"delta"`
	Confidence float64  `json:"confidence"`      // probability with which all lower bounds of a report hold together, in [0.5, 1 - 1e-9]
	Courses    []Course `json:"-"`               // trainings that choose their rounds by results, to audit in addition to this package's probes
	Exact      bool     `json:"exact,omitempty"` // whether batches and noise are drawn by exact integer arithmetic, see dp.Mechanism
	Workers    int      `json:"-"`               // number of trainings at the same time, at least 1; does not affect the results with the runner Virtual
	// Progress shows how much of the audit is done; nil shows nothing. It is not used if Elsewhere is set.
	Progress io.Writer `json:"-"`
	// Elsewhere computes the parts of an audit, or the audits of [Alarms], in other processes. If it is nil, this
	// process computes them. With the runner Virtual, the results are the same except for times.
	Elsewhere Elsewhere `json:"-"`
}

// size returns the size of the planted fault, or 0 without a size.
func (o *Options) size() float64 {
	if sizes := o.Fault.described().sizes; o.FaultSize == 0 && len(sizes) > 0 {
		return sizes[0]
	}
	return o.FaultSize
}

// DefaultOptions returns options for [Run] that you can change: an audit of the correct mechanism, without a planted
// fault, in simulated time (the runner Virtual), with 100,000 runs, δ = 1e-3, confidence 0.999, seed 1 and one worker.
func DefaultOptions() Options {
	return Options{Fault: NoFault, Runner: Virtual, Seed: 1, Runs: 100_000, Delta: 1e-3, Confidence: 0.999, Workers: 1}
}

// MinRuns and MaxRuns are the limits of Options.Runs: the number of trainings with the canary (the record in
// question), and also the number without it.
const (
	MinRuns = 100
	MaxRuns = 10_000_000
)

// Validate returns one error that lists every option outside its range.
func (o *Options) Validate() error {
	if o == nil {
		return errors.New("options are missing: DefaultOptions returns some")
	}
	var errs []error
	fail := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	_, err := ParseFault(string(o.Fault))
	errs = append(errs, err)
	switch f := o.Fault.described(); {
	case err != nil || o.FaultSize == 0:
	case len(f.sizes) == 0:
		fail("fault size = %v, must be 0: %s has no size", o.FaultSize, o.Fault)
	case !(o.FaultSize >= f.least && o.FaultSize <= f.most):
		from := "["
		if f.least == 0 {
			from = "(" // 0 stands for the first size
		}
		fail("fault size = %v (%s), must be in %s%v, %v] for %s", o.FaultSize, f.unit, from, f.least, f.most, o.Fault)
	case f.whole && o.FaultSize != math.Trunc(o.FaultSize):
		fail("fault size = %v (%s), must be a whole number for %s", o.FaultSize, f.unit, o.Fault)
	}
	if o.Fault.OnWire() && o.Runner == Hogwild {
		fail("fault = %s with runner = %s, must be %s: the other sends nothing twice", o.Fault, o.Runner, Virtual)
	}
	if o.Runner != Virtual && o.Runner != Hogwild {
		fail("runner = %q, must be %q or %q", o.Runner, Virtual, Hogwild)
	}
	errs = append(errs, dp.CheckCount("runs", o.Runs, MinRuns, MaxRuns), checkBound(o.Delta, o.Confidence))
	if o.Workers < 1 {
		fail("workers = %d, must be at least 1", o.Workers)
	}
	return errors.Join(errs...)
}

// statistical is the kind of the lower bounds of an audit: each holds with a stated confidence.
const statistical = "statistical"

// checkBound reports a δ, or a confidence, at which no lower bound is computed.
func checkBound(delta, confidence float64) error {
	err := dp.CheckRange("delta", delta, 1e-15, 0.5)
	if !(confidence >= 0.5 && confidence <= 1-1e-9) {
		err = errors.Join(err, fmt.Errorf("confidence = %v, must be in [0.5, 1 - 1e-9]", confidence))
	}
	return err
}
