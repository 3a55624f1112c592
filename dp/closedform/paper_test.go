package closedform

import (
	"math"
	"math/rand/v2"
	"testing"
)

// Steps of the paper that are plain algebra, at random values. Each is named by its place there. Where the paper
// slips, the corrected step is tested, and that the printed one differs.
func TestAlgebraOfThePaper(t *testing.T) {
	r := rand.New(rand.NewPCG(42, 1))
	same := func(what string, a, b float64) {
		t.Helper()
		if !(math.Abs(a-b) <= 1e-9*(math.Abs(a)+math.Abs(b))) {
			t.Errorf("%s: %v and %v", what, a, b)
		}
	}
	for range 200 {
		eps, delta := logUniform(r, 1e-3, 10), logUniform(r, 1e-12, 0.1)
		n, k, theta, gamma := logUniform(r, 1e3, 1e7), logUniform(r, 1, 100), logUniform(r, 1, 5), logUniform(r, 2, 10)
		rounds, l := logUniform(r, 10, 1e6), math.Log(1/delta)
		sigma, s := must[float64](t)(Sigma(eps, delta)), k*n/rounds
		if sigma <= math.Sqrt2 {
			t.Errorf("σ_eq = %v, must be above √2 > 216/215 (boundsigma)", sigma)
		}
		// Section 3: Abadi's condition and noise by z = (s/N)√(T/ε), and (upT).
		z := s / n * math.Sqrt(rounds/eps)
		c1 := eps / (rounds * (s / n) * (s / n)) // the condition at equality
		same("(eq:originaleps)", 1/math.Sqrt(c1), z)
		same("(interAbadi1)", s/n*math.Sqrt(rounds*l)/eps, z*math.Sqrt(l/eps))
		same("(upT)", c1*k*k/eps, rounds)
		// Footnote of Theorem simpleF: T ≥ max{eθσ, θ/h(σ)}k is (treq1), and (minT) is (treq3).
		same("(treq1)", max(math.E*theta*sigma, theta/hOf(sigma))*k, rounds*s/(gOf(sigma)*n/theta))
		same("(minT)", gamma*theta*theta*k*k/eps, rounds*gamma*theta*theta*k*s/n/eps)
		// Proof of Main: (sigT) at equality is (minT) at equality; the second remark's T ≤ (ε/γθ²)(N/s̄)².
		least := gamma * theta * theta * k * k / eps
		same("(sigT)", math.Sqrt(least)/k*math.Sqrt(2*(eps+l)/(gamma*theta*theta)), sigma)
		mean := k * n / least
		same("footnote on reuse", eps/(gamma*theta*theta)*(n/mean)*(n/mean), least)
		// (expr): r₀ = ασ in 1/(1-u₀); the paper prints (1-√α)² for 1-α-2√α, and α < 1 for α < 3-2√2.
		alpha := r.Float64() * (3 - 2*math.Sqrt2)
		r0 := alpha * sigma
		u0 := 2 * math.Sqrt(r0*sigma) / (sigma - r0)
		right, printed := (1-alpha)/(1-alpha-2*math.Sqrt(alpha)), (1-alpha)/math.Pow(1-math.Sqrt(alpha), 2)
		same("(expr)", 1/(1-u0), right)
		if !(printed < right) {
			t.Errorf("(expr) at α = %v: printed %v, corrected %v", alpha, printed, right)
		}
		if over := 2 * math.Sqrt(1.001*0.1715729) / (1 - 1.001*0.1715729); over < 1 {
			t.Errorf("(req2): u₀ = %v < 1 above α = 3-2√2", over)
		}
		// (terms): the second and the third summand have the numerator 2 + …, where 1 + … is printed.
		q, power := logUniform(r, 1e-4, 0.5), 3+math.Floor(5*r.Float64())
		up := math.Exp((power*power - power) / (2 * sigma * sigma))
		sum := math.Pow(q/(1-q)/(sigma*sigma), power) +
			math.Pow(2*q, power)*up*math.Pow(power, power)/(2*math.Pow(1-q, power-1)*math.Pow(sigma, 2*power))
		numerator := sum * 2 * math.Pow((1-q)*sigma*sigma/q, power)
		same("(terms)", numerator, 2+(1-q)*math.Pow(2*power, power)*up)
	}
	// γ = 2 + (2 + 2⁴(σ + e³/σ²)e^{3/σ²})ᾱ + O(ᾱ^{3/2}), by both forms.
	for _, form := range []Form{Corrected, Printed} {
		for _, sigma := range []float64{3, 20} {
			slope := 2 + 16*(sigma+math.Exp(3)/(sigma*sigma))*math.Exp(3/(sigma*sigma))
			const small = 1e-10
			near(t, "slope of γ / predicted", (must[float64](t)(RHS(form, sigma, small))-2)/small/slope, 1, 1e-3)
		}
	}
	// ε falls as σ grows, so less noise cannot mend an ε that is too large (Section 3.3, last paragraph but one).
	if a, b := must[float64](t)(Epsilon(5, 1e-5)), must[float64](t)(Epsilon(6, 1e-5)); !(a > b) {
		t.Errorf("ε = %v at σ = 5, %v at σ = 6", a, b)
	}
	// Remark "Choosing ε": at ε = 1/N and δ = 1/N, σ is Θ(√(N ln N)), here √2 of it.
	near(t, "σ/√(N ln N)", must[float64](t)(Sigma(1e-8, 1e-8))/math.Sqrt(1e8*math.Log(1e8)), math.Sqrt2, 1e-6)
	// γ of more noise can be smaller or larger: at ε = 4, k = 5, δ = 1e-4 it falls from σ_eq to 1.5σ_eq. The
	// theorem takes it at σ_eq.
	sigma := must[float64](t)(Sigma(4, 1e-4))
	near(t, "γ at σ_eq", must[float64](t)(GammaAt(Printed, sigma, 4./5)), 16.09, 0.005)
	near(t, "γ at 1.5σ_eq", must[float64](t)(GammaAt(Printed, 1.5*sigma, 4./5)), 13.37, 0.005)
	// The third comparison, ε_target = 0.5253, is outside Theorem Main, on which its calculator says it is based.
	near(t, "ε_target of the third comparison", must[float64](t)(Epsilon(6.572, 1./50000)), 0.5253, 5e-5)
}
