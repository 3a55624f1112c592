package gdp

import (
	"testing"

	"proactivedp/internal/zerotest"
)

// Zero values are refused, and where a constructor is needed it is named.
func TestZeroValues(t *testing.T) {
	zerotest.Package{
		Values: []any{new(Accountant)},
		Funcs: map[string]any{
			"Epsilon": Epsilon, "Mu": Mu, "MuPoisson": MuPoisson, "MuUniform": MuUniform,
		},
	}.Check(t)
}
