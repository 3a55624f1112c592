package pld

import (
	"math"
	"math/rand/v2"
	"testing"

	"proactivedp/dp"
	"proactivedp/dp/gdp"
	"proactivedp/internal/testkit"
)

// jumps is δ(ε) of T rounds at so little noise that a release shows whether the record was in the
// sample: n of them, binomial, are then one Gaussian mechanism with μ² = n/σ², at the loss that
// remains when the certain n·log q + (T-n)·log(1-q) of the samples is taken off; of fixed size σ
// is half as much, and a round without the record has no loss. What is left out are rounds that
// do not show it, a share e^(-1/(8σ²)).
func jumps(sampling dp.Sampling, q, sigma float64, rounds int, eps float64) float64 {
	stay := math.Log1p(-q)
	if sampling == dp.FixedSize {
		sigma, stay = sigma/2, 0
	}
	all, delta := float64(rounds), 0.0
	choose, _ := math.Lgamma(all + 1)
	for n := 1.0; n <= all && n <= all*q+60*math.Sqrt(all*q)+100; n++ {
		used, _ := math.Lgamma(n + 1)
		left, _ := math.Lgamma(all - n + 1)
		weight := math.Exp(choose - used - left + n*math.Log(q) + (all-n)*math.Log1p(-q))
		delta += weight * gaussian(math.Sqrt(n)/sigma, eps-n*math.Log(q)-(all-n)*stay)
	}
	if rest := eps - all*stay; rest < 0 { // no round shows it
		delta += math.Exp(all*math.Log1p(-q)) * -math.Expm1(rest)
	}
	return delta
}

// gaussian is δ of a Gaussian mechanism, for ε < 0, too: δ(-ε) = 1 - e^(-ε)·(1 - δ(ε)).
func gaussian(mu, eps float64) float64 {
	if eps < 0 {
		return 1 - math.Exp(eps)*(1-gdp.Delta(mu, -eps))
	}
	return gdp.Delta(mu, eps)
}

// Rounds of which each shows all it knows of a record, which δ is the chance of, have the δ that is
// counted by hand: losses of hundreds, a few or thousands of them, down to the smallest δ.
func TestRoundsThatShowTheirSamples(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	answered := 0
	settings := 8 * testkit.Sweeps(t)
	for range settings {
		sampling, adjacency := dp.Poisson, dp.AddOrRemove
		sigma := 0.05 + 0.015*r.Float64()
		if r.IntN(2) == 0 {
			sampling, adjacency, sigma = dp.FixedSize, dp.ReplaceOne, 2*sigma
		}
		q, rounds, delta := logUniform(r, 1e-9, 0.1), int(logUniform(r, 2, 1e5)), logUniform(r, 1e-60, 0.1)
		e := dp.Event{Sampling: sampling, Adjacency: adjacency, NoiseMultiplier: sigma, Rate: q, Count: rounds}
		b := epsilon(t, Accountant{}, delta, e)
		if math.IsInf(b.EpsilonUpper, 1) || b.EpsilonUpper == 0 {
			continue
		}
		answered++
		const tolerance = 1e-8
		if truth := jumps(sampling, q, sigma, rounds, b.EpsilonUpper); truth > delta*(1+tolerance) {
			t.Errorf("%+v, δ = %v: ε ≤ %v, where δ is %v", e, delta, b.EpsilonUpper, truth)
		}
		if b.Kind == dp.Upper {
			b.EpsilonLower = b.EpsilonUpper * (1 - 2e-3) // what is promised of the bound's tightness
		}
		if truth := jumps(sampling, q, sigma, rounds, b.EpsilonLower); truth < delta*(1-tolerance) {
			t.Errorf("%+v, δ = %v: ε ≥ %v, where δ is %v", e, delta, b.EpsilonLower, truth)
		}
	}
	if answered < settings/2 {
		t.Errorf("%d answers", answered)
	}
}
