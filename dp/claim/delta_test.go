package claim

import (
	"strings"
	"testing"

	"proactivedp/dp"
	"proactivedp/dp/pld"
)

// Statements and reports say once that δ is weak if it is at least 1/N. For a smaller δ they do not.
func TestWeakDeltaIsSaid(t *testing.T) {
	m := poisson(10_000, 20, 5)
	events := ledger(m, 30)
	for delta, weak := range map[float64]int{1e-4: 1, 1. / 3000: 1, 0.9e-4: 0, 1e-6: 0} {
		b, err := pld.Accountant{}.Epsilon(t.Context(), events.Events(), delta)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Count(Statement(PerRecord, b, events.Events()...), weakDelta); got != weak {
			t.Errorf("δ = %v: a statement says it %d times, want %d", delta, got, weak)
		}
		r, err := NewReport(5, nil, func(acc dp.Accountant) (Privacy, error) {
			return OfLedgers(t.Context(), acc, []dp.Ledger{events}, false, delta)
		})
		if err != nil {
			t.Fatal(err)
		}
		var text strings.Builder
		if err := r.WriteStatement(&text); err != nil {
			t.Fatal(err)
		}
		if got := strings.Count(text.String(), weakDelta); got != weak {
			t.Errorf("δ = %v: a report says it %d times, want %d", delta, got, weak)
		}
	}
}
