package claim

import (
	"testing"

	"proactivedp/dp/gdp"
	"proactivedp/internal/zerotest"
)

// Zero values are refused, and where a constructor is needed it is named.
func TestZeroValues(t *testing.T) {
	zerotest.Package{
		Values: []any{new(Report)},
		Funcs: map[string]any{
			"NewReport": NewReport, "Of": Of, "OfClients": OfClients, "OfLedgers": OfLedgers,
		},
		Given: []any{gdp.Accountant{}},
	}.Check(t)
}
