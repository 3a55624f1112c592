// Package decimal writes numbers that must not err on one side, as an ε that is
// shown may be too large and never too small, and reads counts exactly.
package decimal

import (
	"strconv"
	"strings"
)

// Up formats a finite v ≥ 0 with the given number of significant digits, at
// least 1, such that what is read back is not below v.
func Up(v float64, digits int) string { return rounded(v, digits, 1) }

// Down is Up for a number that must not be above v.
func Down(v float64, digits int) string { return rounded(v, digits, -1) }

// FixedUp formats a finite v ≥ 0 with so many decimals, such that what is read back
// is not below v.
func FixedUp(v float64, decimals int) string { return fixed(v, decimals, 1) }

// FixedDown is FixedUp for a number that must not be above v.
func FixedDown(v float64, decimals int) string { return fixed(v, decimals, -1) }

// Exactly formats v with the fewest digits that read back as v.
func Exactly(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

func fixed(v float64, decimals int, side float64) string {
	v += 0 // as -0 is 0
	text := strconv.FormatFloat(v, 'f', decimals, 64)
	if onSide(text, v, side) {
		return text
	}
	return oneFurther(text, side)
}

func rounded(v float64, digits int, side float64) string {
	v += 0 // as -0 is 0
	text := strconv.FormatFloat(v, 'g', digits, 64)
	if onSide(text, v, side) {
		return text
	}
	// Of v's own digits there are more, so those that are kept are below it.
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
	return kept // which no float64 is, so large or so small
}

// onSide reports whether a text reads back as v, or as a number on that side of it.
func onSide(text string, v, side float64) bool {
	back, _ := strconv.ParseFloat(text, 64) // out of range it is infinite
	return !((v-back)*side > 0)             // of an infinity, and of what is no number, there is only its name
}

// oneFurther moves the last digit of a number by one to a side, downwards of one that is
// above 0. A sum in float64 would not do: it is rounded, of the smallest numbers to what it was.
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
