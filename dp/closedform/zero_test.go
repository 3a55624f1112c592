package closedform

import (
	"testing"

	"proactivedp/internal/testkit"
)

// Zero values are refused. If a constructor is needed, the error names it.
func TestZeroValues(t *testing.T) {
	testkit.Package{
		Exported: []any{
			new(Accountant), new(Budget), new(MomentAccountant), new(Moments), new(Setting),
			Conditions, Epsilon, Gamma, GammaAt, Limit, MaxAlphaBar, MinEpsilon, Moment, MomentConditions,
			MomentsOfEvents, NewBudget, RHS, ReuseLimit, Sigma,
		},
		Unusable: map[string]string{"Budget": "NewBudget"},
	}.Check(t)
}

// The zero value of a budget guarantees nothing. Otherwise its ε would be 0.
func TestGuaranteeOfNoBudget(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("the zero Budget guarantees ε = 0")
		}
	}()
	new(Budget).Guarantee()
}
