package plan

import (
	"strings"
	"testing"

	"proactivedp/dp"
)

// Where δ is not given it is 1/N, and a leg for another N does not change it without a
// word.
func TestDeltaDoesNotChangeFromLegToLeg(t *testing.T) {
	r := NextRequest{N: 20_000, Past: []dp.Event{leg(26, 10_000, 500, 19.3)}, Epochs: 2, Sigma: 19.3, Epsilon: 0.5}
	err := r.Validate()
	if want := "delta is missing, must be given: the default 1/N is ambiguous for N = 20000 after rounds of " +
		"N = 10000"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
	r.Delta = 1e-5
	if err := r.Validate(); err != nil {
		t.Error(err)
	}
	r.N, r.Delta = 10_000, 0
	if err := r.Validate(); err != nil {
		t.Error(err)
	}
}
