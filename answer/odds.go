package answer

import (
	"math"

	"proactivedp/dp"
	"proactivedp/dp/tradeoff"
	"proactivedp/plan"
)

// falsePositives is the false positive rate at which Odds are given.
const falsePositives = 0.05

// Odds explain a guarantee by an attack. For each person, an attacker who knows all other records guesses whether the
// person's record is in the data. Suppose that the attacker guesses "in the data" for the fraction FalsePositive of
// the people who are not. Then the attacker does so for at most the fraction TruePositive of the people who are.
type Odds struct {
	FalsePositive float64 `json:"false_positive"` // fraction of the people outside the data whom the attacker takes for members; always 0.05
	TruePositive  float64 `json:"true_positive"`  // largest fraction of the people in the data whom the attacker can recognise
	Accountant    string  `json:"by"`             // name of the accountant whose ε guarantees this
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
