package plan

import (
	"math"

	"proactivedp/dp"
	"proactivedp/dp/gdp"
)

// limit is the central limit of many small rounds. Together they cost the same as one Gaussian release
// with
//
//	μ² = q²·T·(e^{1/σ²} - 1)
//
// (Bu, Dong, Long, Su 2020; see gdp.MuPoisson). It only provides starting points of searches.
type limit struct {
	mu     float64 // of one Gaussian release that meets the budget; 0 if there is none
	mu2    float64 // μ² that the budget allows
	factor float64 // one record changes a sum by at most factor·C
}

// limitOf returns the limit for the budget (eps, delta). If no Gaussian release has that budget, it
// uses μ = 1.
func limitOf(eps, delta float64, a dp.Adjacency) limit {
	l := limit{mu2: 1, factor: 1}
	if mu, err := gdp.Mu(eps, delta); err == nil {
		l.mu, l.mu2 = mu, mu*mu
	}
	if a == dp.ReplaceOne { // for other adjacencies 1 is good enough, because this is only a starting point
		l.factor = 2
	}
	return l
}

func (l limit) sigma(q, rounds float64) float64 {
	return l.factor / math.Sqrt(math.Log1p(l.mu2/(q*q*rounds)))
}

func (l limit) rate(sigma, rounds float64) float64 { return math.Sqrt(l.perRate(sigma) / rounds) }

func (l limit) rounds(sigma, q float64) float64 { return l.perRate(sigma) / (q * q) }

// rateOf returns the sample rate q at which k = q·T epochs meet the budget.
func (l limit) rateOf(sigma, k float64) float64 { return l.perRate(sigma) / k }

func (l limit) perRate(sigma float64) float64 {
	return l.mu2 / math.Expm1(l.factor*l.factor/(sigma*sigma))
}
