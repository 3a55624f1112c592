package audit

import (
	"testing"

	"proactivedp/dp/gdp"
	"proactivedp/internal/zerotest"
)

// Zero values are refused, and where a constructor is needed it is named.
func TestZeroValues(t *testing.T) {
	zerotest.Package{
		Values: []any{new(Course), new(Options), new(Report)},
		Funcs: map[string]any{
			"Do": Do, "MeasurePower": MeasurePower, "ParseFault": ParseFault, "Run": Run, "Survey": Survey,
		},
		Given:    []any{gdp.Accountant{}},
		Unusable: map[string]string{"Report": "made by Run"},
	}.Check(t)
}
