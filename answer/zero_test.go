package answer

import (
	"testing"

	"proactivedp/dp/gdp"
	"proactivedp/internal/testkit"
)

// Zero values are refused. If a constructor is needed, the error names it.
func TestZeroValues(t *testing.T) {
	testkit.Package{
		Exported: []any{
			new(Accounting), new(AccountQuestion), new(CalibrateQuestion), new(PlanQuestion), new(Tradeoff),
			new(TradeoffQuestion), Account, Calibrate, CheckAccuracy, Compare, ReadRounds,
			Solve,
		},
		Given:    []any{gdp.Accountant{}},
		Unusable: map[string]string{"Tradeoff": "Compare"},
	}.Check(t)
}
