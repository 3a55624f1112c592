package audit

import (
	"context"
	"fmt"
)

// Alarm is the result of one of the audits that [Alarms] makes: what raised the first alarm, if anything did. An
// audit ends as soon as the messages that an adversary sees raise an alarm.
type Alarm struct {
	By string // bound or check that raised the alarm from the messages that an adversary sees; "" if none did
	// Replayed says whether another kind of check had failed before the audit ended: one that knows the seeds, and
	// compares each message with what they should have produced.
	Replayed bool
}

// Alarms makes the given number of audits (at least 1) and returns what raised an alarm in each of them. Use it to
// measure how often audits find the planted fault o.Fault or, with NoFault, how often they raise a false alarm. The
// audits have the seeds o.Seed, o.Seed+1 and so on. An audit ends at its first alarm from the messages that an
// adversary sees. A check that also uses the seeds, which an adversary does not know, does not end it.
func Alarms(ctx context.Context, o Options, audits int) ([]Alarm, error) {
	if audits < 1 {
		return nil, fmt.Errorf("audits = %d, must be at least 1", audits)
	}
	if err := o.Validate(); err != nil {
		return nil, err
	}
	parts := make([]made, audits)
	if o.Elsewhere != nil {
		asked := make([]part, audits)
		for i := range asked {
			asked[i] = o.describe(alarmPart)
			asked[i].Seed += uint64(i)
		}
		var err error
		if parts, err = away(ctx, o.Elsewhere, asked); err != nil {
			return nil, err
		}
	} else {
		a, err := newAudit(&o)
		if err != nil {
			return nil, err
		}
		for i := range parts {
			if parts[i], err = a.make(ctx, alarmPart); err != nil {
				return nil, err
			}
			o.Seed++
		}
	}
	all := make([]Alarm, audits)
	for i, m := range parts {
		all[i] = Alarm{m.By, m.Replayed}
	}
	return all, nil
}

// alarm returns the bound or check that gives the first alarm, or "", and whether the check that knows
// the seeds failed before that.
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
