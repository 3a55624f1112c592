package realclock

import (
	"testing"

	"proactivedp/internal/testkit"
)

// Zero values are refused, and where a constructor is needed it is named.
func TestZeroValues(t *testing.T) {
	testkit.Package{
		Exported: []any{Check, CheckScale, Run},
	}.Check(t)
}
