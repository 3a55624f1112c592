package tradeoff

import "math"

// Guarantee is (ε, δ)-differential privacy of a release, with ε ≥ 0 and δ in [0, 1]. [Guarantee.At] is its trade-off
// function.
type Guarantee struct {
	Epsilon float64 `json:"epsilon"`
	Delta   float64 `json:"delta"`
}

// At returns the trade-off function of (ε, δ)-differential privacy at type I error α (an attacker's false-positive
// rate) in [0, 1]: the least type II error (false-negative rate) that the guarantee leaves the attacker. It is max{0,
// 1-δ-e^ε·α, e^{-ε}(1-δ-α)} (Dong, Roth, Su 2022, Proposition 2.5). A release has the guarantee if and only if its
// trade-off curve is nowhere below this one.
func (g Guarantee) At(alpha float64) float64 {
	if !(g.Epsilon >= 0 && g.Delta >= 0 && g.Delta <= 1 && alpha >= 0 && alpha <= 1) {
		return 0
	}
	steep := min(math.Exp(g.Epsilon), math.MaxFloat64) // times α = 0 is 0
	return max(0, 1-g.Delta-steep*alpha, (1-g.Delta-alpha)*math.Exp(-g.Epsilon))
}

// MaxGuarantees is the largest number of guarantees (ε, δ) that [Paper.AtRounds] and [Paper.ForAllRounds] return. It is
// also the largest number of ε values in a [Profile] (its field Epsilons).
const MaxGuarantees = 1 << 16

// Guarantees is a list of (ε, δ) pairs that all hold for the same release. Together they give a better trade-off
// curve than each by itself, see [Guarantees.At].
type Guarantees []Guarantee

// At returns the trade-off function of all guarantees together at type I error α: the largest value of
// [Guarantee.At]. All guarantees hold for the same release, so its true curve is nowhere below this. The result is 0
// if gs is empty. If gs has the least δ for every ε ≥ 0, At is exactly the trade-off curve of the release (Dong,
// Roth, Su 2022, Proposition 2.12).
func (gs Guarantees) At(alpha float64) float64 {
	best := 0.0
	for _, g := range gs {
		best = max(best, g.At(alpha))
	}
	return best
}
