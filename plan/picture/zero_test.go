package picture

import (
	"testing"

	"proactivedp/internal/zerotest"
)

// Zero values are refused, and where a constructor is needed it is named.
func TestZeroValues(t *testing.T) {
	zerotest.Package{
		Values: []any{},
		Funcs:  map[string]any{"Frontier": Frontier, "Tradeoff": Tradeoff},
	}.Check(t)
}
