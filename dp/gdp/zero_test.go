package gdp

import (
	"testing"

	"proactivedp/internal/zerotest"
)

// Zero values are refused, and where a constructor is needed it is named.
func TestZeroValues(t *testing.T) {
	zerotest.Package{
		Exported: []any{new(Accountant), Epsilon, Mu, MuPoisson, MuUniform},
	}.Check(t)
}
