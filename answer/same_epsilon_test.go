package answer

import (
	"testing"

	"proactivedp/plan"
)

// A plan that meets a target epsilon meets it too when account computes the ε of the planned rounds.
func TestPlansKeepTheirTargetInAccount(t *testing.T) {
	for _, target := range []float64{0.5, 1, 3} {
		for _, group := range []int{0, 2, 5} {
			p, err := Solve(t.Context(), PlanQuestion{Request: plan.Request{
				N: 50_000, Epochs: 10, Epsilon: target, Delta: 1e-5, SampleSize: 256, Group: group, Method: plan.PLD,
			}})
			if err != nil {
				t.Fatal(err)
			}
			rows, err := Account(t.Context(), AccountQuestion{Events: p.Events(), Delta: 1e-5, Accountant: "pld"})
			if err != nil {
				t.Fatal(err)
			}
			if upper := rows[0].Bound.EpsilonUpper; !(upper <= target) {
				t.Errorf("target %v, group %d: account says ε ≤ %v for the plan's rounds", target, group, upper)
			}
		}
	}
}
