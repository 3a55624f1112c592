package rdp

import (
	"errors"
	"math"

	"proactivedp/dp"
)

// Epsilon converts Rényi differential privacy of one order to (ε, δ). If the Rényi divergence of order alpha of a
// release is at most tau, the release is (ε, delta)-differentially private for the returned ε ≥ 0. With α = alpha, τ
// = tau and δ = delta it is
//
//	ε = τ + log(1 - 1/α) - log(δα)/(α-1)
//
// rounded up (Canonne, Kamath, Steinke, "The Discrete Gaussian for Differential Privacy", NeurIPS 2020, Proposition
// 12 of arXiv 2004.00010; Balle et al., "Hypothesis Testing Interpretations and Rényi Differential Privacy", AISTATS
// 2020). Each order gives a valid ε; [Accountant.Epsilon] finds the order with the least. α must be in (1, 1e10], tau
// at least 0 and δ in (0, 1).
func Epsilon(alpha, tau, delta float64) (float64, error) {
	if err := errors.Join(CheckOrder(alpha), dp.CheckNotNegative("divergence", tau),
		dp.CheckDelta(delta, 0)); err != nil {
		return 0, err
	}
	return epsilon(alpha, tau, delta), nil
}

func epsilon(alpha, tau, delta float64) float64 {
	a := alpha - 1
	gain, price := math.Log(a/alpha), -(math.Log(delta)+math.Log(alpha))/a
	if alpha > 2 {
		gain = math.Log1p(-1 / alpha)
	}
	return max(0, tau+gain+price+rounding*(tau+math.Abs(gain)+(math.Abs(math.Log(delta))+math.Log(alpha))/a))
}

// Delta converts Rényi differential privacy of one order to (ε, δ). If the Rényi divergence of order alpha of a
// release is at most tau, the release is (epsilon, δ)-differentially private for the returned δ in (0, 1]. With α =
// alpha, τ = tau and ε = epsilon it is
//
//	δ = e^((α-1)(τ-ε)) · (1 - 1/α)^(α-1) / α
//
// rounded up. If this is above 1, Delta returns 1. The sources are those of [Epsilon]. α must be in (1, 1e10], and
// tau and ε at least 0.
func Delta(alpha, tau, epsilon float64) (float64, error) {
	if err := errors.Join(CheckOrder(alpha), dp.CheckNotNegative("divergence", tau),
		dp.CheckNotNegative("epsilon", epsilon)); err != nil {
		return 0, err
	}
	return min(1, roundedExp(logDelta(alpha, tau, epsilon))), nil
}

func logDelta(alpha, tau, epsilon float64) float64 {
	a := alpha - 1
	gain := a * math.Log(a/alpha)
	if alpha > 2 {
		gain = a * math.Log1p(-1/alpha)
	}
	l := a*(tau-epsilon) + gain - math.Log(alpha) + rounding*(a*(tau+epsilon)+math.Abs(gain)+math.Log(alpha))
	switch {
	case l < math.Inf(1):
		return l
	case tau < epsilon/2: // (α-1)ε overflows, and log δ < -(α-1)ε/3 does too
		return math.Inf(-1)
	}
	return math.Inf(1) // the difference of such numbers is unknown
}

// rounding bounds the relative error of the terms of the conversions.
const rounding = 1e-14

// roundedExp is e^l, rounded up to a positive number.
func roundedExp(l float64) float64 {
	return max(math.Exp(l)*(1+margin), math.SmallestNonzeroFloat64)
}

// leastOfAll minimises f over all orders by golden-section search in log(α-1). It returns the best
// order and f there. f must have one valley. This holds for ε and for log δ: ε is a convex function
// of α divided by α-1, and log δ is convex, because (α-1)τ(α) and (α-1)log(α-1) - αlog(α) are.
func leastOfAll(f func(alpha float64) float64) (alpha, least float64) {
	const tolerance = 1e-6
	at := func(t float64) float64 { return f(1 + math.Exp(t)) }
	lo, hi := math.Log(minExcess), math.Log(maxExcess)
	section := 1 / math.Phi
	x, y := hi-section*(hi-lo), lo+section*(hi-lo)
	fx, fy := at(x), at(y)
	for hi-lo > tolerance {
		if fx <= fy {
			hi, y, fy = y, x, fx
			x = hi - section*(hi-lo)
			fx = at(x)
		} else {
			lo, x, fx = x, y, fy
			y = lo + section*(hi-lo)
			fy = at(y)
		}
	}
	if fx <= fy {
		return 1 + math.Exp(x), fx
	}
	return 1 + math.Exp(y), fy
}
