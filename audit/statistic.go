package audit

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// statistic is a number that the adversary computes from a view. If it is informative, it is larger
// with the canary than without.
type statistic struct {
	name string
	of   func(s setting, v *view) float64
}

// likelihood is the logarithm of the likelihood ratio of the claimed mechanism, which gives the most
// powerful test of it (Neyman and Pearson), if the other records are orthogonal to the canary. For each
// release of a client that holds the canary it is (1-q)N(0, σ²) + qN(1, σ²) over N(0, σ²). If the
// canary is replaced by its opposite, the denominator is (1-q)N(0, σ²) + qN(-1, σ²). For a person with K
// canaries it is ΣB_jN(j, σ²) over N(0, σ²), where B is the binomial distribution. For an epoch of t rounds of
// random allocation it is the mean over the rounds j of N(e_j, σ²I) over N(0, σ²I).
var likelihood = statistic{"likelihood-ratio", func(s setting, v *view) float64 {
	seen := v.along[:s.holders()*s.rounds]
	if s.batches > 0 {
		total := 0.0
		for epoch := range slices.Chunk(seen, s.batches) { // rounds are whole epochs
			total += meanExp(epoch, s.sigma)
		}
		return total
	}
	if s.group > 0 {
		total := 0.0
		for i, x := range seen {
			total += ofPerson(x, v.rate[i], s)
		}
		return total
	}
	mixture := func(x, q float64) float64 {
		one := float64(2*x-1) / (2 * s.sigma * s.sigma)
		if q == 1 {
			return one
		}
		return math.Log1p(q * math.Expm1(one))
	}
	total := 0.0
	for i, x := range seen {
		total += mixture(x, v.rate[i])
		if s.neighbour != nil {
			total -= mixture(-x, v.rate[i])
		}
	}
	return total
}}

// meanExp returns the logarithm of the mean of exp((2x−1)/(2σ²)) over the releases x of an epoch.
func meanExp(epoch []float64, sigma float64) float64 {
	total := 0.0
	for _, x := range epoch {
		total += math.Exp((2*x - 1) / (2 * sigma * sigma))
	}
	return math.Log(total / float64(len(epoch)))
}

// ofPerson returns the logarithm of ΣB_j·exp((2jx−j²)/(2σ²)) for j of the person's records at rate q.
func ofPerson(x, q float64, s setting) float64 {
	total := 0.0
	for j := range s.group + 1 {
		n := float64(j)
		b := distuv.Binomial{N: float64(s.group), P: q}.Prob(n)
		total += b * math.Exp((2*n*x-n*n)/(2*s.sigma*s.sigma))
	}
	return math.Log(total)
}

// spread is the largest distance between two releases of one client along the canary's direction. Noise
// that is used twice cancels in it.
var spread = statistic{"spread", func(s setting, v *view) float64 {
	widest := 0.0
	for one := range slices.Chunk(v.along, s.rounds) {
		widest = max(widest, slices.Max(one)-slices.Min(one))
	}
	return widest
}}

// apart is the largest distance between the releases of two clients in one round along the canary's
// direction. Noise that they share cancels in it.
var apart = statistic{"distance-of-clients", func(s setting, v *view) float64 {
	widest := 0.0
	for i, x := range v.along[s.rounds:] {
		widest = max(widest, math.Abs(x-v.along[i%s.rounds]))
	}
	return widest
}}

// loud counts the releases that are not entirely zero. A release is zero if its sample is empty and it
// has no noise.
var loud = statistic{"releases-not-zero", func(_ setting, v *view) float64 {
	count := 0
	for _, silent := range v.silent {
		if !silent {
			count++
		}
	}
	return float64(count)
}}
