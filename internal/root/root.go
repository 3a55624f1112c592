// Package root finds zeros of continuous functions of one variable.
package root

import (
	"errors"
	"fmt"
	"math"
)

// ErrNoSignChange is the error, usually wrapped, for an interval in which the function does not change its sign.
var ErrNoSignChange = errors.New("no sign change")

const (
	maxSteps    = 10000 // more than four steps for every halving from 1e308 to 5e-324
	maxDoubling = 1100
)

// Find returns an x in [lo, hi] that is within the relative distance relTol ≥ 0 of a sign change of f. With relTol =
// 0 it is exact to the last bit. f(lo) and f(hi) must differ in sign; a zero at either end is an answer. If f is
// discontinuous, x is next to the jump.
//
// It is an error if the interval or relTol is not finite or not in order, or if f is not finite
// where it is evaluated. The error wraps ErrNoSignChange if the signs do not differ.
//
// The method is Chandrupatla's (Advances in Engineering Software 28, 1997), which uses inverse
// quadratic interpolation where that is safe. If three steps have not halved the bracket, it
// bisects.
func Find(f func(float64) float64, lo, hi, relTol float64) (float64, error) {
	if err := checkInterval(lo, hi); err != nil {
		return 0, err
	}
	if !(relTol >= 0 && relTol < 1) {
		return 0, fmt.Errorf("relative tolerance = %v, must be in [0, 1)", relTol)
	}
	fa, err := eval(f, lo)
	if err != nil {
		return 0, err
	}
	fb, err := eval(f, hi)
	if err != nil {
		return 0, err
	}
	switch {
	case fa == 0:
		return lo, nil
	case fb == 0:
		return hi, nil
	case fa < 0 == (fb < 0):
		return 0, fmt.Errorf("f(%v) = %v, f(%v) = %v: %w", lo, fa, hi, fb, ErrNoSignChange)
	}

	// a and b bracket the zero. a is the newest point, and c the point that it replaced.
	a, b := lo, hi
	t := 0.5
	mark, since := math.Abs(b-a), 0
	for range maxSteps {
		x := a + t*(b-a)
		if x == a || x == b {
			x = a + (b-a)/2
		}
		if x == a || x == b { // a and b are neighbouring numbers
			return nearer(a, fa, b, fb), nil
		}
		fx, err := eval(f, x)
		if err != nil {
			return 0, err
		}
		if fx == 0 {
			return x, nil
		}
		var c, fc float64
		if fx < 0 == (fa < 0) {
			c, fc = a, fa
		} else {
			c, fc = b, fb
			b, fb = a, fa
		}
		a, fa = x, fx

		best, width := nearer(a, fa, b, fb), math.Abs(b-a)
		if width <= relTol*math.Abs(best) {
			return best, nil
		}
		least := 0.5 * relTol * math.Abs(best) / width
		if since++; width <= mark/2 {
			mark, since = width, 0
		}
		t = 0.5
		if since < 3 {
			xi, phi := (a-b)/(c-b), (fa-fb)/(fc-fb)
			if phi*phi < xi && (1-phi)*(1-phi) < 1-xi {
				t = fa/(fb-fa)*(fc/(fb-fc)) + (c-a)/(b-a)*(fa/(fc-fa))*(fb/(fc-fb))
			}
			if math.IsNaN(t) { // differences have overflowed
				t = 0.5
			}
			t = min(max(t, least), 1-least)
		}
	}
	return 0, fmt.Errorf("no convergence in [%v, %v]", lo, hi)
}

// Bracket widens the interval [lo, hi], lo < hi, until f has different signs at its ends, and returns the
// new interval. In each step it doubles the width on the side where |f| is smaller; for a monotone f, the
// zero is on that side. The error wraps ErrNoSignChange if there is no sign change in the range of
// float64, or if f is not finite where it is evaluated.
func Bracket(f func(float64) float64, lo, hi float64) (float64, float64, error) {
	if err := checkInterval(lo, hi); err != nil {
		return 0, 0, err
	}
	if lo == hi {
		return 0, 0, fmt.Errorf("interval [%v, %v], must not be a single point", lo, hi)
	}
	fl, err := eval(f, lo)
	if err != nil {
		return 0, 0, err
	}
	fh, err := eval(f, hi)
	if err != nil {
		return 0, 0, err
	}
	for range maxDoubling {
		if fl == 0 || fh == 0 || fl < 0 != (fh < 0) {
			return lo, hi, nil
		}
		width := hi - lo
		if math.Abs(fl) < math.Abs(fh) {
			if checkInterval(lo-width, hi) != nil {
				break
			}
			lo -= width
			fl, err = eval(f, lo)
		} else {
			if checkInterval(lo, hi+width) != nil {
				break
			}
			hi += width
			fh, err = eval(f, hi)
		}
		if err != nil {
			return 0, 0, err
		}
	}
	return 0, 0, fmt.Errorf("f(%v) = %v, f(%v) = %v: %w", lo, fl, hi, fh, ErrNoSignChange)
}

func checkInterval(lo, hi float64) error {
	// hi-lo is NaN or infinite if either end is, or if the width overflows.
	if w := hi - lo; !(w >= 0) || math.IsInf(w, 0) {
		return fmt.Errorf("interval [%v, %v], must be finite, of finite width and in order", lo, hi)
	}
	return nil
}

func eval(f func(float64) float64, x float64) (float64, error) {
	y := f(x)
	if math.IsNaN(y) || math.IsInf(y, 0) {
		return 0, fmt.Errorf("f(%v) = %v, must be finite", x, y)
	}
	return y, nil
}

func nearer(a, fa, b, fb float64) float64 {
	if math.Abs(fa) <= math.Abs(fb) {
		return a
	}
	return b
}
