package closedform

import (
	"errors"
	"fmt"

	"proactivedp/dp"
)

// MinEpsilon returns the smallest ε, rounded up, for which all conditions of
// Theorem simpleF hold in s with γ of the given form. They are verified at the
// ε returned. The rounding is a relative 1e-7 at most, but for rates so near
// to the pole of γ that float64 cannot tell its conditions apart: 1e-3 there.
// s.Epsilon is ignored; s.Sigma may be +Inf: the noise is then free to be σ_eq
// of the ε returned. The error wraps dp.ErrNotCovered if there is no such ε, or
// if s is a run but outside the ranges of [Accountant].
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
