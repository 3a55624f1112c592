package closedform

import (
	"errors"
	"fmt"
	"math"

	"proactivedp/dp"
)

// Main and SimpleF are the values of Condition.Theorem for the conditions of the paper's Theorems Main and simpleF,
// which [Conditions] lists. Both theorems give (ε, δ) from noise, rounds and batch sizes; simpleF is the more general
// one. Pass one of the names to [Holds].
const (
	Main    = "Main"
	SimpleF = "simpleF"
)

// Condition is one requirement of a theorem, and says whether a run meets it (Met). Theorem is the name of the theorem,
// such as [Main], and Name that of the requirement, such as "sigma".
//
// Margin says by how much the requirement is met, as a fraction. For a requirement value ≥ limit it is
// value/limit - 1, and for value ≤ limit it is limit/value - 1. For example, 0.1 means that the condition is met
// with 10 % to spare. A negative margin means that it is not met. At 0 the condition is just met, but a strict one
// such as ε < 0.5 is not met.
type Condition struct {
	Theorem string  `json:"theorem"`
	Name    string  `json:"name"`
	Met     bool    `json:"met"`
	Margin  float64 `json:"margin"`
}

// Holds reports whether a theorem applies to a run: whether the list cs contains conditions of the theorem, and all
// of them are met. cs comes from [Conditions], [Moments.Conditions] or [MomentConditions]. theorem is [Main],
// [SimpleF], [Thm1] or [Lemma].
func Holds(cs []Condition, theorem string) bool {
	found := false
	for _, c := range cs {
		if c.Theorem == theorem {
			if !c.Met {
				return false
			}
			found = true
		}
	}
	return found
}

// Setting describes the run of one client, and the (ε, δ) that it should satisfy. It is the input of [Conditions] and
// [MinEpsilon]. In a real run, Rounds, Computed and MaxSize are whole numbers. A planner may use other numbers.
type Setting struct {
	N        int     // number of records N, in [1, MaxN]
	Rounds   float64 // number of rounds T > 0
	Computed float64 // K, the sum of all batch sizes, above 0; K/N must be in [1e-20, 1e20]
	MaxSize  float64 // largest batch size s_max, in [K/T, N]
	Sigma    float64 // noise multiplier σ > 0
	Epsilon  float64 // ε that the run should satisfy, in [1e-60, 1e30]
	Delta    float64 // δ that the run should satisfy, in [MinDelta, 1)
}

// Epochs returns the number of epochs k = K/N.
func (s Setting) Epochs() float64 { return s.Computed / float64(s.N) }

// Theta returns θ, the largest batch size divided by the mean batch size K/T. It is 1 for constant sizes. A result
// below 1, which rounding can cause, becomes 1.
func (s Setting) Theta() float64 { return max(1, s.MaxSize*s.Rounds/s.Computed) }

// Validate returns one error that lists every field of s outside its range.
func (s Setting) Validate() error {
	err := s.validateRun()
	if err == nil {
		err = s.checkRun()
	}
	return errors.Join(err, dp.CheckPositive("sigma", s.Sigma), checkEpsilon(s.Epsilon), checkDelta(s.Delta))
}

// checkRun returns an error if a valid run is outside the package's ranges.
func (s Setting) checkRun() error { return errors.Join(checkN(s.N), checkEpochs(s.Epochs())) }

// validateRun returns an error if the numbers of s cannot be those of any run, such as a negative
// number of rounds.
func (s Setting) validateRun() error {
	var errs []error
	if s.N < 1 {
		errs = append(errs, fmt.Errorf("data set size N = %d, must be at least 1", s.N))
	}
	errs = append(errs, dp.CheckPositive("rounds", s.Rounds), dp.CheckPositive("computed", s.Computed),
		dp.CheckPositive("largest size", s.MaxSize))
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if mean := s.Computed / s.Rounds; s.MaxSize < mean*(1-slack) || s.MaxSize > float64(s.N) {
		return fmt.Errorf("largest size = %v, must be in [K/T = %v, N = %d]", s.MaxSize, mean, s.N)
	}
	return nil
}

// Conditions says by how much the run s meets each requirement of the paper's Theorems Main and simpleF, with the
// given form of the constant γ (see [Form] and [Gamma]). Use [Holds] to find out whether a theorem applies.
//
// N is the number of records, T that of rounds, and k that of epochs. s_max is the largest batch size, s̄ the mean one,
// and θ = s_max/s̄. σ_eq is the least noise multiplier for (ε, δ), see [Sigma]. h(x) is (√(1+(e/x)²) - e/x)², and g(x)
// is min{1/(ex), h(x)}, with e = 2.718…. Each line has the theorem, the name of a condition, and the condition:
//
//	Main     sigma    σ ≥ σ_eq
//	         delta    δ ≤ 1/N
//	         epsilon  ε < 0.5
//	         N        N ≥ 10000
//	         theta    θ ≤ 6.85
//	         minK     (2/e)²k² ≥ 1/2 + ln(1/δ)
//	         minT     T ≥ γθ²k²/ε
//	simpleF  treq1    s_max = θs̄ ≤ g(σ_eq)·N
//	         treq2    ε/(γk) ≤ h(σ_eq) in the form Printed, ≤ min{h(σ_eq), 3-2√2} in the form Corrected
//	         treq3    ε ≥ γθ²·k·s̄/N
//	         treq4    σ ≥ σ_eq
//
// treq2 always holds, by the choice of γ. If all conditions of one theorem hold, the run is (ε, δ)-differentially
// private under add-or-remove adjacency and Poisson sampling. This program claims that only with Corrected; see [Form].
// The error lists all invalid arguments, or names a condition whose numbers leave the range of float64.
func Conditions(form Form, s Setting) ([]Condition, error) {
	if err := errors.Join(form.check(), s.Validate()); err != nil {
		return nil, err
	}
	return conditions(form, s)
}

// conditions does the work of Conditions, for valid arguments. It also accepts σ = ∞.
func conditions(form Form, s Setting) ([]Condition, error) {
	sigmaEq, err := Sigma(s.Epsilon, s.Delta)
	if err != nil {
		return nil, err
	}
	k, theta, n := s.Epochs(), s.Theta(), float64(s.N)
	gamma, err := GammaAt(form, sigmaEq, s.Epsilon/k)
	if err != nil {
		return nil, err
	}
	pole := newCurve(form, sigmaEq).pole
	minT := gamma * (theta * k) * (theta * k) / s.Epsilon
	cs := []Condition{
		atLeast(Main, "sigma", s.Sigma, sigmaEq),
		atLeast(Main, "delta", 1/n, s.Delta),
		above(Main, "epsilon", 0.5, s.Epsilon),
		atLeast(Main, "N", n, 10000),
		atLeast(Main, "theta", 6.85, theta),
		atLeast(Main, "minK", 4/(math.E*math.E)*k*k, 0.5-math.Log(s.Delta)),
		atLeast(Main, "minT", s.Rounds, minT),
		atLeast(SimpleF, "treq1", safeG(sigmaEq)*n, s.MaxSize),
		atLeast(SimpleF, "treq2", pole*pole*(gamma*k), s.Epsilon),
		atLeast(SimpleF, "treq3", s.Rounds, minT), // with s̄ = kN/T, (minT) and (treq3) are the same
		atLeast(SimpleF, "treq4", s.Sigma, sigmaEq),
	}
	for _, c := range cs {
		if math.IsNaN(c.Margin) || math.IsInf(c.Margin, 0) && !math.IsInf(s.Sigma, 0) {
			return nil, fmt.Errorf("condition %s of Theorem %s leaves the range of float64", c.Name,
				c.Theorem)
		}
	}
	return cs, nil
}

func atLeast(theorem, name string, have, need float64) Condition {
	margin := have/need - 1
	return Condition{theorem, name, margin >= 0, margin}
}

// above returns a condition as atLeast does, for the strict inequality have > need.
func above(theorem, name string, have, need float64) Condition {
	margin := have/need - 1
	return Condition{theorem, name, margin > 0, margin}
}

// safeG is g(σ), rounded down.
func safeG(sigma float64) float64 { return gOf(sigma) * (1 - slack) }
