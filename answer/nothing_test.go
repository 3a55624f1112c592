package answer

import (
	"errors"
	"strings"
	"testing"

	"proactivedp/dp"
	"proactivedp/dp/pld"
	"proactivedp/plan"
)

// Of no rounds every accountant says that it covers none, and that is the answer.
func TestAccountByOfNoRounds(t *testing.T) {
	ask := func(acc dp.Accountant) (dp.Bound, error) { return acc.Epsilon(t.Context(), nil, 1e-5) }
	accs := Accountants(pld.DefaultAccuracy)
	if all, err := AccountBy(t.Context(), accs, plan.History{}, ask); all != nil || !errors.Is(err, dp.ErrNotCovered) {
		t.Errorf("%v, %v", all, err)
	}
	if all, err := AccountBy(t.Context(), nil, plan.History{}, ask); all != nil || err == nil {
		t.Errorf("of no accountant: %v, %v", all, err)
	}
	if c, err := (Comparison{}).Curves(t.Context()); err == nil || !strings.Contains(err.Error(), "must be given") {
		t.Errorf("curves of no accountant: %+v, %v", c, err)
	}
}
