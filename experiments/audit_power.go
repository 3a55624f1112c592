package experiments

import (
	"context"

	"proactivedp/audit"
)

// AuditPower says how many of several audits found a fault that was planted in the mechanism, such as too little
// noise. If Fault is audit.NoFault, nothing was planted, and every alarm is a false alarm.
type AuditPower struct {
	Fault  audit.Fault
	Size   float64      // size of the fault, see [audit.Options].FaultSize; 0 if the fault has no size
	Runner audit.Runner // how the audited trainings ran, in simulated or real time
	Runs   int          // number of trainings of one audit, see audit.Options.Runs
	Audits int          // number of audits
	// Found counts the audits that found a fault in the messages that an adversary sees. Replayed counts the audits
	// in which the check that knows the seeds, and so can compute each message again, found one.
	Found, Replayed int
	// By says what raised the alarm in the first audit of Found: a measured lower bound on ε that is above the claimed
	// ε, or the name of a statistical check. It is "" if Found is 0.
	By string
}

// Interval returns the 95 % confidence interval (Clopper-Pearson) of the probability that an audit finds the fault,
// from the numbers Found and Audits.
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
