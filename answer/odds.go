package answer

import (
	"math"

	"proactivedp/dp"
	"proactivedp/dp/tradeoff"
	"proactivedp/plan"
)

// falsePositives is at how many wrong alarms the odds are given.
const falsePositives = 0.05

// Odds say what a guarantee means: whoever knows all other records, and may take for
// members of the data at most this share of the people who are none, recognises at most
// that share of those who are.
type Odds struct {
	FalsePositive float64 `json:"false_positive"` // the share that may be wrong, 0.05
	TruePositive  float64 `json:"true_positive"`  // the largest share that is recognised
	Accountant    string  `json:"by"`             // whose guarantee it is
}

// odds returns what (ε, δ) allows (Dong, Roth, Su 2022, Proposition 2.5); nil if ε is not
// certain.
func odds(b dp.Bound) *Odds {
	if math.IsInf(b.EpsilonUpper, 1) {
		return nil
	}
	g := tradeoff.Guarantee{Epsilon: b.EpsilonUpper, Delta: b.DeltaUpper}
	return &Odds{FalsePositive: falsePositives, TruePositive: 1 - g.At(falsePositives), Accountant: b.Accountant}
}

// planOdds returns the least odds of those that the plan's method and, if it was asked, the
// tight accountant guarantee.
func planOdds(p *plan.Plan) *Odds {
	if p.PerRecord == nil {
		return nil
	}
	best := odds(*p.PerRecord)
	if b := p.Certified(); b != nil {
		if tight := odds(*b); tight != nil && (best == nil || tight.TruePositive < best.TruePositive) {
			best = tight
		}
	}
	return best
}
