package rdp

import (
	"context"
	"errors"
	"fmt"
	"math"

	"proactivedp/dp"
	"proactivedp/rng"
)

// Selection is private selection, for example of settings: run a random number of independent trials, each with the
// same privacy cost, and release only the best one and its score. It costs less than all trials together would.
// [Selection.Draw] draws the number of trials, and [Selection.Epsilon] returns the cost. A trial may draw at random
// what it tries, for example one of several settings. The guarantee does not cover anything else that is shown, such
// as the number of trials or the results of other trials.
//
// The number of trials K has the truncated negative binomial distribution, with parameters η (Shape) and γ
// (Gamma): for k ≥ 1
//
//	P[K = k] ∝ (1-γ)^k · Π_{l=0}^{k-1} (l+η)/(l+1)
//
// It is geometric for η = 1 and logarithmic for η → 0 (Papernot and Steinke, "Hyperparameter Tuning with
// Rényi Differential Privacy", ICLR 2022, arXiv 2110.03620, Definition 1; Liu and Talwar, "Private
// Selection from Private Candidates", STOC 2019, for η = 1).
type Selection struct {
	// Shape is the parameter η of the distribution of the number of trials, in [0, MaxShape]. η·log(1/γ) may be at
	// most 700, or float64 could not hold the probability of a single trial.
	Shape float64 `json:"shape"`
	Gamma float64 `json:"gamma"` // parameter γ of that distribution, in [MinGamma, 1); a smaller γ means more trials
}

// MaxShape and MinGamma limit how a [Selection] draws its number of trials: its parameter η (Shape) is at most
// MaxShape, and its γ (Gamma) at least MinGamma. In addition, η·log(1/γ) must be at most 700: otherwise float64
// cannot hold the probability that only one trial runs.
const (
	MaxShape    = 64
	MinGamma    = 1e-6
	maxLogRatio = 700
)

// Validate returns one error that lists every field of s outside its range.
func (s Selection) Validate() error {
	var errs []error
	if !(s.Shape >= 0 && s.Shape <= MaxShape) {
		errs = append(errs, fmt.Errorf("selection shape = %v, must be in [0, %d]", s.Shape, MaxShape))
	}
	if !(s.Gamma >= MinGamma && s.Gamma < 1) {
		errs = append(errs, fmt.Errorf("selection gamma = %v, must be in [%g, 1)", s.Gamma, MinGamma))
	} else if ratio := -s.Shape * math.Log(s.Gamma); ratio > maxLogRatio {
		errs = append(errs, fmt.Errorf("selection shape = %v times log(1/gamma = 1/%v) = %.4g, must be at most %d",
			s.Shape, s.Gamma, ratio, maxLogRatio))
	}
	return errors.Join(errs...)
}

// Mean returns E[K], the expected number of trials. It is η(1-γ)/(γ(1-γ^η)) or, for η = 0, (1/γ-1)/log(1/γ).
func (s Selection) Mean() float64 {
	l := -math.Log(s.Gamma)
	if s.Shape*l < 1e-9 {
		return (1/s.Gamma - 1) / l
	}
	return s.Shape * (1 - s.Gamma) / (s.Gamma * -math.Expm1(-s.Shape*l))
}

// first returns P[K = 1].
func (s Selection) first() float64 {
	l := -math.Log(s.Gamma)
	if s.Shape*l < 1e-9 {
		return (1 - s.Gamma) / l
	}
	return s.Shape * (1 - s.Gamma) / math.Expm1(s.Shape*l)
}

// Draw returns a random number of trials to run, K ≥ 1. The stream must come from a secret seed, and K must stay
// secret, because whoever knows K may learn more than the guarantee covers. Draw panics if s is not valid.
func (s Selection) Draw(stream *rng.Stream) int {
	if err := s.Validate(); err != nil {
		panic(err)
	}
	u := float64(stream.Uint64()>>11) / (1 << 53)
	p := s.first()
	k := 1
	for sum := p; sum <= u && (p > 1e-18 || float64(k) < s.Mean()); sum += p {
		p *= (1 - s.Gamma) * (float64(k) + s.Shape) / float64(k+1)
		k++
	}
	return k
}

// price returns the cost of a selection in addition to one of its trials: a part that is the same
// at all orders, and a part that is divided by α-1. A single released trial has the divergence τ(α)
// in both directions; the best of K trials has at most
//
//	τ(α) + (1+η)·min_a[(1-1/a)τ(a) + log(1/γ)/a] + log(E[K])/(α-1)
//
// (Papernot and Steinke 2022, Theorem 2). Proof for scores without ties. Let f be the generating
// function of K, so that f'(x) = E[K]γ^(η+1)(1-(1-γ)x)^(-η-1). The best result is y with
// probability Q(y)·f'(x), where x is between the probabilities under Q of a result less than y and
// of one less than or equal to y. The same holds for Q' and x'. By the joint convexity of
// u^α·v^(1-α), the moment of order α grows at most by the largest f'(x)^α·f'(x')^(1-α). Now p =
// 1-(1-γ)x and p' = 1-(1-γ)x' are the probabilities of one event under Q and Q', and it happens
// with probability at least γ. So for every a, p' ≤ p^(1-1/a)·e^((1-1/a)τ(a)), and p'^(α-1)p^(-α) ≤
// γ^(-1-(α-1)/a)·e^((α-1)(1-1/a)τ(a)). Its power η+1, together with E[K]γ^(η+1), gives the added
// terms.
func (s Selection) price(divergence func(alpha float64) float64) (always, overExcess float64) {
	l := -math.Log(s.Gamma)
	_, least := leastOfAll(func(a float64) float64 { return (1-1/a)*divergence(a) + l/a })
	return (1 + s.Shape) * min(least, l) * (1 + margin), max(0, math.Log(s.Mean())*(1+margin))
}

// Epsilon returns an upper bound on the ε, at delta in (0, 1), of a selection together with one more release. trial
// lists the rounds of one trial. after lists the rounds of the other release, for example of the training with the
// selected setting; it may be empty. All events must have the same sampling and adjacency. Errors are those of
// [Accountant.Epsilon], or say what is invalid in s.
func (s Selection) Epsilon(ctx context.Context, trial, after []dp.Event, delta float64) (dp.Bound, error) {
	if err := s.Validate(); err != nil {
		return dp.Bound{}, err
	}
	tried, b, err := Accountant{}.release(trial, dp.CheckDelta(delta, 0))
	if err != nil {
		return dp.Bound{}, err
	}
	all, err := dp.Compose(trial, after)
	if err != nil {
		return dp.Bound{}, fmt.Errorf("selection: %w", err)
	}
	together, _, err := Accountant{}.release(all, nil)
	if err != nil {
		return dp.Bound{}, err
	}
	always, overExcess := s.price(func(alpha float64) float64 { return tried.divergence(ctx, alpha) })
	_, b.Epsilon = leastOfAll(func(alpha float64) float64 {
		return epsilon(alpha, together.divergence(ctx, alpha)+always+overExcess/(alpha-1), delta)
	})
	if err := context.Cause(ctx); err != nil {
		return dp.Bound{}, err
	}
	b.EpsilonUpper, b.Accountant = b.Epsilon, SelectionName
	b.DeltaLower, b.Delta, b.DeltaUpper = delta, delta, delta
	return b, nil
}

// SelectionName is the name of the accountant, dp.Bound.Accountant, in the bound that [Selection.Epsilon] returns.
const SelectionName = "rdp-selection"
