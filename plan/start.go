package plan

import (
	"math"

	"proactivedp/dp"
	"proactivedp/dp/gdp"
)

// limit is the central limit of many small rounds: they cost what one Gaussian
// release does with
//
//	μ² = q²·T·(e^{1/σ²} - 1)
//
// (Bu, Dong, Long, Su 2020; see gdp.MuPoisson). It is where searches start, and
// no answer depends on it.
type limit struct {
	mu2    float64 // the μ² of the budget
	factor float64 // one record moves a sum by factor·C
}

// limitOf returns the limit for a budget, with the middle of the road for
// budgets that no Gaussian release has.
func limitOf(eps, delta float64, a dp.Adjacency) limit {
	mu, err := gdp.Mu(eps, delta)
	if err != nil {
		mu = 1
	}
	if a == dp.ReplaceOne { // no answer depends on it: for others it is a start like any
		return limit{mu * mu, 2}
	}
	return limit{mu * mu, 1}
}

func (l limit) sigma(q, rounds float64) float64 {
	return l.factor / math.Sqrt(math.Log1p(l.mu2/(q*q*rounds)))
}

func (l limit) rate(sigma, rounds float64) float64 { return math.Sqrt(l.perRate(sigma) / rounds) }

func (l limit) rounds(sigma, q float64) float64 { return l.perRate(sigma) / (q * q) }

// rateOf is the rate at which k epochs, q·T = k, meet the budget.
func (l limit) rateOf(sigma, k float64) float64 { return l.perRate(sigma) / k }

func (l limit) perRate(sigma float64) float64 {
	return l.mu2 / math.Expm1(l.factor*l.factor/(sigma*sigma))
}
