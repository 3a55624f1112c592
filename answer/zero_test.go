package answer

import (
	"testing"

	"proactivedp/dp/gdp"
	"proactivedp/internal/testkit"
)

// Zero values are refused, and where a constructor is needed it is named.
func TestZeroValues(t *testing.T) {
	testkit.Package{
		Exported: []any{
			new(Accounting), new(Comparison), new(PlanQuestion), new(Tradeoff), Account, AccountBy, Calibrate,
			CheckTarget, Solve,
		},
		Given:    []any{gdp.Accountant{}},
		Unusable: map[string]string{"Tradeoff": "Comparison.Curves"},
	}.Check(t)
}
