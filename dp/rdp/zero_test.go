package rdp

import (
	"testing"

	"proactivedp/internal/testkit"
)

// Zero values are refused, and where a constructor is needed it is named.
func TestZeroValues(t *testing.T) {
	testkit.Package{
		Exported: []any{
			new(Accountant), new(Filter), new(Limits), new(Selection), CheckOrder, Delta, Divergence, Epsilon,
			NewFilter, PlannedOrder,
		},
		Unusable: map[string]string{"Filter": "NewFilter"},
	}.Check(t)
}

// A filter that nobody made guarantees nothing: ε would be 0.
func TestGuaranteeOfNoFilter(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("the zero Filter guarantees ε = 0")
		}
	}()
	new(Filter).Guarantee()
}
