package audit

import (
	"math"
	"slices"
)

// statistic is a number that the adversary makes of a view; it is larger with
// the canary than without, if it tells anything.
type statistic struct {
	name string
	of   func(s setting, v *view) float64
}

// likelihood is the logarithm of the likelihood ratio of the mechanism that is
// claimed, the best test there is of it (Neyman and Pearson), where the other
// records are orthogonal to the canary: of each release of a client that holds it,
// (1-q)N(0, σ²) + qN(1, σ²) over N(0, σ²), or, if the canary is replaced by its
// opposite, over (1-q)N(0, σ²) + qN(-1, σ²).
var likelihood = statistic{"likelihood-ratio", func(s setting, v *view) float64 {
	mixture := func(x, q float64) float64 {
		one := float64(2*x-1) / (2 * s.sigma * s.sigma)
		if q == 1 {
			return one
		}
		return math.Log1p(q * math.Expm1(one))
	}
	total := 0.0
	for i, x := range v.along[:s.holders()*s.rounds] {
		total += mixture(x, v.rate[i])
		if s.neighbour != nil {
			total -= mixture(-x, v.rate[i])
		}
	}
	return total
}}

// spread is the largest distance between two releases of one client, along the
// canary's direction: noise that is used again cancels in it.
var spread = statistic{"spread", func(s setting, v *view) float64 {
	widest := 0.0
	for one := range slices.Chunk(v.along, s.rounds) {
		widest = max(widest, slices.Max(one)-slices.Min(one))
	}
	return widest
}}

// apart is the largest distance between the releases of two clients in one round,
// along the canary's direction: noise that they share cancels in it.
var apart = statistic{"distance-of-clients", func(s setting, v *view) float64 {
	widest := 0.0
	for i, x := range v.along[s.rounds:] {
		widest = max(widest, math.Abs(x-v.along[i%s.rounds]))
	}
	return widest
}}

// loud counts the releases that are not zero in all places. A release is zero if
// it is a sum of no gradient and has no noise.
var loud = statistic{"releases-not-zero", func(_ setting, v *view) float64 {
	count := 0
	for _, silent := range v.silent {
		if !silent {
			count++
		}
	}
	return float64(count)
}}
