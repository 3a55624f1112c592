package answer

import (
	"errors"
	"testing"

	"proactivedp/dp"
)

// If there are no rounds, every accountant says that it does not cover them, and the answer says that.
func TestAccountOfNoRounds(t *testing.T) {
	all, err := Account(t.Context(), AccountQuestion{Delta: 1e-5})
	if all != nil || !errors.Is(err, dp.ErrNotCovered) {
		t.Errorf("%v, %v", all, err)
	}
	if c, err := Compare(t.Context(), TradeoffQuestion{Delta: 1e-5}); c != nil || err == nil {
		t.Errorf("curves of no rounds: %+v, %v", c, err)
	}
}
