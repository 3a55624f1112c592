package dp

import (
	"fmt"
	"math"
)

// CheckRange reports a number that is not in [least, most]. The name says what the number is.
func CheckRange(name string, v, least, most float64) error {
	if !(v >= least && v <= most) {
		return fmt.Errorf("%s = %v, must be in [%v, %v]", name, v, least, most)
	}
	return nil
}

// CheckCount is CheckRange for a whole number, which it prints in full.
func CheckCount(name string, n, least, most int) error {
	if n < least || n > most {
		return fmt.Errorf("%s = %d, must be in [%d, %d]", name, n, least, most)
	}
	return nil
}

// CheckPositive reports a number that is not finite or not above 0.
func CheckPositive(name string, v float64) error {
	if !(v > 0) || math.IsInf(v, 0) {
		return fmt.Errorf("%s = %v, must be finite and positive", name, v)
	}
	return nil
}

// CheckNotNegative reports a number that is not finite or is below 0: an ε that is asked about, or
// a noise multiplier σ.
func CheckNotNegative(name string, v float64) error {
	if !(v >= 0) || math.IsInf(v, 0) {
		return fmt.Errorf("%s = %v, must be finite and not negative", name, v)
	}
	return nil
}

// CheckDelta reports a δ that is not in (0, 1) or, if least is above 0, in [least, 1).
func CheckDelta(delta, least float64) error {
	switch {
	case delta >= least && delta > 0 && delta < 1:
		return nil
	case least > 0:
		return fmt.Errorf("delta = %v, must be in [%v, 1)", delta, least)
	}
	return fmt.Errorf("delta = %v, must be in (0, 1)", delta)
}

// CheckRate reports a sample rate q that is not in (0, 1].
func CheckRate(q float64) error {
	if !(q > 0 && q <= 1) {
		return fmt.Errorf("sample rate = %v, must be in (0, 1]", q)
	}
	return nil
}
