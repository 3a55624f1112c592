package gdp

import (
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/integrate/quad"

	"proactivedp/dp"
	"proactivedp/internal/root"
)

// Largest and MinDelta are the limits of the arguments of [Epsilon] and [Mu]. The limits themselves are allowed.
const (
	Largest  = 1e150  // the largest μ and ε, whose squares stay in the range of float64
	MinDelta = 1e-300 // the least δ, still a normal float64; δ must be below 1
)

// LeastExact is the smallest result of [Delta] that has its full accuracy: the least normal float64. A smaller result
// has few digits and may be 0, although the true δ is never 0 for μ > 0. Use [LogDelta] then.
const LeastExact = 0x1p-1022

// Delta returns the δ of a μ-GDP release at ε: the least δ such that every such release is (ε, δ)-differentially
// private. It is
//
//	δ = Φ(-ε/μ + μ/2) - e^ε·Φ(-ε/μ - μ/2)
//
// where Φ is the standard normal distribution function (Dong, Roth, Su 2022, Corollary 2.13; Balle, Wang, "Improving
// the Gaussian mechanism", ICML 2018, Theorem 8). The relative error is at most 1e-12 if δ is a normal float64. μ and
// ε must not be negative; +Inf is allowed. For other arguments the result is 1, which holds for every release.
func Delta(mu, eps float64) float64 { return math.Exp(LogDelta(mu, eps)) }

// LogDelta returns ln δ for the δ that [Delta] returns. Use it if δ is too small for float64. The result is -Inf for
// μ = 0, where δ is 0, and also if ln δ itself is below the range of float64.
func LogDelta(mu, eps float64) float64 {
	switch {
	case !(mu >= 0 && eps >= 0), math.IsInf(mu, 1):
		return 0
	case mu == 0:
		return math.Inf(-1)
	}
	// a = ε/μ - μ/2 and b = ε/μ + μ/2 with one rounding of the numerator. As
	// φ(a) = e^ε·φ(b), δ = φ(a)·(R(a) - R(b)) with the Mills ratio R.
	a, b := math.FMA(-mu/2, mu, eps)/mu, math.FMA(mu/2, mu, eps)/mu
	if a < -2 { // δ > 0.95, and R(a) may overflow
		return math.Log(Tail(a) - math.Exp(logDensity(a))*mills(b))
	}
	ra, rb := mills(a), mills(b)
	difference := ra - rb
	if rb > ra/2 { // the difference would cancel, but the integral of -R' > 0 does not
		difference = mu * quad.Fixed(func(t float64) float64 {
			return millsSlope(eps/mu + mu*t)
		}, -0.5, 0.5, quadratureNodes, quad.Legendre{}, 0)
	}
	if difference == 0 {
		return math.Inf(-1)
	}
	return logDensity(a) + math.Log(difference)
}

// quadratureNodes is enough for full accuracy of R(a) - R(b) if R(b) > R(a)/2: then b < 2a or b - a
// < 2, and R' is smooth in between.
const quadratureNodes = 12

// Epsilon returns the ε of a μ-GDP release at δ: the smallest ε ≥ 0 such that every such release is (ε,
// δ)-differentially private. It is rounded up so that LogDelta(μ, ε) ≤ ln δ. μ must be in [0, Largest] and δ in
// [MinDelta, 1).
func Epsilon(mu, delta float64) (float64, error) {
	if err := errors.Join(dp.CheckRange("mu", mu, 0, Largest), dp.CheckDelta(delta, MinDelta)); err != nil {
		return 0, err
	}
	l := math.Log(delta)
	if LogDelta(mu, 0) <= l {
		return 0, nil
	}
	excess := func(eps float64) float64 { return LogDelta(mu, eps) - l }
	// As δ < P(Z > a), the ε at which that tail is δ is too large.
	hi := mu * (TailQuantile(delta) + mu/2) * (1 + 1e-12)
	eps, err := root.Find(excess, 0, hi, 1e-15)
	if err != nil {
		return 0, fmt.Errorf("epsilon of mu = %v at delta = %v: %w", mu, delta, err)
	}
	for up := ulp; excess(eps) > 0; up *= 2 {
		eps *= 1 + up
	}
	return eps, nil
}

// Mu is the inverse of [Epsilon]: it returns the largest μ such that every μ-GDP release is (ε, δ)-differentially
// private. It is rounded down so that LogDelta(μ, ε) ≤ ln δ. Use it to find the noise for a budget: one round on all
// records with σ ≥ 1/μ meets the budget under add-or-remove adjacency. ε must be in [0, Largest] and δ in [MinDelta,
// 1).
func Mu(eps, delta float64) (float64, error) {
	if err := errors.Join(dp.CheckRange("epsilon", eps, 0, Largest), dp.CheckDelta(delta, MinDelta)); err != nil {
		return 0, err
	}
	l, z := math.Log(delta), TailQuantile(delta)
	excess := func(mu float64) float64 { return LogDelta(mu, eps) - l }
	// As δ < P(Z > ε/μ - μ/2), μ is beyond where that tail is δ …
	r := math.Sqrt(z*z + 2*eps)
	least := r - z
	if z > 0 { // the same without cancellation
		least = 2 * eps / (r + z)
	}
	// … and as δ ≤ δ(0) < μ/√(2π), beyond δ√(2π).
	least = max(least, math.Sqrt(2*math.Pi)*delta)
	lo, hi, err := root.Bracket(excess, least*(1-1e-12), least*2)
	if err != nil {
		return 0, fmt.Errorf("mu of epsilon = %v, delta = %v: %w", eps, delta, err)
	}
	mu, err := root.Find(excess, lo, hi, 1e-15)
	if err != nil {
		return 0, fmt.Errorf("mu of epsilon = %v, delta = %v: %w", eps, delta, err)
	}
	for down := ulp; excess(mu) > 0; down *= 2 {
		mu *= 1 - down
	}
	return mu, nil
}

const ulp = 0x1p-52
