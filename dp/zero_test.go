package dp

import (
	"testing"

	"proactivedp/internal/testkit"
)

// Zero values are refused, and where a constructor is needed it is named.
func TestZeroValues(t *testing.T) {
	testkit.Package{
		Exported: []any{
			new(Bound), new(Event), new(Ledger), new(Mechanism), new(Release), new(Sampling), CheckCount, CheckEvents,
			CheckDelta, CheckNoise, CheckNotNegative, CheckPositive, CheckRange, CheckRate, Compose, ParseAdjacency, ParseRedraw, ParseSampling, ParseSizes, SchemeOf, Times, Unamplified,
		},
	}.Check(t)
}
