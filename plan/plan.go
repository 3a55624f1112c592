// Package plan is the DP calculator: it turns a privacy budget into the rounds,
// sample sizes and noise of a client, before anything is trained.
//
// The plan is that of Theorem simpleF, solved exactly and with the corrected γ
// (see package closedform). It is for one client and a record that only this
// client holds; if clients share records, their runs must be composed.
package plan

import (
	"errors"
	"fmt"
	"math"

	"proactivedp/dp"
	"proactivedp/dp/closedform"
)

// maxCount is up to where float64 counts by ones.
const maxCount = 1 << 53

// Request is what a client wants. Exactly one of Sigma and Epsilon is given;
// the other follows from (treq4) with equality. A zero Sigma, Epsilon, Delta
// or Theta means that it is not given.
type Request struct {
	N       int     `json:"n"`                 // size of the client's data set, ≥ 1; of neighbours, the larger
	Epochs  float64 `json:"epochs"`            // k = K/N > 0: gradient computations over N
	Sigma   float64 `json:"sigma,omitempty"`   // noise multiplier, more than √2
	Epsilon float64 `json:"epsilon,omitempty"` // ε > 0
	Delta   float64 `json:"delta,omitempty"`   // δ in (0, 1); not given: 1/N
	Theta   float64 `json:"theta,omitempty"`   // θ = s_max/s̄ ≥ 1; not given: 1, constant sizes
}

// Validate reports every field of r that is outside its range.
func (r Request) Validate() error {
	var errs []error
	fail := func(format string, args ...any) { errs = append(errs, fmt.Errorf("plan: "+format, args...)) }
	positive := func(v float64) bool { return v > 0 && !math.IsInf(v, 0) }
	if r.N < 1 {
		fail("data set size N = %d, must be at least 1", r.N)
	}
	if !positive(r.Epochs) {
		fail("epochs k = %v, must be finite and positive", r.Epochs)
	} else if r.N >= 1 && r.Epochs*float64(r.N) > maxCount {
		fail("epochs k = %v of N = %d, must be at most 2^53 gradient computations", r.Epochs, r.N)
	}
	switch {
	case r.Sigma == 0 && r.Epsilon == 0:
		fail("sigma and epsilon are both missing, one must be given")
	case r.Sigma != 0 && r.Epsilon != 0:
		fail("sigma = %v and epsilon = %v, only one may be given", r.Sigma, r.Epsilon)
	}
	if r.Sigma != 0 && !(positive(r.Sigma) && r.Sigma > math.Sqrt2) {
		fail("sigma = %v, must be finite and more than √2: below, the theorem has no ε", r.Sigma)
	}
	if r.Epsilon != 0 && !positive(r.Epsilon) {
		fail("epsilon = %v, must be finite and positive", r.Epsilon)
	}
	switch {
	case r.Delta == 0 && r.N == 1:
		fail("delta is missing and 1/N = 1, must be in (0, 1)")
	case r.Delta != 0 && closedform.CheckDelta(r.Delta) != nil:
		fail("delta = %v, must be in (0, 1)", r.Delta)
	}
	if r.Theta != 0 && (!(r.Theta >= 1) || math.IsInf(r.Theta, 0)) {
		fail("theta = %v, must be finite and at least 1", r.Theta)
	}
	return errors.Join(errs...)
}

// Plan is the answer to a Request. Sizes are expected sizes of Poisson samples.
// Whole numbers are rounded to the side of privacy: rounds up, sizes down.
//
// With θ > 1 the sizes of the plan, SMax and Run.SampleSize too, are MEAN
// sizes s̄ = K/T, as in the paper; a single round may sample θ·s̄.
type Plan struct {
	N      int     `json:"n"`
	Epochs float64 `json:"epochs"` // k
	Theta  float64 `json:"theta"`

	Epsilon float64 `json:"epsilon"` // upper bound
	Delta   float64 `json:"delta"`
	Sigma   float64 `json:"sigma"`

	Gamma        float64 `json:"gamma"`         // corrected, for k; every bound of the plan uses it
	GammaPrinted float64 `json:"gamma_printed"` // as the paper prints it, to compare only

	TMin     int     `json:"t_min"`      // least number of rounds
	TMinReal float64 `json:"t_min_real"` // what the theorem gives
	SMax     int     `json:"s_max"`      // largest (mean) sample size, at most K
	SMaxReal float64 `json:"s_max_real"` // K/TMinReal
	Binding  string  `json:"binding"`    // the condition that sets TMin: "treq1" or "treq3"

	// T = θ²k²/(2ε) as the paper prints it, and its size, at most K. It is not
	// a bound: no guarantee holds at it.
	TMinAsym int `json:"t_min_asym"`
	SMaxAsym int `json:"s_max_asym"`

	Adjacency  dp.Adjacency `json:"adjacency"`
	Sampling   dp.Sampling  `json:"sampling"`
	Accountant string       `json:"accountant"`
	Kind       dp.Kind      `json:"kind"`

	// Feasible says whether there is a run that meets all of Theorem simpleF.
	// If not, Reason says why, Run is nil, and the conditions are those of the
	// real-valued TMinReal and SMaxReal.
	Feasible bool   `json:"feasible"`
	Reason   string `json:"reason,omitempty"`
	Run      *Run   `json:"run,omitempty"`

	// Conditions of Theorems Main and simpleF, evaluated for the run that is
	// really done (k' = sT/N). Main need not hold for the plan to be feasible.
	Conditions []closedform.Condition `json:"conditions"`
}

// Run is what is really run: whole rounds of a whole size. As that leaves a
// remainder of K out, Rounds may be one below Plan.TMin, which is for all of K.
type Run struct {
	SampleSize    int     `json:"sample_size"`       // s, the mean if θ > 1
	MaxSampleSize int     `json:"max_sample_size"`   // ⌊θs⌋
	Rounds        int     `json:"rounds"`            // T = ⌊K/s⌋
	Computations  int     `json:"grad_computations"` // K' = sT
	Remainder     int     `json:"remainder"`         // K - K', not computed
	SampleRate    float64 `json:"sample_rate"`       // q = s/N
}

// Solve returns the plan with the fewest rounds, that is the largest sample
// size, for the budget and the gradient computations of r. That no such run
// exists is no error: then Plan.Feasible is false. Errors are invalid requests
// and numbers outside the range of the plan's types.
func Solve(r Request) (*Plan, error) {
	if err := r.Validate(); err != nil {
		return nil, err
	}
	p := &Plan{
		N: r.N, Epochs: r.Epochs, Theta: r.Theta, Epsilon: r.Epsilon, Delta: r.Delta, Sigma: r.Sigma,
		Adjacency: dp.AddOrRemove, Sampling: dp.Poisson, Accountant: closedform.Accountant{}.Name(), Kind: dp.Upper,
	}
	if p.Theta == 0 {
		p.Theta = 1
	}
	if p.Delta == 0 {
		p.Delta = 1 / float64(r.N)
	}
	var err error
	if r.Epsilon == 0 {
		p.Epsilon, err = closedform.Epsilon(p.Sigma, p.Delta)
	} else {
		p.Sigma, err = closedform.Sigma(p.Epsilon, p.Delta)
	}
	if err != nil {
		return nil, fmt.Errorf("plan: %w", err)
	}
	limits, err := closedform.Limit(closedform.Corrected, p.N, p.Epochs, p.Theta, p.Epsilon, p.Delta)
	if err != nil {
		return nil, fmt.Errorf("plan: %w", err)
	}
	printed, err := closedform.Gamma(closedform.Printed, p.Epsilon, p.Delta, p.Epochs)
	if err != nil {
		return nil, fmt.Errorf("plan: %w", err)
	}
	p.Gamma, p.GammaPrinted = limits.Gamma, printed
	p.TMinReal, p.SMaxReal, p.Binding = limits.TMin, limits.SMax, limits.Binding
	computations := count(p.Epochs * float64(p.N))
	if err := errors.Join(
		round(&p.TMin, "t_min", math.Ceil(limits.TMin)),
		round(&p.TMinAsym, "t_min_asym", math.Ceil(limits.TMinAsym)),
	); err != nil {
		return nil, err
	}
	p.SMax = int(min(limits.SMax, float64(computations)))
	p.SMaxAsym = int(min(limits.SMaxAsym, float64(computations)))

	return p, p.choose(computations)
}

// choose fills in what is run, or why nothing is, and the conditions there.
func (p *Plan) choose(computations int) error {
	setting := closedform.Setting{
		N: p.N, Computed: p.Epochs * float64(p.N), MaxSize: p.Theta * p.SMaxReal,
		Sigma: p.Sigma, Epsilon: p.Epsilon, Delta: p.Delta,
	}
	setting.Rounds = setting.Computed / p.SMaxReal
	switch {
	case computations < 1:
		p.Reason = fmt.Sprintf("k·N = %.3g is less than one gradient computation", setting.Computed)
	case p.SMax < 1:
		p.Reason = fmt.Sprintf("the largest sample size is %.3g, less than one record: allow a larger ε, or fewer epochs", p.SMaxReal)
	default:
		run := &Run{SampleSize: p.SMax, MaxSampleSize: int(p.Theta * float64(p.SMax)), Rounds: computations / p.SMax}
		run.Computations = run.Rounds * run.SampleSize
		run.Remainder = computations - run.Computations
		run.SampleRate = float64(run.SampleSize) / float64(p.N)
		p.Run = run
		setting.Rounds, setting.Computed = float64(run.Rounds), float64(run.Computations)
		setting.MaxSize = p.Theta * float64(run.SampleSize)
	}
	var err error
	if p.Conditions, err = closedform.Conditions(closedform.Corrected, setting); err != nil {
		return fmt.Errorf("plan: %w", err)
	}
	p.Feasible = p.Run != nil && closedform.Holds(p.Conditions, closedform.SimpleF)
	if p.Run != nil && !p.Feasible {
		p.Run, p.Reason = nil, "the run does not meet Theorem simpleF"
	}
	return nil
}

// count is K: the whole part of k·N, taking what k = K/N in float64 loses for
// rounding.
func count(kn float64) int {
	if whole := math.Round(kn); math.Abs(kn-whole) <= 4e-16*kn {
		return int(whole)
	}
	return int(kn)
}

func round(to *int, name string, v float64) error {
	if v > maxCount {
		return fmt.Errorf("plan: %s = %v is more than 2^53 rounds: allow a larger epsilon, or fewer epochs", name, v)
	}
	*to = int(v)
	return nil
}
