package closedform

import (
	"errors"
	"fmt"

	"proactivedp/dp"
)

// MinEpsilon returns the smallest ε, rounded up, for which the run s meets all conditions of the paper's Theorem
// simpleF at s.Delta, with the constant γ as printed or corrected (see [Form]). The conditions are verified at the
// returned ε. s.Epsilon is ignored. Set s.Sigma to +Inf if the noise is not chosen yet: the run is then taken to have
// the least noise that the theorem allows for the returned ε, σ_eq of [Sigma].
//
// Rounding adds at most a relative 1e-7, or at most 1e-3 for sample rates near the limit beyond which no γ exists:
// there float64 cannot resolve the conditions. The error wraps dp.ErrNotCovered if no such ε exists, or if s is a run
// outside the ranges of [Accountant].
func MinEpsilon(form Form, s Setting) (float64, error) {
	of := askedDelta(s.Delta)
	errs := []error{form.check(), s.validateRun(), of.faulty}
	if !(s.Sigma >= 0) {
		errs = append(errs, fmt.Errorf("sigma = %v, must not be negative", s.Sigma))
	}
	if err := errors.Join(errs...); err != nil {
		return 0, err
	}
	if err := s.uncovered(of); err != nil {
		return 0, err
	}
	q := newQuotient(form, s)
	top, err := q.top(s)
	if err != nil {
		return 0, err
	}
	least, err := Epsilon(top, s.Delta)
	if err != nil {
		return 0, fmt.Errorf("%w: %w", err, dp.ErrNotCovered)
	}
	eps, err := q.smallestFrom(least)
	if err != nil {
		return 0, err
	}
	return raise("epsilon", eps, func(eps float64) bool {
		s.Epsilon = eps
		cs, err := conditions(form, s)
		return err == nil && Holds(cs, SimpleF)
	})
}
