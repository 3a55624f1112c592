package closedform

import (
	"errors"
	"fmt"
	"math"

	"proactivedp/dp"
)

// Lemma is the value of Condition.Theorem for the conditions of the paper's Lemma lemthree, which [MomentConditions]
// returns. The lemma bounds the moments of one round's privacy loss (see [Moment]).
const Lemma = "lemthree"

// MomentConditions says whether the paper's Lemma lemthree, by which [Moment] bounds a moment of a round's privacy
// loss, may be used, and by how much each of its conditions is met. The round has the sample rate q in (0, 1) and the
// noise multiplier σ in [0.1, 1e20]. lambda is λ ≥ 1, the integer order of the moment. The conditions are, for the
// lemma as printed and as corrected here,
//
//	Printed    sigma   σ ≥ 216/215
//	           r0      qσ < 1
//	           lambda  λ ≤ σ²·ln(1/(qσ))
//	           u0, u1  U₀(λ) < 1, U₁(λ) < 1
//	Corrected  sigma   σ ≥ 1
//	           r0      qσ ≤ 1/e
//	           lambda  λ ≤ σ²
//
// U₀(λ) = 2√(λq)/((1-q)σ) and U₁(λ) = U₀(λ)·e/σ, as in the lemma. The lemma lets the user choose a constant r₀ in
// [qσ, 1). It is qσ here, because the smallest value gives the weakest conditions and the smallest bound. For the
// difference between the forms see [Moment].
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

// Moment returns a bound, in nats, on the moment of order λ of the privacy loss of one round, by the paper's Lemma
// lemthree. The moment is ln E[exp(λ·L)], where L is the privacy loss. Moments of rounds add up, and ε follows from
// their sum; [MomentAccountant] does that. lambda is λ ≥ 1, q the sample rate and sigma the noise multiplier σ of the
// round, under add-or-remove adjacency and Poisson sampling.
//
// In the form Corrected, the result is the quadratic term of the lemma,
//
//	λ(λ+1)q²/((1-q)σ²)
//
// A comment in the code of Moment proves it. The form Printed adds the lemma's cubic term, as the paper has it, and is
// only for comparison with the paper. Its result is larger. So it is a bound, too, where the conditions of Corrected
// hold. Elsewhere only the paper's proof supports it, and that proof has a gap.
//
// The error wraps dp.ErrNotCovered if one of the form's conditions is not met (see [MomentConditions]).
func Moment(form Form, q, sigma float64, lambda int) (float64, error) {
	// The cubic term of the paper is (r/r₀)·λ²(λ+1)q³/((1-q)²σ³). Its proof sums a geometric series of
	// ratio U₀(λ) = 2√(λq)/((1-q)σ). But the steps of the proof bound the ratio only by √(λ/σ) times
	// U₀(λ), and λ goes up to σ².
	//
	// Proof that the quadratic term is enough under the conditions of Corrected. Let n = λ-1, m = σ², J ~
	// Bin(n, q) and K ~ Bin(λ+1, q).
	//
	//  1. The moment is at most ln E[exp(K(K-1)/2m)]. This is the moment from the larger data set to the
	//     smaller, the worse of the two directions (Mironov, Talwar, Zhang 2019, "Rényi Differential Privacy
	//     of the Sampled Gaussian Mechanism").
	//  2. With e^x - 1 ≤ x(e^x+1)/2 and the factorial moments of K, it is at most
	//
	//	λ(λ+1)q²/σ²·(M+1)/4,  M = E[exp((J+1)(J+2)/2m)]
	//
	//  3. Write M as a sum of terms f(j) over the values j of J. Then
	//     f(j+1)/f(j) = (n-j)/(j+1)·q/(1-q)·e^{(j+2)/m}. For n ≤ m, (n-j)e^{j/m} ≤ n. So
	//     M ≤ (1-q)^n·e^{1/m}·exp(nq·e^{2/m}/(1-q)), and
	//
	//	ln M ≤ 1/m + nq(e^{2/m}/(1-q) - 1)
	//
	//  4. The right-hand side is largest for whole m and n = m-1: at fixed n, all of 1/m, e^{2/m} and the
	//     largest q, which is 1/(e√m), fall with m.
	//  5. It is 1 at m = 1 and 0.96 at m = 3. At m = 2, M itself is at most 2.39. From m = 4 on it is at
	//     most 0.8131: with m in place of n it falls throughout, and it is 1.001 at m = 4. So M < 3.
	//  6. By step 2, the moment is less than λ(λ+1)q²/σ². The factor 1/(1-q) of the quadratic term, which is
	//     kept as in the paper, is not needed.
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
