package closedform

import (
	"errors"
	"fmt"
	"math"

	"proactivedp/dp"
	"proactivedp/internal/root"
)

// The algebra error: the paper substitutes r₀ = ασ into 1/(1-u₀) with u₀ = 2√(r₀σ)/(σ-r₀), which gives
// (1-α)/(1-α-2√α). It prints (1-√α)² = 1-2√α+α as the denominator instead of 1-α-2√α.
//
// Why Main and simpleF hold in both forms: Theorem thm1, without the cubic term of the moments (r = 0),
// asks for two conditions only. Let q_i be the sample rate of round i, and ᾱ = ε/(γk).
//
//   - Σq_i²/(1-q_i) ≤ ε/2. This follows from T ≥ γθ²k²/ε and any γ ≥ 2/(1-ᾱ): then q_i ≤ θk/T ≤ ᾱ/θ,
//     so the sum is at most θk²/(T(1-ᾱ)) ≤ ε/(γ(1-ᾱ)).
//   - q_i ≤ 1/(eσ_eq). In simpleF, this is one part of (treq1). In Main, it follows from (minK), (minT)
//     and ε < ½.

// Form chooses a formula as the paper prints it (Printed), or with its errors corrected (Corrected). This program
// claims a guarantee only with Corrected.
//
// In Theorems Main and simpleF, the two forms have different constants γ, because the paper makes an algebra error
// when it derives γ: see [RHS]. The printed γ is smaller, by 0.2 to 1.4 % in the paper's settings, so the theorem
// asks for fewer rounds. The paper's proof supports only the corrected γ. The theorems are true with the printed γ,
// too, by another proof (in a comment above this type in its source file). But this program claims only what the
// paper's proof supports, and therefore nothing with the printed γ. For Lemma lemthree and Theorem thm1 see [Moment].
type Form string

// These are the values of [Form]. Use Corrected, unless you want to reproduce the paper's numbers. Its constant γ is
// larger, and the theorems require at least γθ²k²/ε rounds (see [Gamma]), so Corrected needs more rounds.
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

// MaxAlphaBar returns the upper limit for alphaBar, the argument of [RHS] (ᾱ = ε/(γk) for k epochs). At the limit a
// denominator of RHS becomes 0. sigma is the noise multiplier σ and must be positive. The limit is the function h(σ)
// of [Conditions] for the formula as the paper prints it (Printed), and min{h(σ), 3-2√2} for the corrected one
// (Corrected).
func MaxAlphaBar(form Form, sigma float64) (float64, error) {
	if err := errors.Join(form.check(), dp.CheckPositive("sigma", sigma)); err != nil {
		return 0, err
	}
	p := newCurve(form, sigma).pole
	return p * p, nil
}

// RHS returns the right-hand side of the equation γ = RHS that defines the constant γ in the paper's Theorems Main
// and simpleF. sigma is the noise multiplier σ, and alphaBar is ᾱ = ε/(γk) for k epochs. [GammaAt] solves the
// equation, so most callers do not need RHS. With e = 2.718…, and D = 1-ᾱ-2√ᾱ for Corrected and (1-√ᾱ)² for Printed,
// it is
//
//	2/(1-ᾱ) + 16ᾱ/(1-ᾱ)·(σ/D + e³/(σ(σ(1-ᾱ)-2e√ᾱ)))·e^{3/σ²}
//
// σ must be positive and ᾱ in [0, MaxAlphaBar). There the value increases strictly with ᾱ, from 2 to infinity.
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

// Gamma returns the constant γ of the paper's Theorems Main and simpleF, as the paper prints it or with its errors
// corrected (form, see [Form]), for a privacy budget (ε, δ) and k epochs. The theorems require at least γθ²k²/ε
// rounds, where θ is the largest batch size divided by the mean. So a smaller γ means fewer rounds. γ is above 2, and
// in the paper's settings 3.1 to 4.7. Gamma is GammaAt(form, σ_eq(ε, δ), ε/k), with σ_eq from [Sigma]. ε must be in
// [1e-60, 1e30], δ in [MinDelta, 1) and k in [1e-20, 1e20].
func Gamma(form Form, eps, delta, k float64) (float64, error) {
	sigma, err := Sigma(eps, delta)
	if err := errors.Join(form.check(), err, checkEpochs(k)); err != nil {
		return 0, err
	}
	return GammaAt(form, sigma, eps/k)
}

// GammaAt returns the constant γ of the paper's Theorem simpleF at noise multiplier σ, for x = ε/k, where k is the
// number of epochs. (The theorem requires at least γθ²k²/ε rounds, where θ is the largest batch size divided by the
// mean.) It is the solution γ of
//
//	γ = RHS(σ, ᾱ),  ᾱ = x/γ,  ᾱ in (0, MaxAlphaBar)
//
// with [RHS] as the paper prints it (form Printed) or with its errors corrected (Corrected, which a guarantee needs). ᾱ
// is the sample rate if all batches have one size and there are exactly γk²/ε rounds. γ is rounded up, with a relative
// error of at most 1e-13. Exactly one such solution exists for every σ > 0 and x > 0. GammaAt returns an error if σ is
// not in [0.1, 1e35] or x not in [1e-250, 1e100].
//
// The paper calls γ the "smallest solution". But smaller solutions always exist at ᾱ > h(σ) (see [Conditions]), where
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
