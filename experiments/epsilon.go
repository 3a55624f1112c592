package experiments

import (
	"proactivedp/internal/decimal"
	"proactivedp/internal/report"
)

// epsilonText writes ε rounded up, or "" if nothing is claimed.
func epsilonText(e *float64) string {
	if e == nil {
		return ""
	}
	return decimal.Up(*e, 6)
}

// epsilonAtMost writes an upper bound of ε in words, or that nothing is claimed.
func epsilonAtMost(e *float64) string {
	if e == nil {
		return report.NotCovered
	}
	return "ε ≤ " + decimal.Up(*e, 4)
}
