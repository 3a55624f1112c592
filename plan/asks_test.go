package plan

import (
	"slices"
	"strings"
	"testing"

	"proactivedp/dp/closedform"
)

// A plan names the condition that limits its batch size. It says that Theorem Main need not hold only if
// Main does not hold.
func TestTextSaysWhatTheTheoremAsks(t *testing.T) {
	for _, c := range []struct {
		request Request
		asks    string
		beyond  bool
	}{
		{Request{Method: ClosedForm, N: 10_000, Delta: 1e-4, Epochs: 5, Epsilon: 0.05}, "set by T ≥ γθ²k²/ε (treq3)", false},
		{Request{Method: ClosedForm, N: 10_000, Delta: 1e-4, Epochs: 5, Epsilon: 1}, "set by T ≥ γθ²k²/ε (treq3)", true},
		{Request{Method: ClosedForm, N: 10_000, Delta: 1e-4, Epochs: 0.05, Epsilon: 0.4}, "set by s ≤ g(σ)N/θ (treq1)", true},
	} {
		p, err := Solve(t.Context(), c.request)
		if err != nil {
			t.Fatal(err)
		}
		unmet := func(k closedform.Condition) bool { return k.Theorem == closedform.Main && !k.Met }
		if slices.ContainsFunc(p.Conditions, unmet) != c.beyond {
			t.Errorf("%+v: conditions %+v", c.request, p.Conditions)
		}
		var text strings.Builder
		if err := p.WriteText(&text); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(text.String(), c.asks) ||
			strings.Contains(text.String(), "The simpler theorem Main need not hold") != c.beyond {
			t.Errorf("%+v: %s", c.request, &text)
		}
	}
}
