package rdp

import (
	"testing"

	"proactivedp/internal/testkit"
)

// Zero values are refused. If a constructor is needed, the error names it.
func TestZeroValues(t *testing.T) {
	testkit.Package{
		Exported: []any{
			new(Accountant), new(Filter), new(Limits), new(Selection), CheckOrder, Delta, Divergence, Epsilon,
			NewFilter, PlannedOrder,
		},
		Unusable: map[string]string{"Filter": "NewFilter"},
	}.Check(t)
}

// The zero value of a filter guarantees nothing. Otherwise its ε would be 0.
func TestGuaranteeOfNoFilter(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("the zero Filter guarantees ε = 0")
		}
	}()
	new(Filter).Guarantee()
}
