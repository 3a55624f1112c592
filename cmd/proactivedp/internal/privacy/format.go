package privacy

import (
	"math"

	"proactivedp/internal/decimal"
)

// shownDigits is how many digits a table shows.
const shownDigits = 6

// shownUp and shownDown format v ≥ 0 for a table. The shown number is not below v, or not above v.
// A v that is not finite is "-".
func shownUp(v float64) string   { return shown(v, decimal.Up) }
func shownDown(v float64) string { return shown(v, decimal.Down) }

func shown(v float64, rounded func(float64, int) string) string {
	switch {
	case math.IsInf(v, 0) || math.IsNaN(v):
		return "-"
	case v >= 1e6:
		return "above 1000000"
	}
	return rounded(v, shownDigits)
}
