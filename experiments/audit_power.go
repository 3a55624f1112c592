package experiments

import (
	"context"

	"proactivedp/audit"
)

// AuditPower is the result of several audits of a mechanism with one planted fault: how many of the audits raised an
// alarm. If Fault is audit.NoFault, the mechanism is correct, and every alarm is a false alarm.
type AuditPower struct {
	Fault  audit.Fault
	Size   float64 // size of the fault, see [audit.Options].FaultSize; 0 if the fault has no size
	Runner audit.Runner
	Runs   int // audit.Options.Runs of each audit
	Audits int
	// Found counts the audits that raised an alarm from the releases alone, without the seeds of the
	// noise. Replayed counts the audits in which a check that recomputes the noise from the seeds raised
	// one.
	Found, Replayed int
	By              string // what raised the first alarm
}

// Interval returns the 95 % confidence interval (Clopper-Pearson) of the probability that an audit finds the fault.
func (p AuditPower) Interval() (low, high float64) {
	return audit.ClopperPearson(p.Found, p.Audits, 0.025)
}

// Shown reports whether audits find the fault reliably: the lower end of Interval is at least 0.9.
func (p AuditPower) Shown() bool {
	low, _ := p.Interval()
	return low >= 0.9
}

// measure makes p.Audits audits with the options, and returns p with the numbers of alarms.
func (p AuditPower) measure(ctx context.Context, o audit.Options) (AuditPower, error) {
	all, err := audit.Alarms(ctx, o, p.Audits)
	for _, a := range all {
		if a.Replayed {
			p.Replayed++
		}
		if a.By != "" {
			if p.Found++; p.Found == 1 {
				p.By = a.By
			}
		}
	}
	return p, err
}
