package audit

import (
	"math"

	"proactivedp/internal/root"
)

// pValue bounds the probability of at least this many right guesses for every (ε, δ)-differentially
// private mechanism (Steinke, Nasr, Jagielski, 2023, Corollary 5.4). If δ = 0, a guess is right with a
// probability of at most p = e^ε/(1+e^ε), given all others. The number of right guesses is therefore
// stochastically at most B ~ Bin(guesses, p). If δ > 0, the bound increases by
//
//	2·canaries·δ·max over i ≥ 1 of P[right − i ≤ B < right]/i.
func (g OneRun) pValue(epsilon, delta float64) float64 {
	p := 1 / (1 + math.Exp(-epsilon))
	below, worst := 0.0, 0.0
	for i := 1; i <= g.Right; i++ {
		below += binomial(g.Right-i, g.Guesses, p)
		worst = max(worst, below/float64(i))
	}
	tail := 0.0
	for k := g.Guesses; k >= g.Right; k-- {
		tail += binomial(k, g.Guesses, p)
	}
	return min(1, tail+2*float64(g.Canaries)*delta*worst)
}

// binomial returns P[Bin(n, p) = k] for p in [1/2, 1].
func binomial(k, n int, p float64) float64 {
	if p == 1 {
		if k == n {
			return 1
		}
		return 0
	}
	choices, _ := math.Lgamma(float64(n + 1))
	in, _ := math.Lgamma(float64(k + 1))
	out, _ := math.Lgamma(float64(n - k + 1))
	return math.Exp(choices - in - out + float64(k)*math.Log(p) + float64(n-k)*math.Log1p(-p))
}

// epsilon returns the largest ε that this many right guesses refute at the level, or 0 if there is
// none.
func (g OneRun) epsilon(delta, level float64) (float64, error) {
	const largest, tolerance = 40, 1e-9 // e^40/(1+e^40) is 1 in float64, so it refutes nothing
	excess := func(epsilon float64) float64 { return g.pValue(epsilon, delta) - level }
	if excess(0) >= 0 {
		return 0, nil
	}
	e, err := root.Find(excess, 0, largest, tolerance)
	if err != nil {
		return 0, err
	}
	return e * (1 - 2*tolerance), nil // on the side where ε is refuted
}
