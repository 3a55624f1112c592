package claim

import (
	"math"

	"proactivedp/internal/decimal"
)

// plus is a sum of counts, none of them negative, or the largest int if that is less.
func plus(a, b int) int {
	if a > math.MaxInt-b {
		return math.MaxInt
	}
	return a + b
}

// times is a product of counts, none of them negative, or the largest int if that is less.
func times(a, b int) int {
	if b != 0 && a > math.MaxInt/b {
		return math.MaxInt
	}
	return a * b
}

// manyRounds says how many rounds a sum of [plus] stands for.
func manyRounds(n int) string {
	text := decimal.Many(n, "round")
	if n == math.MaxInt {
		return "at least " + text
	}
	return text
}
