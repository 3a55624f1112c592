package papertables

import (
	"fmt"
	"math"

	"proactivedp/dp/closedform"
	"proactivedp/dp/gdp"
	"proactivedp/internal/paper"
)

// The procedures of the paper's appendices "Comparison to the f-DP Accountant" and "DP Calculator", as
// printed, with the printed γ. They are for comparison, and their results are not a guarantee.

// maxUpdates is larger than the number of updates of γ in any row of the tables.
const maxUpdates = 1000

// loop updates γ, starting from 2, until its stopping rule applies. It returns the final γ.
type loop func(update func(gamma float64) (float64, error)) (float64, error)

// signedLoop updates γ until γ_new - γ ≤ 0.0001γ, as both appendices of the paper describe, without an absolute
// value. If the first update is too large and the second is smaller than the first, the loop stops and returns the
// first.
func signedLoop(update func(gamma float64) (float64, error)) (float64, error) {
	gamma := 2.0
	for range maxUpdates {
		next, err := update(gamma)
		if err != nil {
			return 0, fmt.Errorf("update of gamma = %v: %w", gamma, err)
		}
		if next-gamma <= 0.0001*gamma {
			return gamma, nil
		}
		gamma = next
	}
	return 0, fmt.Errorf("gamma has not settled in %d updates", maxUpdates)
}

// oneUpdate gives the same result as signedLoop in every row of the tables except the last one for N =
// 50000. For that row, signedLoop would continue until ᾱ is above its pole.
func oneUpdate(update func(gamma float64) (float64, error)) (float64, error) {
	return update(2)
}

// noise is a relation between σ and ε, in both directions, for L = ln(1/δ).
type noise struct {
	name    string
	sigma   func(eps, l float64) float64
	epsilon func(sigma, l float64) float64
}

// treq4 is the theorem's σ = √(2(ε+L)/ε). Most printed numbers come from withoutEpsilon, σ = √(2L/ε).
var (
	treq4 = noise{
		name:    "σ = √(2(ε+L)/ε)",
		sigma:   func(eps, l float64) float64 { return math.Sqrt(2 * (eps + l) / eps) },
		epsilon: func(sigma, l float64) float64 { return 2 * l / (sigma*sigma - 2) },
	}
	withoutEpsilon = noise{
		name:    "σ = √(2L/ε)",
		sigma:   func(eps, l float64) float64 { return math.Sqrt(2 * l / eps) },
		epsilon: func(sigma, l float64) float64 { return 2 * l / (sigma * sigma) },
	}
)

// calculatorBySize is the calculator of "DP Calculator" for one leg of constant size s. It computes ε
// from (treq3) with equality, then σ, then γ, until the loop stops.
func calculatorBySize(p paper.Case, s float64, relation noise, until loop) (eps, sigma float64, err error) {
	l := -math.Log(p.Delta())
	rate := s / float64(p.N) // ᾱ = εN/(γK) equals this rate for this ε
	epsilon := func(gamma float64) float64 { return gamma * rate * p.Epochs() }
	gamma, err := until(func(gamma float64) (float64, error) {
		return closedform.RHS(closedform.Printed, relation.sigma(epsilon(gamma), l), rate)
	})
	if err != nil {
		return 0, 0, err
	}
	return epsilon(gamma), relation.sigma(epsilon(gamma), l), nil
}

// noiseRun is the result of "Comparison to the f-DP Accountant" for one σ. T and s are real numbers,
// because the printed digits require it.
type noiseRun struct {
	epsilon                  float64 // ε_target
	gamma, gammaNext         float64 // the final γ, and the update that stopped the loop
	size, sizeAsym           float64 // s_max, s_max_asym
	roundsAsym               float64 // T_min_asym = k²/(2ε)
	fdp, fdpAsym, fdpQuarter float64 // ε_f-DP at T_min, at T_min_asym and at k²/(4ε)
}

// calculatorByNoise is the calculator of "Comparison to the f-DP Accountant".
func calculatorByNoise(p paper.Case, sigma float64, relation noise) (noiseRun, error) {
	k := p.Epochs()
	r := noiseRun{epsilon: relation.epsilon(sigma, -math.Log(p.Delta()))}
	update := func(gamma float64) (float64, error) {
		return closedform.RHS(closedform.Printed, sigma, r.epsilon/(gamma*k))
	}
	var err error
	if r.gamma, err = signedLoop(update); err != nil {
		return noiseRun{}, err
	}
	if r.gammaNext, err = update(r.gamma); err != nil {
		return noiseRun{}, err
	}
	rounds := r.gamma * k * k / r.epsilon
	r.roundsAsym = k * k / (2 * r.epsilon)
	r.size, r.sizeAsym = float64(p.GradComps)/rounds, float64(p.GradComps)/r.roundsAsym
	for _, at := range []struct {
		epsilon *float64
		rounds  float64
	}{{&r.fdp, rounds}, {&r.fdpAsym, r.roundsAsym}, {&r.fdpQuarter, r.roundsAsym / 2}} {
		if *at.epsilon, err = uniformCLT(p, sigma, at.rounds); err != nil {
			return noiseRun{}, err
		}
	}
	return r, nil
}

// uniformCLT returns the paper's ε_f-DP: the central limit theorem of f-DP for uniform sampling (Bu,
// Dong, Long and Su 2020), for K computations in a real number of rounds.
func uniformCLT(p paper.Case, sigma, rounds float64) (float64, error) {
	mu, err := gdp.MuUniform(p.Epochs()/rounds, sigma, rounds)
	if err != nil {
		return 0, err
	}
	return gdp.Epsilon(mu, p.Delta())
}
