package libraries

import (
	"testing"

	"proactivedp/dp/gdp"
	"proactivedp/internal/zerotest"
)

// Zero values are refused, and where a constructor is needed it is named.
func TestZeroValues(t *testing.T) {
	zerotest.Package{
		Values: []any{},
		Funcs: map[string]any{
			"All": All, "OfEvents": OfEvents, "OfPlan": OfPlan, "ParseFormat": ParseFormat, "Read": Read,
			"Write": Write,
		},
		Given: []any{gdp.Accountant{}},
	}.Check(t)
}
