package claim

import (
	"testing"

	"proactivedp/dp/gdp"
	"proactivedp/internal/testkit"
)

// Zero values are refused. If a constructor is needed, the error names it.
func TestZeroValues(t *testing.T) {
	testkit.Package{
		Exported: []any{new(Report), NewReport, Of, OfClients, OfLedgers},
		Given:    []any{gdp.Accountant{}},
	}.Check(t)
}
