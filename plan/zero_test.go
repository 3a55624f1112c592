package plan

import (
	"testing"

	"proactivedp/dp/gdp"
	"proactivedp/internal/testkit"
)

// Zero values are refused, and where a constructor is needed it is named.
func TestZeroValues(t *testing.T) {
	testkit.Package{
		Exported: []any{
			new(Calibration), new(Frontier), new(History), new(Infeasible), new(Method), new(Next),
			new(NextRequest), new(Batch), new(Plan), new(Request), new(Target), new(Theorem), Calibrate, CheckBudget, CheckEpsilon,
			Compare, LeastNoise, ParseMethod, ReadHistory, Replan, Rounds, Solve, WriteBatches,
		},
		Given: []any{gdp.Accountant{}},
		Unusable: map[string]string{
			"Plan": "Solve", "Calibration": "Calibrate", "Frontier": "Plan.Frontier", "Next": "Replan",
		},
		Skip: []string{"Infeasible.Unwrap", "Next.UnmarshalJSON"}, // an error by itself, and one that names ReadHistory
	}.Check(t)
}
