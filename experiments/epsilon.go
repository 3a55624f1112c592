package experiments

import (
	"proactivedp/internal/decimal"
	"proactivedp/internal/report"
)

// epsilonText formats *e rounded up. It returns "" if e is nil, because then no ε is claimed.
func epsilonText(e *float64) string {
	if e == nil {
		return ""
	}
	return decimal.Up(*e, 6)
}

// epsilonAtMost returns text such as "ε ≤ 0.5" for the upper bound *e, or a text which says that no
// ε is claimed if e is nil.
func epsilonAtMost(e *float64) string {
	if e == nil {
		return report.NotCovered
	}
	return "ε ≤ " + decimal.Up(*e, 4)
}
