package audit

import (
	"context"
	"slices"
	"time"
)

// Run audits the mechanism with which package sim trains, as the options say: it runs many small trainings, computes
// lower bounds on their ε, and checks that the messages of their clients have the prescribed noise, clipping and
// sampling. Call Report.Alarm for the verdict. Run returns an error if an option is outside its range, if a training
// fails, or if ctx is cancelled.
func Run(ctx context.Context, o Options) (*Report, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	a, err := newAudit(&o)
	if err != nil {
		return nil, err
	}
	start := time.Now()
	parts, err := a.makeAll(ctx)
	if err != nil {
		return nil, err
	}
	var checks []Check
	var all []Finding
	for _, m := range parts {
		checks = append(checks, m.Checks...)
		if m.Finding != nil {
			all = append(all, *m.Finding)
		}
	}
	return newReport(o, a, all, checks, time.Since(start)), nil
}

// audit holds the probes and watches of an audit, and the probability of error that each test may
// have.
type audit struct {
	o       *Options
	watches []watch
	probes  []probe
	tests   int // number of bounds and checks
	level   float64
}

// newAudit returns the probes and watches that o.Runner can run. By the union bound, all tests together err with a
// probability of at most 1 - confidence.
func newAudit(o *Options) (*audit, error) {
	battery, err := probes()
	if err != nil {
		return nil, err
	}
	every, err := watches()
	if err != nil {
		return nil, err
	}
	a := &audit{o: o, probes: battery, watches: slices.Clone(every)}
	if o.Runner == Hogwild {
		a.probes = slices.DeleteFunc(a.probes, func(p probe) bool { return p.virtualOnly() })
		a.watches = slices.DeleteFunc(a.watches, func(w watch) bool { return w.virtualOnly() })
	}
	a.tests = 1 + 2*len(o.Courses) // the one-run probe is a single test; a course is tested in two directions
	for _, p := range a.probes {
		a.tests += 2*len(p.statistics()) + 1 // and the check of how far the canary pushes
	}
	for _, w := range a.watches {
		a.tests += w.tests()
	}
	a.level = (1 - o.Confidence) / float64(a.tests)
	return a, nil
}
