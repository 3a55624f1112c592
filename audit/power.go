package audit

import (
	"context"
	"fmt"
)

// Power is how often audits with one fault gave an alarm; without a fault, how often
// a false one.
type Power struct {
	Fault  Fault
	Size   float64 // of the fault, 0 if it has none
	Runner Runner
	Runs   int // Options.Runs of each audit
	Audits int
	// Found is in how many audits a bound or a check raised the alarm that needs no
	// seeds, and Replayed in how many one that knows them did.
	Found, Replayed int
	By              string // what raised the first alarm
}

// Interval returns the ends of Clopper and Pearson's interval, of 95 %, for the
// probability that an audit finds the fault.
func (p Power) Interval() (low, high float64) {
	const level = 0.025
	return atLeast(p.Found, p.Audits, level), atMost(p.Found, p.Audits, level)
}

// Shown reports whether the power is shown to be 0.9 or more: the lower end of the
// interval is.
func (p Power) Shown() bool {
	low, _ := p.Interval()
	return low >= 0.9
}

// MeasurePower makes so many audits, at least 1, each with a seed of its own from
// o.Seed upwards. An audit with a fault ends at its first alarm.
func MeasurePower(ctx context.Context, o Options, audits int) (Power, error) {
	p := Power{Fault: o.Fault, Size: o.size(), Runner: o.Runner, Runs: o.Runs, Audits: audits}
	if audits < 1 {
		return p, fmt.Errorf("audit: audits = %d, must be at least 1", audits)
	}
	if err := o.Validate(); err != nil {
		return p, err
	}
	a, err := newAudit(&o)
	if err != nil {
		return p, err
	}
	for range audits {
		by, replayed, err := a.alarm(ctx)
		if err != nil {
			return p, err
		}
		if replayed {
			p.Replayed++
		}
		if by != "" {
			if p.Found++; p.Found == 1 {
				p.By = by
			}
		}
		o.Seed++
	}
	return p, nil
}

// alarm returns what raises the first alarm, "" if nothing does, and whether one that
// knows the seeds did until then.
func (a *audit) alarm(ctx context.Context) (by string, replayed bool, err error) {
	for _, w := range a.watches {
		checks, err := a.watch(ctx, w)
		if err != nil {
			return "", false, err
		}
		for _, c := range checks {
			switch {
			case !c.Failed:
			case c.Sees == Seeds:
				replayed = true
			case by == "":
				by = c.Name + " in " + c.World
			}
		}
		if by != "" {
			return by, replayed, nil
		}
	}
	for _, p := range a.probes {
		found, check, err := a.probe(ctx, p)
		switch {
		case err != nil:
			return "", false, err
		case check.Failed:
			return check.Name + " in " + check.World, replayed, nil
		case found.Violated:
			return "ε in " + found.Probe, replayed, nil
		}
	}
	found, err := oneRun(ctx, a.o, a.level)
	if err != nil {
		return "", false, fmt.Errorf("audit: probe %s: %w", found.Probe, err)
	}
	if found.Violated {
		by = "ε in " + found.Probe
	}
	return by, replayed, nil
}
