package plan

import (
	"errors"
	"fmt"

	"proactivedp/dp"
	"proactivedp/dp/closedform"
)

// minDefaultN is the least N for which 1/N stands for a δ that is not given. A
// δ above 1/100 is too weak a promise to be made without being asked for.
const minDefaultN = 100

// rangeErrors collects what is wrong with a request.
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

// counts is within for a count.
func (r *rangeErrors) counts(name string, n, lo, hi int) bool {
	err := dp.CheckCount(name, n, lo, hi)
	r.add(err)
	return err == nil
}

// delta checks δ, which is 1/N if it is 0; an N that is no size at all is
// another field's fault.
func (r *rangeErrors) delta(delta float64, n int) {
	switch {
	case delta == 0 && n >= 1 && n < minDefaultN:
		r.fail("delta is missing, must be given for N = %d, below %d, as 1/N = %.3g promises little", n, minDefaultN,
			1/float64(n))
	case delta != 0:
		r.add(dp.CheckDelta(delta, closedform.MinDelta))
	}
}

// CheckEpsilon reports an ε that no budget may have.
func CheckEpsilon(epsilon float64) error {
	return dp.CheckRange("epsilon", epsilon, minEpsilon, maxEpsilon)
}

// CheckBudget reports an ε of a filter that is not in [1e-8, 1e4].
func CheckBudget(epsilon float64) error {
	return dp.CheckRange("budget", epsilon, minEpsilon, maxEpsilon)
}

// clients checks a number of clients, 0 if it is not given.
func (r *rangeErrors) clients(clients int) bool {
	return clients == 0 || r.counts("clients", clients, 1, maxClients)
}

func (r *rangeErrors) join() error { return errors.Join(r.errs...) }
