package closedform

import (
	"errors"
	"fmt"
	"math"

	"proactivedp/dp"
	"proactivedp/internal/root"
)

// Form says whether a formula is used as the paper prints it, or as corrected here.
//
// In Theorems Main and simpleF, the forms differ in the right-hand side that defines γ. The paper
// substitutes r₀ = ασ into 1/(1-u₀) with u₀ = 2√(r₀σ)/(σ-r₀), which gives (1-α)/(1-α-2√α). It
// prints (1-√α)² = 1-2√α+α instead of 1-α-2√α. The printed γ is smaller, by 0.2 to 1.4 % in the
// paper's settings. For Lemma lemthree and Theorem thm1 see [Moment].
//
// Both forms are sound: the error is only in the proof. With ᾱ = ε/(γk), and q_i the sample rate of
// round i, thm1 at r = 0 asks for two conditions only:
//
//   - Σq_i²/(1-q_i) ≤ ε/2. This follows from T ≥ γθ²k²/ε and any γ ≥ 2/(1-ᾱ): q_i ≤ θk/T ≤ ᾱ/θ, so
//     the sum is at most θk²/(T(1-ᾱ)) ≤ ε/(γ(1-ᾱ)).
//   - q_i ≤ 1/(eσ_eq). This is one of the two conditions of (treq1) in simpleF. In Main it follows from
//     (minK), (minT) and ε < ½.
type Form string

// These are the values of [Form]. A guarantee is claimed only with Corrected, whose γ is larger. Printed serves only
// to compare with the paper's numbers.
const (
	Corrected Form = "corrected"
	Printed   Form = "printed"
)

func (f Form) check() error {
	if f != Corrected && f != Printed {
		return fmt.Errorf("form = %q, must be %q or %q", string(f), Corrected, Printed)
	}
	return nil
}

// firstPole is the √ᾱ at which the denominator of the form's first term vanishes: 1-ᾱ-2√ᾱ at ᾱ =
// 3-2√2, or (1-√ᾱ)² at ᾱ = 1.
func (f Form) firstPole() float64 {
	if f == Printed {
		return 1
	}
	return math.Sqrt2 - 1
}

// curve is the function rhs(σ, ·) for one σ. Its arguments are a = √ᾱ and the distance d = pole -
// a. All denominators factor into d and terms that do not cancel, so the values are accurate up to
// the pole.
type curve struct {
	form     Form
	sigma    float64
	pole     float64 // the supremum of a: √h(σ), or the pole of the first term if that is less
	gap1     float64 // how far the first term's pole is above pole
	gap2     float64 // how far √h(σ) is above pole
	rootH    float64
	exponent float64 // e^{3/σ²}
}

func newCurve(form Form, sigma float64) curve {
	first, second := form.firstPole(), rootH(sigma)
	pole := min(first, second)
	return curve{
		form: form, sigma: sigma, pole: pole, gap1: first - pole, gap2: second - pole,
		rootH: second, exponent: math.Exp(3 / (sigma * sigma)),
	}
}

func (c *curve) rhs(a, d float64) float64 {
	one := 1 - c.pole + d                              // 1-√ᾱ
	all := one * (1 + a)                               // 1-ᾱ
	first := one * one                                 // (1-√ᾱ)²
	second := c.sigma * (c.gap2 + d) * (1/c.rootH + a) // σ(1-ᾱ)-2e√ᾱ
	if c.form == Corrected {
		first = (c.gap1 + d) * (math.Sqrt2 + 1 + a) // 1-ᾱ-2√ᾱ
	}
	const e3 = math.E * math.E * math.E
	return 2/all + 16*a*a/all*(c.sigma/first+e3/(c.sigma*second))*c.exponent
}

// MaxAlphaBar returns the upper limit of the argument ᾱ of [RHS], which is defined for 0 ≤ ᾱ < this limit. The limit
// is h(σ) (see H) for the inequality as printed, and min{h(σ), 3-2√2} for the corrected one. σ must be positive.
func MaxAlphaBar(form Form, sigma float64) (float64, error) {
	if err := errors.Join(form.check(), dp.CheckPositive("sigma", sigma)); err != nil {
		return 0, err
	}
	p := newCurve(form, sigma).pole
	return p * p, nil
}

// RHS returns the right-hand side of the inequality that defines the constant γ in Theorems Main and
// simpleF. With D = 1-ᾱ-2√ᾱ for Corrected and (1-√ᾱ)² for Printed, it is
//
//	2/(1-ᾱ) + 16ᾱ/(1-ᾱ)·(σ/D + e³/(σ(σ(1-ᾱ)-2e√ᾱ)))·e^{3/σ²}
//
// σ must be positive and ᾱ in [0, MaxAlphaBar). There the value increases strictly with ᾱ, from 2 to
// infinity.
func RHS(form Form, sigma, alphaBar float64) (float64, error) {
	if err := errors.Join(form.check(), dp.CheckPositive("sigma", sigma)); err != nil {
		return 0, err
	}
	c := newCurve(form, sigma)
	a := math.Sqrt(alphaBar)
	if !(alphaBar >= 0 && a < c.pole) {
		return 0, fmt.Errorf("alphaBar = %v, must be in [0, %v)", alphaBar, c.pole*c.pole)
	}
	v := c.rhs(a, c.pole-a)
	if math.IsInf(v, 0) || math.IsNaN(v) {
		return 0, fmt.Errorf("rhs(%v, %v) is not finite", sigma, alphaBar)
	}
	return v, nil
}

// Gamma returns the constant γ of Theorems Main and simpleF for (ε, δ) and k epochs, that is γ(σ_eq(ε,
// δ), ε/k); see [GammaAt]. ε must be in [1e-60, 1e30], δ in [MinDelta, 1) and k in [1e-20, 1e20].
func Gamma(form Form, eps, delta, k float64) (float64, error) {
	sigma, err := Sigma(eps, delta)
	if err := errors.Join(form.check(), err, checkEpochs(k)); err != nil {
		return 0, err
	}
	return GammaAt(form, sigma, eps/k)
}

// GammaAt returns γ(σ, x) of Theorem simpleF, where x = εN/K = ε/k. It is the root of
//
//	γ = RHS(σ, ᾱ),  ᾱ = x/γ,  ᾱ in (0, MaxAlphaBar)
//
// rounded up, with a relative error of at most 1e-13. Exactly one root exists for every σ > 0 and x
// > 0. Here σ must be in [0.1, 1e35] and x in [1e-250, 1e100]; otherwise GammaAt returns an error.
// The paper calls γ the "smallest solution", but smaller solutions always exist at ᾱ > h(σ). There,
// denominators are negative and the proof does not hold.
func GammaAt(form Form, sigma, x float64) (float64, error) {
	if err := errors.Join(form.check(), dp.CheckRange("sigma", sigma, minGammaSigma, maxGammaSigma),
		dp.CheckRange("epsilon/k", x, minX, maxX)); err != nil {
		return 0, err
	}
	c := newCurve(form, sigma)
	// Substitute a = pole·z/(1+z) and d = pole/(1+z). The left side of the equation a²·rhs = x then
	// increases with z from 0 to infinity and keeps its relative precision at both ends, and its
	// logarithm is almost linear in ln z.
	at := func(z float64) (a, d float64) { return c.pole * (z / (1 + z)), c.pole / (1 + z) }
	logExcess := func(t float64) float64 {
		a, d := at(math.Exp(t))
		return 2*math.Log(a) + math.Log(c.rhs(a, d)) - math.Log(x)
	}
	lo, hi, err := root.Bracket(logExcess, -1, 1)
	if err != nil {
		return 0, fmt.Errorf("gamma(%v, %v): %w", sigma, x, err)
	}
	t, err := root.Find(logExcess, lo, hi, ulp)
	if err != nil {
		return 0, fmt.Errorf("gamma(%v, %v): %w", sigma, x, err)
	}
	a, d := at(math.Exp(t))
	gamma := x / (a * a)
	if a < d {
		gamma = c.rhs(a, d) // more accurate here, because it hardly depends on a
	}
	return gamma * (1 + slack), nil
}
