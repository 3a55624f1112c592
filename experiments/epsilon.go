package experiments

import (
	"proactivedp/internal/decimal"
	"proactivedp/internal/report"
)

// epsilonText writes ε rounded up, or nothing where none is claimed.
func epsilonText(e *float64) string {
	if e == nil {
		return ""
	}
	return decimal.Up(*e, 6)
}

// epsilonAtMost claims an ε, or none.
func epsilonAtMost(e *float64) string {
	if e == nil {
		return report.NotCovered
	}
	return "ε ≤ " + decimal.Up(*e, 4)
}
