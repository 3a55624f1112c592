package experiments

import (
	"proactivedp/internal/decimal"
	"proactivedp/internal/report"
)

// epsilonText formats ε rounded up. It returns "" if nothing is claimed.
func epsilonText(e *float64) string {
	if e == nil {
		return ""
	}
	return decimal.Up(*e, 6)
}

// epsilonAtMost describes an upper bound on ε, or says that nothing is claimed.
func epsilonAtMost(e *float64) string {
	if e == nil {
		return report.NotCovered
	}
	return "ε ≤ " + decimal.Up(*e, 4)
}
