package audit

import (
	"context"
	"fmt"
	"strings"
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
		asked := make([]request, audits)
		for i := range asked {
			asked[i] = o.request(alarmPart)
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

// alarm returns the bound or check that gives the first alarm, if any, and whether the check that knows
// the seeds failed before that. It does not audit courses.
func (a *audit) alarm(ctx context.Context) (m made, err error) {
	for _, p := range a.parts() {
		if strings.HasPrefix(p.name, coursePart) {
			continue
		}
		one, err := a.compute(ctx, p)
		if err != nil {
			return made{}, err
		}
		for _, c := range one.Checks {
			switch {
			case !c.Failed:
			case c.Sees == Seeds:
				m.Replayed = true
			case m.By == "":
				m.By = c.Name + " in " + c.World
			}
		}
		if m.By == "" && one.Finding != nil && one.Finding.Violated {
			m.By = "ε in " + one.Finding.Probe
		}
		if m.By != "" {
			break
		}
	}
	return m, nil
}
