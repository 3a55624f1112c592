// Package decimal writes numbers that must not err on one side, as an ε that is
// shown may be too large and never too small, and reads counts exactly.
package decimal

import (
	"math/big"
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
	text := strconv.FormatFloat(v, 'f', decimals, 64)
	if onSide(text, v, side) {
		return text
	}
	return oneFurther(text, side, -decimals).Text('f', decimals)
}

func rounded(v float64, digits int, side float64) string {
	text := strconv.FormatFloat(v, 'g', digits, 64)
	if onSide(text, v, side) {
		return text
	}
	_, exponent, _ := strings.Cut(strconv.FormatFloat(v, 'e', -1, 64), "e")
	first, _ := strconv.Atoi(exponent)
	return oneFurther(text, side, first-digits+1).Text('g', digits)
}

// onSide reports whether a text reads back as v, or as a number on that side of it.
func onSide(text string, v, side float64) bool {
	back, _ := strconv.ParseFloat(text, 64) // out of range it is infinite
	return (v-back)*side <= 0
}

// oneFurther returns the number that is 10^exponent to a side of the text's. A sum in float64
// would not do: of the smallest numbers a unit may be 0.
func oneFurther(text string, side float64, exponent int) *big.Float {
	const precise = 128 // bits: those of a number that is not on its side are few more than 53
	x, _, _ := big.ParseFloat(text, 10, precise, big.ToNearestEven)
	unit, _, _ := big.ParseFloat("1e"+strconv.Itoa(exponent), 10, precise, big.ToNearestEven)
	return x.Add(x, unit.Mul(unit, big.NewFloat(side)))
}
