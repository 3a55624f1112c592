package clock

import (
	"testing"

	"proactivedp/internal/zerotest"
)

// Zero values are refused, and where a constructor is needed it is named.
func TestZeroValues(t *testing.T) {
	zerotest.Package{
		Values: []any{new(Churn), new(Network), new(Speeds), new(Timing)},
		Funcs: map[string]any{
			"ParseChurn": ParseChurn, "ParseDuration": ParseDuration, "ParseSpeeds": ParseSpeeds,
			"ParseTrace": ParseTrace,
		},
	}.Check(t)
}
