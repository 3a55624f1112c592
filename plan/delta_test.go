package plan

import (
	"strings"
	"testing"

	"proactivedp/dp"
)

// The default δ depends on N. So for further rounds with another N, δ must be given.
func TestDeltaDoesNotChangeFromLegToLeg(t *testing.T) {
	r := NextRequest{N: 20_000, Past: []dp.Event{leg(26, 10_000, 500, 19.3)}, Epochs: 2, Sigma: 19.3, Epsilon: 0.5}
	err := r.Validate()
	if want := "delta is missing, must be given: the default depends on N, 20000 now, after rounds of N = 10000"; err == nil || !strings.Contains(err.Error(), want) {
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

// The default δ is safe, whatever accountant plans. Only the methods that reproduce the paper have its δ.
func TestDefaultDeltaOfEachMethod(t *testing.T) {
	for m, want := range map[Method]float64{PLD: 1e-5, RDP: 1e-5, ClosedForm: 1e-5, Printed: 1e-4, Paper: 1e-4} {
		if p := solve(t, Request{N: 10_000, Epochs: 5, Epsilon: 0.05, Method: m}); p.Delta != want {
			t.Errorf("%s: δ = %v, want %v", m, p.Delta, want)
		}
	}
}
