package plan

import (
	"errors"
	"fmt"

	"proactivedp/dp"
	"proactivedp/dp/closedform"
)

// minDefaultN is the least N for which δ has a default. With fewer records the default would be above 1e-3, which is weak.
const minDefaultN = 100

type rangeErrors struct{ errs []error }

func (r *rangeErrors) add(err error) { r.errs = append(r.errs, err) }

func (r *rangeErrors) fail(format string, args ...any) {
	r.add(fmt.Errorf(format, args...))
}

func (r *rangeErrors) within(name string, v, lo, hi float64, why string) bool {
	err := dp.CheckRange(name, v, lo, hi)
	if err != nil {
		r.fail("%w%s", err, why)
	}
	return err == nil
}

// counts checks that the integer n, called name, is in [lo, hi], and otherwise adds an error.
func (r *rangeErrors) counts(name string, n, lo, hi int) bool {
	err := dp.CheckCount(name, n, lo, hi)
	r.add(err)
	return err == nil
}

// delta checks δ. 0 stands for the default, which needs n ≥ 100. An invalid n is reported by another check.
func (r *rangeErrors) delta(delta float64, n int) {
	switch {
	case delta == 0 && n >= 1 && n < minDefaultN:
		r.fail("delta is missing, must be given for N = %d: it has a default for N ≥ %d", n, minDefaultN)
	case delta != 0:
		r.add(dp.CheckDelta(delta, closedform.MinDelta))
	}
}

// CheckEpsilon returns an error if ε is not in [1e-8, 1e4], the target epsilons for which this package plans.
func CheckEpsilon(epsilon float64) error {
	return dp.CheckRange("epsilon", epsilon, minEpsilon, maxEpsilon)
}

// CheckBudget does the same as [CheckEpsilon] for the ε of a Rényi filter, a budget that limits all rounds that use a
// record (see [Plan.History]): it returns an error if ε is not in [1e-8, 1e4]. The text of the error calls the number
// budget instead of epsilon.
func CheckBudget(epsilon float64) error {
	return dp.CheckRange("budget", epsilon, minEpsilon, maxEpsilon)
}

// clients checks a number of clients. 0 means that it is not given.
func (r *rangeErrors) clients(clients int) bool {
	return clients == 0 || r.counts("clients", clients, 1, maxClients)
}

func (r *rangeErrors) join() error { return errors.Join(r.errs...) }
