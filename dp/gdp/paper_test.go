package gdp

import (
	"math"
	"testing"
)

// Section "(ε,δ)-Differential Privacy" says that (ε, δ)-DP bounds the absolute loss by ε with probability 1-δ. A
// Gaussian mechanism is (ε, Delta(μ, ε))-DP, but its loss is above ε more often: δ is only a
// part of Tail(ε/μ-μ/2).
func TestLossIsAboveEpsilonMoreOftenThanDelta(t *testing.T) {
	for _, mu := range []float64{0.1, 1, 3} {
		for _, eps := range []float64{0.1, 1, 3} {
			if above, delta := Tail(eps/mu-mu/2), Delta(mu, eps); !(above > 1.05*delta) {
				t.Errorf("μ = %v: the loss is above %v with probability %v, δ = %v", mu, eps, above, delta)
			}
		}
	}
}

// Sections "Translation to (ε,δ)-DP" and "Asymptotic Tightness": τ⁻¹ = σ⁻¹ + O(σ⁻²); in the formula of τ the factor
// is c, and not the c/2 that is printed twice; as δ → 0 the least T is k²/ε, and not the k²/(2ε) that follows where
// √2 is lost.
func TestAsymptoticsOfThePaper(t *testing.T) {
	for _, sigma := range []float64{1e2, 1e3} {
		const q, rounds = 1e-3, 1e6 // c = 1
		if off := must(t)(MuUniform(q, sigma, rounds)) - 1/sigma; math.Abs(off) > 2/(sigma*sigma) {
			t.Errorf("τ⁻¹ at σ = %v is %v off 1/σ", sigma, off)
		}
	}
	const eps = 0.05
	for _, l := range []float64{200, 600} { // ln(1/δ)
		mu := must(t)(Mu(eps, math.Exp(-l)))
		// τ = c/μ, and c·√(2(ln(1/δ) + …))/ε; the O(ln ln(1/δ)) is small here.
		if ratio := 1 / mu / (math.Sqrt(2*(l+math.Log(eps))) / eps); math.Abs(ratio-1) > 0.05 {
			t.Errorf("ln(1/δ) = %v: τ is %v times the formula with c", l, ratio)
		}
		// T = a·k²/ε with σ of the theorem: c² = ε/a, so μ = √(ε/a)/σ; violated where that is above Mu.
		sigma := math.Sqrt(2 * (eps + l) / eps)
		least := eps / math.Pow(mu*sigma, 2)
		if !(0.9 < least && least < 1) {
			t.Errorf("ln(1/δ) = %v: the least T is %v·k²/ε, must be near 1, and above 1/2", l, least)
		}
	}
}
