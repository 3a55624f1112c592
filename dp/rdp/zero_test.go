package rdp

import (
	"fmt"
	"math"
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

// The limit that the error prints is the exact one.
func TestPrintedLimitOfOrders(t *testing.T) {
	var excess float64
	if _, err := fmt.Sscanf(CheckOrder(math.Inf(1)).Error(), "order = +Inf, must be in (1, 1 + %g]", &excess); err != nil {
		t.Fatal(err)
	}
	limit := 1 + excess
	if err := CheckOrder(limit); err != nil {
		t.Error(err)
	}
	if CheckOrder(math.Nextafter(limit, math.Inf(1))) == nil {
		t.Errorf("an order above the printed limit, %v, is accepted", limit)
	}
}
