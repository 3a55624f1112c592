//go:build !js

package pld

import (
	"math"
	"slices"

	"proactivedp/dp"
)

// laplaceCells is the number of equal cells into which the losses of Laplace noise are divided.
const laplaceCells = 2000

// withOthers adds the other releases to all queries for the ends of an answer. If least is nil, most[0]
// also gives the lower end of the rounds.
func (q query) withOthers(least [][]query, most []query) ([][]query, []query, error) {
	given := slices.ContainsFunc(q.others, func(e dp.Event) bool { return e.Other != dp.GaussianNoise })
	switch {
	case least != nil || !given: // Gaussian noise has the same cost from below and above
	case q.upperEnd:
		least = [][]query{nil}
	default:
		least = [][]query{{most[0]}}
	}
	var below, above []spec
	for _, e := range q.others {
		u := spec{q: 1, sigma: e.NoiseMultiplier, count: float64(e.Count)}
		l := u
		if e.Other != dp.GaussianNoise {
			l.given, u.given = otherMeasures(e)
		}
		above = append(above, u)
		// Of these only the cost is known. They may leak less.
		if known := e.Other != dp.PureDP && e.Other != dp.ApproximateDP; known {
			below = append(below, l)
		}
	}
	join := func(to query, specs []spec) query {
		to.specs = slices.Clip(to.specs)
		for _, s := range specs {
			if s.given == nil && to.directions[0] > add { // in which rounds move by 2C, see newRelease
				s.sigma *= 2
			}
			to.specs = append(to.specs, s)
		}
		return to
	}
	for i := range most {
		most[i] = join(most[i], above)
	}
	for i, attacks := range least {
		if q.sampling == dp.Unsampled && len(q.specs) == 0 && len(below) == 0 {
			least[i] = nil // no release is left to attack
		}
		for j := range attacks {
			attacks[j] = join(attacks[j], below)
		}
	}
	return least, most, nil
}

// oneRelease returns the closed form of a single release with Laplace noise or a randomized response, or nil.
// Their δ(ε) follow from the losses in [laplace] and [otherMeasures].
func (q query) oneRelease() *exactForm {
	if q.sampling != dp.Unsampled || len(q.specs) > 0 || len(q.others) != 1 || q.others[0].Count != 1 {
		return nil
	}
	switch e := q.others[0]; e.Other {
	case dp.LaplaceNoise:
		b := e.NoiseMultiplier
		return &exactForm{
			func(eps float64) float64 { return max(0, -math.Expm1(math.FMA(eps, b, -1)/b/2)) },
			func(delta float64) (float64, error) { return max(0, 1/b+2*math.Log1p(-delta)), nil },
		}
	case dp.RandomizedResponse:
		whole := 1 + math.Exp(-e.Epsilon)
		return &exactForm{
			func(eps float64) float64 { return max(0, -math.Expm1(eps-e.Epsilon)/whole) },
			func(delta float64) (float64, error) {
				return max(0, e.Epsilon+math.Log1p(-min(1, delta*whole))), nil
			},
		}
	}
	return nil
}

// otherMeasures returns the measures that bound a release from below and above. Both directions of each
// are equal. Randomized response with ε has the losses ±ε, and its pair dominates that of every ε-private
// mechanism; a δ adds an infinite loss (Kairouz, Oh, Viswanath, "The composition theorem for differential
// privacy", ICML 2015). The infinite loss is only in the upper one.
func otherMeasures(e dp.Event) (below, above *measure) {
	if e.Other == dp.LaplaceNoise {
		return laplace(1 / e.NoiseMultiplier)
	}
	u := &rule{}
	up, down := -math.Log1p(math.Exp(-e.Epsilon)), -math.Log1p(math.Exp(e.Epsilon))
	rest := math.Log1p(-e.Delta)
	wrong := 32 + 8*e.Epsilon
	u.add(e.Epsilon, up+rest, 0, wrong)
	u.add(-e.Epsilon, down+rest, 0, wrong)
	above = &measure{of: [2]*rule{u, u}, variance: e.Epsilon * e.Epsilon, infinite: [2]float64{e.Delta, e.Delta}}
	return &measure{of: above.of, variance: above.variance}, above
}

// laplace returns the measures of Laplace noise with the largest loss eps = 1/b, for the pair of noise
// around 1 and noise around 0 in units of the sensitivity. Under Q, the loss is -eps with probability
// 1/2 and eps with probability e^(-eps)/2, and it has the density c·e^(-y/2) in between, c =
// e^(-eps/2)/4; under P, the density is c·e^(y/2). A cell [a, a+h] has the probabilities
//
//	2c·e^(-a/2)·(1-e^(-h/2)) under Q and 2c·e^(a/2)·(e^(h/2)-1) under P.
//
// Above, a cell's probability under Q goes to both its ends such that the mean of e^y stays ("connect the
// dots", Doroshenko et al., PETS 2022): 8c·e^(-a/2)·sinh²(h/4)/(e^h-1) to the upper end, and
// 2c·e^(-a/2)·(e^(h/2)-1)²/(e^h-1) to the lower one. Below, a cell is one value, whose loss is the logarithm
// of the ratio of its probabilities, a+h/2. All terms are positive, so no digits are lost.
func laplace(eps float64) (below, above *measure) {
	h := 2 * eps / laplaceCells
	logC := -eps/2 - math.Log(4)
	at := func(i int) float64 { return -eps + 2*eps*float64(i)/laplaceCells }
	wrong := 64 + 16*eps
	low, high := &rule{}, &rule{}
	logUp := math.Log(8) + 2*math.Log(math.Sinh(h/4)) - math.Log(math.Expm1(h))
	logDown := math.Log(2) + 2*math.Log(math.Expm1(h/2)) - math.Log(math.Expm1(h))
	for i := range laplaceCells + 1 {
		y := at(i)
		var q float64 // of the node, under Q
		if i > 0 {
			q += math.Exp(logC - at(i-1)/2 + logUp)
		}
		if i < laplaceCells {
			q += math.Exp(logC - y/2 + logDown)
		}
		switch i {
		case 0:
			q += 0.5
		case laplaceCells:
			q += math.Exp(-eps) / 2
		}
		high.add(y, math.Log(q)+y, 8*(eps+1), wrong)
		if i < laplaceCells {
			low.add(y+h/2, math.Log(2)+logC+y/2+math.Log(math.Expm1(h/2)), 8*(eps+1), wrong)
		}
	}
	low.add(-eps, -eps-math.Ln2, 0, wrong)
	low.add(eps, -math.Ln2, 0, wrong)
	v := eps * eps
	return &measure{of: [2]*rule{low, low}, variance: v}, &measure{of: [2]*rule{high, high}, variance: v}
}
