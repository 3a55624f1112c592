package audit

import (
	"context"
	"fmt"
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

func (a *audit) watch(ctx context.Context, w watch) ([]Check, error) {
	checks, err := w.run(ctx, a.o)
	if err != nil {
		return nil, fmt.Errorf("watch %s: %w", w.name, err)
	}
	for i := range checks {
		checks[i].Failed = !(checks[i].PValue >= a.level) // also true for NaN
	}
	return checks, nil
}

// probe runs the trainings of p, and returns the bounds of its tests and the check of how far the
// canary moves releases.
func (a *audit) probe(ctx context.Context, p probe) (Finding, Check, error) {
	found, check, err := p.run(ctx, a.o, a.level)
	if err != nil {
		return found, check, fmt.Errorf("probe %s: %w", p.name, err)
	}
	check.Failed = !(check.PValue >= a.level)
	return found, check, nil
}

// oneRun runs the one-run probe and returns its bounds.
func (a *audit) oneRun(ctx context.Context) (Finding, error) {
	found, err := oneRun(ctx, a.o, a.level)
	if err != nil {
		return found, fmt.Errorf("probe %s: %w", found.Probe, err)
	}
	return found, nil
}
