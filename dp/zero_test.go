package dp

import (
	"testing"

	"proactivedp/internal/zerotest"
)

// Zero values are refused, and where a constructor is needed it is named.
func TestZeroValues(t *testing.T) {
	zerotest.Package{
		Values: []any{new(Bound), new(Event), new(Ledger), new(Mechanism), new(Release), new(Sampling)},
		Funcs: map[string]any{
			"Compose": Compose, "ParseAdjacency": ParseAdjacency, "ParseSampling": ParseSampling,
			"ParseSizes": ParseSizes, "SchemeOf": SchemeOf, "Unamplified": Unamplified,
		},
	}.Check(t)
}
