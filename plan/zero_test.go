package plan

import (
	"testing"

	"proactivedp/dp/gdp"
	"proactivedp/internal/zerotest"
)

// Zero values are refused, and where a constructor is needed it is named.
func TestZeroValues(t *testing.T) {
	zerotest.Package{
		Values: []any{
			new(Calibration), new(Frontier), new(History), new(Infeasible), new(Method), new(Next),
			new(NextRequest), new(Plan), new(Request), new(Target),
		},
		Funcs: map[string]any{
			"Calibrate": Calibrate, "CheckBudget": CheckBudget, "CheckEpsilon": CheckEpsilon,
			"LeastNoise": LeastNoise, "ParseMethod": ParseMethod, "ReadEvents": ReadEvents,
			"ReadHistory": ReadHistory, "Replan": Replan, "Solve": Solve,
		},
		Given: []any{gdp.Accountant{}},
		Unusable: map[string]string{
			"Plan": "Solve", "Calibration": "Calibrate", "Frontier": "Plan.Frontier", "Next": "Replan",
		},
		Skip: []string{
			"Infeasible.Unwrap", "Plan.UnmarshalJSON", "Next.UnmarshalJSON",
		}, // an error itself, and what reads
	}.Check(t)
}
