package dp

import (
	"fmt"
	"math"
	"strconv"
)

// CheckRange returns an error if v is not in [least, most] or is NaN. name, such as "theta", is what the error calls
// the number v.
func CheckRange(name string, v, least, most float64) error {
	if !(v >= least && v <= most) {
		return fmt.Errorf("%s = %v, must be in [%v, %v]", name, v, least, most)
	}
	return nil
}

// CheckCount returns an error if n is not in [least, most]. name, such as "seeds", is what the error calls the number
// n. The error shows all digits of n, not a form such as 1e+06.
func CheckCount(name string, n, least, most int) error {
	if n < least || n > most {
		return fmt.Errorf("%s = %d, must be in [%d, %d]", name, n, least, most)
	}
	return nil
}

// CheckPositive returns an error unless v is finite and above 0. name, such as "sigma", is what the error calls the
// number v.
func CheckPositive(name string, v float64) error {
	if !(v > 0) || math.IsInf(v, 0) {
		return fmt.Errorf("%s = %v, must be finite and positive", name, v)
	}
	return nil
}

// CheckNotNegative returns an error unless v is finite and at least 0. name is what the error calls the number v. Use
// it for numbers that may be 0, such as noise multipliers.
func CheckNotNegative(name string, v float64) error {
	if !(v >= 0) || math.IsInf(v, 0) {
		return fmt.Errorf("%s = %v, must be finite and not negative", name, v)
	}
	return nil
}

// CheckDelta returns an error unless δ is in (0, 1) and not below the limit least. Pass 0 as least if there is no
// further limit.
func CheckDelta(delta, least float64) error {
	switch {
	case delta >= least && delta > 0 && delta < 1:
		return nil
	case least > 0:
		return fmt.Errorf("delta = %v, must be in [%v, 1)", delta, least)
	}
	return fmt.Errorf("delta = %v, must be in (0, 1)", delta)
}

// DefaultDelta returns the δ to use for n records if nobody has given one: the largest power of ten that is at most
// 1/(10n). It is below 1/n because even a mechanism that publishes one random record unchanged satisfies δ = 1/n. It
// is a power of ten because δ is published, and a δ that changed with every n would reveal n.
func DefaultDelta(n int) float64 {
	digits := 0 // the least with n ≤ 10^digits
	if n > 1 {
		digits = len(strconv.Itoa(n - 1))
	}
	delta, _ := strconv.ParseFloat(fmt.Sprintf("1e-%d", digits+1), 64) // always a number
	return delta
}

// CheckRate returns an error unless the sample rate q is in (0, 1].
func CheckRate(q float64) error {
	if !(q > 0 && q <= 1) {
		return fmt.Errorf("sample rate = %v, must be in (0, 1]", q)
	}
	return nil
}
