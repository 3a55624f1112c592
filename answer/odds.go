package answer

import (
	"math"

	"proactivedp/dp"
	"proactivedp/dp/tradeoff"
	"proactivedp/plan"
)

// falsePositives is the false positive rate at which Odds are given.
const falsePositives = 0.05

// Odds explain a guarantee in the words of an attack. For each person, an attacker who knows all other
// records guesses whether the person's record is in the data. If the attacker is wrong about the fraction
// FalsePositive of the people who are not in the data, then the attacker recognises at most the fraction
// TruePositive of those who are.
type Odds struct {
	FalsePositive float64 `json:"false_positive"` // share of non-members taken for members, 0.05
	TruePositive  float64 `json:"true_positive"`  // largest share of members that is recognised
	Accountant    string  `json:"by"`             // the accountant that guarantees it
}

// odds returns the Odds that (ε, δ) guarantees, by Proposition 2.5 of Dong, Roth, Su 2022. It returns
// nil if ε is not proved.
func odds(b dp.Bound) *Odds {
	if math.IsInf(b.EpsilonUpper, 1) {
		return nil
	}
	g := tradeoff.Guarantee{Epsilon: b.EpsilonUpper, Delta: b.DeltaUpper}
	return &Odds{FalsePositive: falsePositives, TruePositive: 1 - g.At(falsePositives), Accountant: b.Accountant}
}

// planOdds returns the smaller of two Odds: those of the plan's method and, if it was asked, those of
// the accountant pld.
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
