package claim

import (
	"math"

	"proactivedp/internal/decimal"
)

// plus returns the sum of two counts, neither negative, or the largest int if the sum is larger.
func plus(a, b int) int {
	if a > math.MaxInt-b {
		return math.MaxInt
	}
	return a + b
}

// times returns the product of two counts, neither negative, or the largest int if the product is
// larger.
func times(a, b int) int {
	if b != 0 && a > math.MaxInt/b {
		return math.MaxInt
	}
	return a * b
}

// manyRounds writes a number of rounds that [plus] returned.
func manyRounds(n int) string {
	text := decimal.Many(n, "round")
	if n == math.MaxInt {
		return "at least " + text
	}
	return text
}
