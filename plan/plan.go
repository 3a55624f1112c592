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

// The ranges of a Request, ends included: within them there is always a plan,
// feasible or not. σ and δ have those of package closedform.
const (
	minEpsilon, maxEpsilon = 1e-8, 1e4
	minEpochs, maxEpochs   = 1e-6, 1e9
	maxTheta               = 1e6
)

// Request is what a client wants. Exactly one of Sigma and Epsilon is given;
// the other follows from (treq4) with equality. A zero Sigma, Epsilon, Delta
// or Theta means that it is not given.
type Request struct {
	N       int     `json:"n"`                 // size of the client's data set, in [1, 2^53]; of neighbours, the larger
	Epochs  float64 `json:"epochs"`            // k = K/N in [1e-6, 1e9]: gradient computations over N; K ≤ 2^53
	Sigma   float64 `json:"sigma,omitempty"`   // noise multiplier, in [1.4142136, 1e6]: more than √2
	Epsilon float64 `json:"epsilon,omitempty"` // ε in [1e-8, 1e4]
	Delta   float64 `json:"delta,omitempty"`   // δ in [1e-300, 1); not given: 1/N
	Theta   float64 `json:"theta,omitempty"`   // θ = s_max/s̄ in [1, 1e6]; not given: 1, constant sizes
}

// Validate reports every field of r that is outside its range.
func (r Request) Validate() error {
	var errs []error
	fail := func(format string, args ...any) { errs = append(errs, fmt.Errorf("plan: "+format, args...)) }
	within := func(name string, v, lo, hi float64, why string) bool {
		ok := v >= lo && v <= hi
		if !ok {
			fail("%s = %v, must be in [%v, %v]%s", name, v, lo, hi, why)
		}
		return ok
	}
	goodN := r.N >= 1 && int64(r.N) <= maxCount
	if !goodN {
		fail("data set size N = %d, must be in [1, 2^53 = %d]", r.N, int64(maxCount))
	}
	if within("epochs k", r.Epochs, minEpochs, maxEpochs, "") && goodN && r.Epochs*float64(r.N) > maxCount {
		fail("epochs k = %v of N = %d, must be at most 2^53 gradient computations", r.Epochs, r.N)
	}
	switch {
	case r.Sigma == 0 && r.Epsilon == 0:
		fail("sigma and epsilon are both missing, one must be given")
	case r.Sigma != 0 && r.Epsilon != 0:
		fail("sigma = %v and epsilon = %v, only one may be given", r.Sigma, r.Epsilon)
	}
	if r.Sigma != 0 {
		within("sigma", r.Sigma, closedform.MinSigma, closedform.MaxSigma, ": the theorem needs more than √2")
	}
	if r.Epsilon != 0 {
		within("epsilon", r.Epsilon, minEpsilon, maxEpsilon, "")
	}
	switch {
	case r.Delta == 0 && r.N == 1:
		fail("delta is missing and 1/N = 1, must be in [%v, 1)", closedform.MinDelta)
	case r.Delta != 0 && closedform.CheckDelta(r.Delta) != nil:
		fail("delta = %v, must be in [%v, 1)", r.Delta, closedform.MinDelta)
	}
	if r.Theta != 0 {
		within("theta", r.Theta, 1, maxTheta, "")
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

	TMin     int     `json:"t_min"`      // least number of rounds; 2^53 if more, then there is no run
	TMinReal float64 `json:"t_min_real"` // what the theorem gives
	SMax     int     `json:"s_max"`      // largest (mean) sample size, at most K
	SMaxReal float64 `json:"s_max_real"` // K/TMinReal
	Binding  string  `json:"binding"`    // the condition that sets TMin: "treq1" or "treq3"

	// T = θ²k²/(2ε) as the paper prints it, at most 2^53, and its size, at most
	// K. It is not a bound: no guarantee holds at it.
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
// exists is no error: then Plan.Feasible is false. Errors are invalid requests.
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
	p.TMin, p.TMinAsym = rounds(limits.TMin), rounds(limits.TMinAsym)
	p.SMax = int(min(limits.SMax, float64(computations)))
	p.SMaxAsym = int(min(limits.SMaxAsym, float64(computations)))

	if err := p.choose(computations); err != nil {
		return nil, err
	}
	return p, nil
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

// rounds is T rounded up. As K ≤ 2^53, sizes are below 1 from 2^53 rounds on, so
// nothing is run that the limit is wrong for; TMinReal has the number.
func rounds(t float64) int { return int(min(math.Ceil(t), maxCount)) }
