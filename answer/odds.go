package answer

import (
	"math"

	"proactivedp/dp"
	"proactivedp/dp/tradeoff"
	"proactivedp/plan"
)

// falsePositives is the false positive rate at which Odds are given.
const falsePositives = 0.05

// Odds explain a guarantee by an attack. An attacker who knows all other records guesses for each person whether the
// person's record is in the data. A false positive is a person outside the data of whom the attacker guesses that
// they are in the data. If the attacker accepts 5 % false positives, they recognise at most the fraction TruePositive
// of the people in the data.
type Odds struct {
	// FalsePositive is the fraction of the people outside the data who are taken for members; always 0.05.
	FalsePositive float64 `json:"false_positive"`
	// TruePositive is the largest possible fraction of the people in the data who are recognised as members.
	TruePositive float64 `json:"true_positive"`
	Accountant   string  `json:"by"` // name of the accountant whose ε proves this
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
