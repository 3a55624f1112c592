package closedform

import (
	"testing"

	"proactivedp/internal/zerotest"
)

// Zero values are refused, and where a constructor is needed it is named.
func TestZeroValues(t *testing.T) {
	zerotest.Package{
		Values: []any{new(Accountant), new(Budget), new(MomentAccountant), new(Moments), new(Setting)},
		Funcs: map[string]any{
			"CheckDelta": CheckDelta, "Conditions": Conditions, "Epsilon": Epsilon, "Gamma": Gamma,
			"GammaAt": GammaAt, "Grow": Grow, "Limit": Limit, "MaxAlphaBar": MaxAlphaBar,
			"MinEpsilon": MinEpsilon, "Moment": Moment, "MomentConditions": MomentConditions,
			"MomentsOf": MomentsOf, "MomentsOfEvents": MomentsOfEvents, "NewBudget": NewBudget, "RHS": RHS,
			"ReuseLimit": ReuseLimit, "Sigma": Sigma,
		},
		Unusable: map[string]string{"Budget": "NewBudget"},
	}.Check(t)
}

// A budget that nobody made guarantees nothing: ε would be 0.
func TestGuaranteeOfNoBudget(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("the zero Budget guarantees ε = 0")
		}
	}()
	new(Budget).Guarantee()
}
