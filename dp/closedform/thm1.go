package closedform

import (
	"errors"
	"fmt"
	"math"

	"proactivedp/dp"
	"proactivedp/internal/root"
)

// Thm1 is the value of Condition.Theorem for the conditions of the paper's Theorem thm1, which [Moments.Conditions]
// returns. The theorem bounds ε from averages of the rounds' sample rates (see [Moments]).
const Thm1 = "thm1"

// cOf returns the number c(x) in the paper's Theorem thm1, without the loss of digits that its formula has for small
// rρx:
//
//	c(x) = min{(√(2rρx+1)-1)/(rρx), 2/(ρ̂x)}
//
// The theorem requires a noise multiplier proportional to 1/√c, so a larger c means less noise. For r, ρ and ρ̂ see the
// methods of Moments; x > 0 is ε/(kŜ₁).
func cOf(r, rho, rhoHat, x float64) float64 {
	return min(2/(math.Sqrt(1+2*r*rho*x)+1), 2/(rhoHat*x))
}

// r returns the constant r of the paper's Theorem thm1 for noise multiplier σ. It stands for the term with q³ in the
// paper's bound on the moments of a round, so a larger r means more noise. For the form Corrected r is 0, because that
// form does without the term. For Printed, r depends on the theorem's constant r₀, for which r takes the least value
// that the theorem allows, σ·MaxRate. The result for Printed is meaningful only if u₀ and u₁ are below 1, which
// Conditions checks.
func (m Moments) r(form Form, sigma float64) float64 {
	if form == Corrected {
		return 0
	}
	u0, u1 := ratios(m.MaxRate, sigma, sigma*sigma)
	return sigma * m.MaxRate * cubic(sigma, u0, u1)
}

// noise returns the right-hand side of Theorem thm1's condition on σ, rounded up:
// (2/√c₀)·√(Ŝ₂T(ε+l))/ε, c₀ = c(c₁), c₁ = ε/(TŜ₁²), l = ln(1/δ).
func (m Moments) noise(r, eps, l float64) float64 {
	c0 := m.c0(r, eps)
	return 2 * math.Sqrt(m.Rounds*m.S2/c0) * (math.Sqrt(eps+l) / eps) * (1 + slack)
}

func (m Moments) c0(r, eps float64) float64 {
	return cOf(r, m.rho(), m.rhoHat(), eps/(m.Epochs()*m.S1))
}

// Conditions says by how much rounds with these moments, at noise multiplier σ, meet each requirement of
// the paper's Theorem thm1 for (ε, δ). T is the number of rounds, q_i the sample rate of round i, and Ŝ₁, Ŝ₂ and Ŝ₃
// are the averages in [Moments]. The theorem leaves the choice of three constants, each with a least value, and
// Conditions takes these values: r₀ = σ·max q_i, ρ = Ŝ₁Ŝ₃/Ŝ₂² and ρ̂ = Ŝ₁²/Ŝ₂. The conditions are
//
//	sigma  σ ≥ (2/√c₀)·√(Ŝ₂T(ε+ln(1/δ)))/ε
//	r0     r₀ ≤ 1/e
//
// Here c₀ is min{(√(2rρx+1)-1)/(rρx), 2/(ρ̂x)} for x = ε/(TŜ₁²), as in the theorem. The number r stands for the part
// with q³ of the paper's bound on a [Moment]. The form Printed has three more conditions: "least sigma" is σ ≥ 216/215,
// "u0" is u₀ < 1 for u₀ = 2√q/(1−q) with the largest rate q, and "u1" is u₁ < 1 for u₁ = u₀·e/σ. In the form
// Corrected, r is 0, the minimum is min{1, 2/(ρ̂x)}, and the condition sigma is equivalent to
//
//	ε ≥ 2·ln(1/δ)/(σ²-2)  and  σ²ε² ≥ 4V(ε+ln(1/δ)),  V = TŜ₂ = Σq_i²/(1-q_i)
//
// If all conditions of Corrected hold, the rounds are (ε, δ)-differentially private under add-or-remove adjacency and
// Poisson sampling. (The proof bounds moments by the corrected form of [Moment], only for orders λ ≤ σ²-1, where this
// form holds.) If only r0 fails, count the rounds with the smaller noise multiplier 1/(e·max q_i), as
// [Moments.MinEpsilon] does. This is correct, because more noise never costs more privacy. σ must be in [0.1, 1e20], ε
// in [1e-60, 1e30] and δ in [MinDelta, 1).
func (m Moments) Conditions(form Form, sigma, eps, delta float64) ([]Condition, error) {
	if err := errors.Join(form.check(), m.check(), dp.CheckRange("sigma", sigma, minGammaSigma, maxFreeSigma),
		checkEpsilon(eps), checkDelta(delta)); err != nil {
		return nil, err
	}
	r0 := atLeast(Thm1, "r0", (1-slack)/math.E, sigma*m.MaxRate)
	if form == Corrected {
		return []Condition{atLeast(Thm1, "sigma", sigma, m.noise(0, eps, -math.Log(delta))), r0}, nil
	}
	u0, u1 := ratios(m.MaxRate, sigma, sigma*sigma)
	need := math.Inf(1) // if u₀ or u₁ is 1 or more, no noise is enough
	if u0 < 1 && u1 < 1 {
		need = m.noise(m.r(form, sigma), eps, -math.Log(delta))
	}
	return []Condition{
		atLeast(Thm1, "sigma", sigma, need),
		r0,
		atLeast(Thm1, "least sigma", sigma, minPrintedSigma),
		above(Thm1, "u0", 1, u0),
		above(Thm1, "u1", 1, u1),
	}, nil
}

// MinEpsilon returns the smallest ε, rounded up by a relative 1e-9 at most, that the paper's Theorem thm1 proves for
// rounds with these moments: the least one for which all of [Moments.Conditions] hold at δ in [MinDelta, 1). Let q_i
// be the sample rates. If the noise multiplier σ is above 1/(e·max q_i), the rounds are counted with 1/(e·max q_i) in
// place of σ, because the condition r0 allows no more. (More noise never costs more privacy.) For Corrected, the
// result is the larger of
//
//	2L/(σ²-2)  and  (2V + 2√(V² + σ²VL))/σ²,  L = ln(1/δ), V = Σq_i²/(1-q_i)
//
// The error wraps dp.ErrNotCovered if no such ε exists, or if σ or δ is outside the ranges of
// [Accountant].
func (m Moments) MinEpsilon(form Form, sigma, delta float64) (float64, error) {
	of := askedDelta(delta)
	sigma, err := m.usable(form, sigma, of)
	if err != nil {
		return 0, err
	}
	r, l := m.r(form, sigma), -math.Log(delta)
	excess := func(logEps float64) float64 { return math.Log(m.noise(r, math.Exp(logEps), l) / sigma) }
	lo, hi, err := root.Bracket(excess, -1, 1)
	if err != nil {
		return 0, fmt.Errorf("no epsilon: %w: %w", err, dp.ErrNotCovered)
	}
	logEps, err := root.Find(excess, lo, hi, ulp)
	if err != nil {
		return 0, fmt.Errorf("no epsilon: %w: %w", err, dp.ErrNotCovered)
	}
	return raise("epsilon", math.Exp(logEps), func(eps float64) bool {
		return m.certified(form, sigma, eps, delta)
	})
}

// LeastDelta returns the smallest δ that the paper's Theorem thm1 proves for rounds with these moments at a given ε
// in [1e-60, 1e30]: the least one for which all of [Moments.Conditions] hold. It is given by ln(1/δ) = c₀σ²ε²/(4V) -
// ε, with c₀ of [Moments.Conditions] and V = Σq_i²/(1-q_i), where q_i is the sample rate of round i. It is rounded
// up, and at least MinDelta. If σ is above 1/(e·max q_i), the rounds are counted with 1/(e·max q_i) in place of σ, for
// the reason given at [Moments.MinEpsilon]. The error wraps dp.ErrNotCovered if no such δ below 1 exists, or if σ or ε
// is outside the ranges of [Accountant].
func (m Moments) LeastDelta(form Form, sigma, eps float64) (float64, error) {
	of := askedEpsilon(eps)
	sigma, err := m.usable(form, sigma, of)
	if err != nil {
		return 0, err
	}
	half := sigma * eps / 2
	l := m.c0(m.r(form, sigma), eps)*half*(half/(m.Rounds*m.S2)) - eps
	if !(l > 0) {
		return 0, fmt.Errorf("no delta below 1 at sigma = %v, epsilon = %v: %w", sigma, eps,
			dp.ErrNotCovered)
	}
	return raise("delta", max(math.Exp(-l), MinDelta), func(delta float64) bool {
		return m.certified(form, sigma, eps, delta)
	})
}

// usable returns the noise multiplier with which the rounds are accounted for: sigma, or less if
// condition r0 is otherwise not met.
func (m Moments) usable(form Form, sigma float64, of asked) (float64, error) {
	if err := errors.Join(form.check(), m.check(), of.faulty, dp.CheckNotNegative("sigma", sigma)); err != nil {
		return 0, err
	}
	if err := notCovered(dp.CheckRange("sigma", sigma, MinSigma, MaxSigma), checkEpochs(m.Epochs()),
		of.uncovered); err != nil {
		return 0, err
	}
	sigma = min(sigma, (1-2*slack)/(math.E*m.MaxRate))
	if sigma < MinSigma {
		return 0, fmt.Errorf("no guarantee: largest sample rate = %.5g, must be below 1/(e√2) = 0.2601: %w",
			m.MaxRate, dp.ErrNotCovered)
	}
	if u0, u1 := ratios(m.MaxRate, sigma, sigma*sigma); form == Printed && !(u0 < 1 && u1 < 1) {
		return 0, fmt.Errorf("no guarantee: u0 = %.5g, u1 = %.5g, must be below 1: %w", u0, u1,
			dp.ErrNotCovered)
	}
	return sigma, nil
}

func (m Moments) certified(form Form, sigma, eps, delta float64) bool {
	cs, err := m.Conditions(form, sigma, eps, delta)
	return err == nil && Holds(cs, Thm1)
}

func (m Moments) check() error {
	err := errors.Join(dp.CheckPositive("rounds", m.Rounds), dp.CheckPositive("S1", m.S1), dp.CheckPositive("S2", m.S2),
		dp.CheckPositive("S3", m.S3))
	if !(m.MaxRate > 0 && m.MaxRate < 1) {
		err = errors.Join(err, fmt.Errorf("largest sample rate = %v, must be in (0, 1)", m.MaxRate))
	}
	return err
}
