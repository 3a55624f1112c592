package audit

import (
	"math"
	"slices"

	"proactivedp/data"
)

// statistic is a number that the adversary makes of a view; it is larger with
// the canary than without, if it tells anything.
type statistic struct {
	name string
	of   func(s setting, v *view) float64
}

// likelihood is the logarithm of the likelihood ratio of the mechanism that is
// claimed, the best test there is of it (Neyman and Pearson): of each release of
// a client that holds the canary, (1-q)N(0, σ²) + qN(1, σ²) over N(0, σ²).
var likelihood = statistic{"likelihood-ratio", func(s setting, v *view) float64 {
	holders := s.clients
	if s.partition == data.Shard {
		holders = 1
	}
	q, total := s.rate(), 0.0
	for _, x := range v.along[:holders*s.rounds] {
		one := float64(2*x-1) / (2 * s.sigma * s.sigma)
		if q < 1 {
			one = math.Log1p(q * math.Expm1(one))
		}
		total += one
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
