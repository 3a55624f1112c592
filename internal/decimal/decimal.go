// Package decimal writes numbers that must not err on one side, as an ε that is
// shown may be too large and never too small, and reads counts exactly.
package decimal

import (
	"math"
	"strconv"
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
	back, _ := strconv.ParseFloat(text, 64)
	if (v-back)*side > 0 {
		text = strconv.FormatFloat(back+side*math.Pow(10, float64(-decimals)), 'f', decimals, 64)
	}
	return text
}

func rounded(v float64, digits int, side float64) string {
	text := strconv.FormatFloat(v, 'g', digits, 64)
	back, _ := strconv.ParseFloat(text, 64)
	if (v-back)*side > 0 {
		step := math.Pow(10, math.Floor(math.Log10(v))-float64(digits-1))
		text = strconv.FormatFloat(back+side*step, 'g', digits, 64)
	}
	return text
}
