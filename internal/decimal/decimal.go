// Package decimal writes numbers that must be rounded in one direction: a printed ε may be too large but never too
// small. It also reads counts exactly, and the usual numbers of a file quickly.
package decimal

import (
	"strconv"
	"strings"
)

// Up formats a finite v ≥ 0 with the given number of significant digits, at least 1. It rounds up: the text is never
// below v.
func Up(v float64, digits int) string { return rounded(v, digits, 1) }

// Down formats a finite v ≥ 0 with the given number of significant digits, at least 1. It rounds down: the text is
// never above v.
func Down(v float64, digits int) string { return rounded(v, digits, -1) }

// FixedUp formats a finite v ≥ 0 with the given number of decimals. It rounds up: the text is never below v.
func FixedUp(v float64, decimals int) string { return fixed(v, decimals, 1) }

// FixedDown formats a finite v ≥ 0 with the given number of decimals. It rounds down: the text is never above v.
func FixedDown(v float64, decimals int) string { return fixed(v, decimals, -1) }

// Exactly formats v with the fewest digits that read back as v.
func Exactly(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// Digits returns v rounded to the nearest number with the given number of significant digits, at least 1. Use it for
// settings such as a step size. For ε and δ, use Up or Down.
func Digits(v float64, digits int) float64 {
	short, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', digits, 64), 64)
	if err != nil {
		return v // beyond the largest number
	}
	return short
}

func fixed(v float64, decimals int, side float64) string {
	v += 0 // turns -0 into 0
	text := strconv.FormatFloat(v, 'f', decimals, 64)
	if onSide(text, v, side) {
		return text
	}
	return oneFurther(text, side)
}

func rounded(v float64, digits int, side float64) string {
	v += 0 // turns -0 into 0
	text := strconv.FormatFloat(v, 'g', digits, 64)
	if onSide(text, v, side) {
		return text
	}
	// v has more digits than are kept, so cutting them off gives a smaller number.
	mantissa, exponent, _ := strings.Cut(strconv.FormatFloat(v, 'e', -1, 64), "e")
	kept := mantissa[:digits+min(digits-1, 1)] // with the point
	if side > 0 {
		kept = oneFurther(kept, side)
	}
	kept += "e" + exponent
	back, err := strconv.ParseFloat(kept, 64)
	if text := strconv.FormatFloat(back, 'g', digits, 64); err == nil && onSide(text, v, side) {
		return text
	}
	return kept // no float64 is that large or small
}

// onSide reports whether a text reads back as v, or as a number on the given side of v.
func onSide(text string, v, side float64) bool {
	back, _ := strconv.ParseFloat(text, 64) // infinite if out of range
	return !((v-back)*side > 0)             // infinities and NaN have only their names
}

// oneFurther moves the last digit of a number by one to the given side. Downwards, the number must
// be above 0. A float64 sum would not work, because it is rounded; for the smallest numbers the
// rounding undoes the step.
func oneFurther(number string, side float64) string {
	digits, last, next, step := []byte(number), byte('9'), byte('0'), 1
	if side < 0 {
		last, next, step = '0', '9', -1
	}
	i := len(digits) - 1
	for ; i >= 0 && (digits[i] == last || digits[i] == '.'); i-- {
		if digits[i] == last {
			digits[i] = next
		}
	}
	if i < 0 {
		return "1" + string(digits)
	}
	digits[i] = byte(int(digits[i]) + step)
	if len(digits) > 1 && digits[0] == '0' && digits[1] != '.' {
		digits = digits[1:]
	}
	return string(digits)
}
