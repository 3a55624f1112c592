package closedform

import (
	"errors"
	"fmt"
	"math"

	"proactivedp/dp"
)

// Lemma is the value of Condition.Theorem for conditions of the paper's Lemma lemthree.
const Lemma = "lemthree"

// MomentConditions evaluates the conditions of Lemma lemthree for a round with sample rate q in (0,
// 1) and noise multiplier σ in [0.1, 1e20], for the moment of integer order λ ≥ 1:
//
//	Printed    sigma   σ ≥ 216/215
//	           r0      qσ < 1 (r₀ = qσ is the best choice)
//	           lambda  λ ≤ σ²·ln(1/(qσ))
//	           u0, u1  U₀(λ) < 1, U₁(λ) < 1
//	Corrected  sigma   σ ≥ 1
//	           r0      qσ ≤ 1/e
//	           lambda  λ ≤ σ²
//
// U₀ and U₁ are those of the lemma. For the difference between the forms see [Moment].
func MomentConditions(form Form, q, sigma float64, lambda int) ([]Condition, error) {
	if err := checkMoment(form, q, sigma, lambda); err != nil {
		return nil, err
	}
	l, r0 := float64(lambda), q*sigma
	if form == Corrected {
		return []Condition{
			atLeast(Lemma, "sigma", sigma, 1),
			atLeast(Lemma, "r0", 1/math.E*(1-slack), r0),
			atLeast(Lemma, "lambda", sigma*sigma, l),
		}, nil
	}
	u0, u1 := ratios(q, sigma, l)
	return []Condition{
		atLeast(Lemma, "sigma", sigma, minPrintedSigma),
		above(Lemma, "r0", 1, r0),
		atLeast(Lemma, "lambda", -sigma*sigma*math.Log(r0), l),
		above(Lemma, "u0", 1, u0),
		above(Lemma, "u1", 1, u1),
	}, nil
}

// Moment returns the bound of Lemma lemthree on the moment of order λ
//
//	α(λ) = ln E[exp(λ·privacy loss)]
//
// of one round with sample rate q and noise multiplier σ, under add-or-remove adjacency and Poisson
// sampling, in nats. Both forms have the quadratic term
//
//	λ(λ+1)q²/((1-q)σ²)
//
// Printed adds (r/r₀)·λ²(λ+1)q³/((1-q)²σ³), as the paper does. The paper's proof of this cubic term
// does not hold. It sums a geometric series of ratio U₀(λ) = 2√(λq)/((1-q)σ). But its own steps
// bound the ratio only by √(λ/σ) times that, and λ goes up to σ². With the conditions of Corrected,
// the term is not needed, as follows.
//
// Let n = λ-1, m = σ² and J ~ Bin(n, q). α(λ) is at most ln E[exp(K(K-1)/2m)] with K ~ Bin(λ+1, q):
// this is the moment from the larger data set to the smaller, the worse of the two (Mironov,
// Talwar, Zhang 2019, "Rényi Differential Privacy of the Sampled Gaussian Mechanism"). With e^x - 1
// ≤ x(e^x+1)/2 and the factorial moments of K,
//
//	α(λ) ≤ λ(λ+1)q²/σ²·(M+1)/4,  M = E[exp((J+1)(J+2)/2m)]
//
// The terms f(j) of M satisfy f(j+1)/f(j) = (n-j)/(j+1)·q/(1-q)·e^{(j+2)/m}. For n ≤ m,
// (n-j)e^{j/m} ≤ n, so M ≤ (1-q)^n·e^{1/m}·exp(nq·e^{2/m}/(1-q)), and
//
//	ln M ≤ 1/m + nq(e^{2/m}/(1-q) - 1)
//
// At fixed n, the terms 1/m, e^{2/m} and the largest q, 1/(e√m), all fall with m, so whole m and n
// = m-1 are the worst case. The bound is then 1 at m = 1 and 0.96 at m = 3; at m = 2, M itself is
// at most 2.39. From m = 4 on the bound is at most 0.8131: with m in place of n it falls
// throughout, and it is 1.001 at m = 4. So M < 3. The factor 1/(1-q) of the quadratic term, which
// is kept as in the paper, is not needed.
//
// The error wraps dp.ErrNotCovered if a condition is not met.
func Moment(form Form, q, sigma float64, lambda int) (float64, error) {
	cs, err := MomentConditions(form, q, sigma, lambda)
	if err != nil {
		return 0, err
	}
	if err := unmet(cs); err != nil {
		return 0, err
	}
	l := float64(lambda)
	quadratic := l * (l + 1) * q * q / ((1 - q) * sigma * sigma) * (1 + slack)
	if form == Corrected {
		return quadratic, nil
	}
	u0, u1 := ratios(q, sigma, l)
	return quadratic * (1 + cubic(sigma, u0, u1)*l*q/((1-q)*sigma)), nil
}

// minPrintedSigma is the least σ of the printed Lemma lemthree and Theorem thm1.
const minPrintedSigma = 216. / 215

// ratios returns U₀(λ) and U₁(λ) of Lemma lemthree at r₀ = qσ. At λ = σ² they are u₀ and u₁ of
// Theorem thm1.
func ratios(q, sigma, lambda float64) (u0, u1 float64) {
	u0 = 2 * math.Sqrt(lambda*q) / ((1 - q) * sigma)
	return u0, u0 * math.E / sigma
}

// cubic is r/r₀ of Lemma lemthree and Theorem thm1.
func cubic(sigma, u0, u1 float64) float64 {
	s3 := math.Pow(math.E/sigma, 3)
	return 8 * (1/(1-u0) + s3/(1-u1)) * math.Exp(3/(sigma*sigma))
}

func checkMoment(form Form, q, sigma float64, lambda int) error {
	errs := []error{form.check(), dp.CheckRange("sigma", sigma, minGammaSigma, maxFreeSigma)}
	if !(q > 0 && q < 1) {
		errs = append(errs, fmt.Errorf("sample rate = %v, must be in (0, 1)", q))
	}
	if lambda < 1 {
		errs = append(errs, fmt.Errorf("lambda = %d, must be at least 1", lambda))
	}
	return errors.Join(errs...)
}

// unmet returns an error for the conditions that are not met. It wraps dp.ErrNotCovered.
func unmet(cs []Condition) error {
	var errs []error
	for _, c := range cs {
		if !c.Met {
			errs = append(errs, fmt.Errorf("condition %s of %s is not met (margin %.3g): %w", c.Name,
				c.Theorem, c.Margin, dp.ErrNotCovered))
		}
	}
	return errors.Join(errs...)
}
