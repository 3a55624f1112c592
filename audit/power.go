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
		return p, fmt.Errorf("audits = %d, must be at least 1", audits)
	}
	if err := o.Validate(); err != nil {
		return p, err
	}
	all, err := o.alarms(ctx, audits)
	if err != nil {
		return p, err
	}
	for _, m := range all {
		if m.Replayed {
			p.Replayed++
		}
		if m.By != "" {
			if p.Found++; p.Found == 1 {
				p.By = m.By
			}
		}
	}
	return p, nil
}

// alarms makes so many audits up to their first alarm, here or elsewhere, each with a seed of
// its own.
func (o Options) alarms(ctx context.Context, audits int) ([]made, error) {
	if o.Elsewhere != nil {
		parts := make([]part, audits)
		for i := range parts {
			parts[i] = o.describe(alarmPart)
			parts[i].Seed += uint64(i)
		}
		return away(ctx, o.Elsewhere, parts)
	}
	a, err := newAudit(&o)
	if err != nil {
		return nil, err
	}
	all := make([]made, audits)
	for i := range all {
		if all[i], err = a.make(ctx, alarmPart); err != nil {
			return nil, err
		}
		o.Seed++
	}
	return all, nil
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
	found, err := a.oneRun(ctx)
	if err != nil {
		return "", false, err
	}
	if found.Violated {
		by = "ε in " + found.Probe
	}
	return by, replayed, nil
}
