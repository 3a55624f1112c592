package libraries

import (
	"testing"

	"proactivedp/dp/gdp"
	"proactivedp/internal/testkit"
)

// Zero values are refused, and where a constructor is needed it is named.
func TestZeroValues(t *testing.T) {
	testkit.Package{
		Exported: []any{All, FromPython, OfEvents, OfPlan, ParseFormat, Read, Write},
		Given:    []any{gdp.Accountant{}},
	}.Check(t)
}
