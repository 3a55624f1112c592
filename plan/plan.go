// Package plan is the DP calculator: it turns a privacy budget into the rounds,
// sample sizes and noise of a client, before anything is trained.
//
// A run has three numbers: the noise multiplier σ, the batch size s and the rounds
// T. An accountant turns them into ε, and k = sT/N is the number of epochs. [Solve]
// finds those that are not given, by the tight accountant pld unless another
// [Method] is named; [ClosedForm] is the paper's Theorem simpleF (see package
// closedform). Without a batch size it recommends one, see [Plan.Recommend], and
// [Compare] compares several. [Calibrate] solves for one number of a release,
// [Plan.Tighten] and [Plan.Frontier] show what a tight accountant allows instead of
// a plan, and [Replan] plans the next rounds after some that were run already.
package plan

import (
	"context"
	"errors"
	"math"

	"proactivedp/dp"
	"proactivedp/dp/closedform"
	"proactivedp/internal/decimal"
	"proactivedp/rng"
)

// maxCount is up to where float64 counts by ones.
const maxCount = decimal.MaxWhole

// The ranges of a Request, ends included: within them there is always a plan,
// feasible or not. δ, and σ for the closed form, have those of package
// closedform.
const (
	minEpsilon, maxEpsilon = 1e-8, 1e4
	minEpochs, maxEpochs   = 1e-6, 1e9
	maxTheta               = 1e6
	maxClients             = 1_000_000
)

// Plan is the answer to a Request. Sizes are expected sizes of Poisson samples.
// Whole numbers are rounded to the side of privacy: rounds up, sizes down.
//
// With θ > 1 the sizes of the plan, SMax and Run.SampleSize too, are MEAN
// sizes s̄ = K/T, as in the paper; a single round may sample θ·s̄.
//
// A Plan is made by Solve. The methods of any other return an error or, if they
// have none to return, may panic.
type Plan struct {
	N      int     `json:"n"`
	Epochs float64 `json:"epochs"` // k of one client; 0 if it was not found
	Theta  float64 `json:"theta"`

	// TargetEpsilon is the ε requested. Epsilon is the upper bound per record, at most
	// the target, or the value of what is no guarantee.
	TargetEpsilon float64 `json:"target_epsilon,omitempty"`
	Epsilon       float64 `json:"epsilon"`
	Delta         float64 `json:"delta"`
	Sigma         float64 `json:"sigma"` // 0 if it was not found

	// Gamma is γ of the closed form, at ε and all rounds that use one record, in the
	// method's form: corrected unless that is Printed or Paper. Like the other numbers of
	// the theorem it is nil by another method.
	Gamma        *float64 `json:"gamma"`
	GammaPrinted *float64 `json:"gamma_printed"` // as the paper prints it, to compare only

	TMin     int      `json:"t_min"`      // the least number of rounds; 2^53 stands for more, with no run
	TMinReal *float64 `json:"t_min_real"` // what the theorem gives
	SMax     int      `json:"s_max"`      // largest (mean) sample size, at most K
	SMaxReal *float64 `json:"s_max_real"` // K/TMinReal
	Binding  string   `json:"binding"`    // what sets TMin: condition "treq1" or "treq3", or "epsilon"

	// TMinAsym is T = θ²k²/(2ε) as the paper prints it, at most 2^53, and SMaxAsym
	// its size, at most K. They are no bounds: no guarantee holds at them. Only the
	// closed form has them.
	TMinAsym *int `json:"t_min_asym"`
	SMaxAsym *int `json:"s_max_asym"`

	Adjacency  dp.Adjacency `json:"adjacency"`
	Sampling   dp.Sampling  `json:"sampling"`
	Method     Method       `json:"method"`
	Accountant string       `json:"accountant"`
	Kind       dp.Kind      `json:"kind"`

	// Feasible says whether there is a run that the method accounts for within
	// the budget; for the closed form, one that meets all of Theorem simpleF.
	// If not, Reason says why and what would do, and Run is nil.
	Feasible bool   `json:"feasible"`
	Reason   string `json:"reason,omitempty"`
	Run      *Run   `json:"run,omitempty"`

	// Remedies are what would do, each for itself, where the plan is not feasible.
	Remedies Remedies `json:"remedies,omitempty"`

	// PerClient is what one client's rounds cost a record, PerRecord what the rounds of
	// all that hold it do: the same unless clients share their data. Both are nil if
	// there is no run.
	Clients   int       `json:"clients"`
	Shared    bool      `json:"shared"`
	PerClient *dp.Bound `json:"per_client,omitempty"`
	PerRecord *dp.Bound `json:"per_record,omitempty"`

	// Noise names the run that the noise is to be from, if that was said.
	Noise rng.Name `json:"noise,omitzero"`

	// Conditions are those of Theorems Main and simpleF, evaluated for the run that is
	// really done (k' = sT/N); without a run, for the real-valued TMinReal and
	// SMaxReal. Main need not hold for the plan to be feasible. There are none if the
	// method is not the closed form.
	Conditions []closedform.Condition `json:"conditions"`

	// Signal is what the run keeps of the signal of full batches, see [Batch]; nil without
	// a run or an ε. Recommended is the batch size that is recommended at the same ε and
	// epochs; it is set where no size was given, and by [Plan.Recommend].
	Signal      *float64 `json:"signal"`
	Recommended *Batch   `json:"recommended,omitempty"`

	// Theorem is what Theorem simpleF needs for the same budget, to compare a plan by
	// another method with it; nil if it does not cover the question.
	Theorem *Theorem `json:"closed_form,omitempty"`

	// Tight is what a tight accountant allows; see [Plan.Tighten].
	Tight *Tight `json:"tight,omitempty"`
}

// Theorem is what Theorem simpleF says of a plan by another method. What it has no answer
// to is nil.
type Theorem struct {
	Sigma   *float64 `json:"sigma,omitempty"`         // its least σ, if an ε was given, and with it
	SMax    *int     `json:"s_max,omitempty"`         // the largest batch size for the plan's epochs
	Epsilon *float64 `json:"epsilon_upper,omitempty"` // ε of the plan's run, if only σ was given
}

// Run is what is really run: whole rounds of a whole size, as [Rounds] counts them.
type Run struct {
	SampleSize    int     `json:"sample_size"`       // s, the mean if θ > 1
	MaxSampleSize int     `json:"max_sample_size"`   // ⌊θs⌋
	Rounds        int     `json:"rounds"`            // T = ⌈K/s⌉ if epochs were given
	Computations  int     `json:"grad_computations"` // K' = sT
	Remainder     int     `json:"remainder"`         // K - K'; negative where whole rounds compute more than K
	SampleRate    float64 `json:"sample_rate"`       // q = s/N
}

// Solve returns the plan for r: what is not given, such that what is run costs
// at most ε. If a size is solved for it is the largest one, that is the fewest
// rounds; if σ is, it is the least. That no such run exists is no error: then
// Plan.Feasible is false. Errors are invalid requests; one that the method is
// not proved for wraps dp.ErrNotCovered. Once ctx is done the error is its cause,
// here and wherever else an accountant is asked.
func Solve(ctx context.Context, r Request) (*Plan, error) {
	if err := r.Validate(); err != nil {
		return nil, err
	}
	p := r.plan()
	solve := p.calculate
	if p.Method.isClosedForm() && r.isJoint() {
		solve = p.solveJointly
	}
	if err := ended(ctx, solve(ctx, r)); err != nil {
		return nil, err
	}
	if p.Run != nil && p.budget() > 0 {
		p.Signal = p.signalAt(p.budget(), p.Sigma, p.Run.SampleSize, p.Run.Rounds)
	}
	if !p.Method.isClosedForm() && p.Adjacency == dp.AddOrRemove {
		p.Theorem = p.theorem(ctx, r)
	}
	return p, nil
}

// theorem returns what Theorem simpleF says of the same budget or run; nil if nothing.
func (p *Plan) theorem(ctx context.Context, r Request) *Theorem {
	switch {
	case r.Epsilon != 0 && p.Epochs != 0:
		q, err := Solve(ctx, Request{N: p.N, Epochs: p.Epochs, Epsilon: r.Epsilon, Delta: p.Delta, Theta: p.Theta,
			Clients: p.Clients, Shared: p.Shared, Method: ClosedForm})
		if err == nil && q.Feasible {
			return &Theorem{Sigma: &q.Sigma, SMax: &q.SMax}
		}
	case r.Epsilon == 0 && p.Run != nil:
		b, err := p.priceByForm(closedform.Corrected, p.copies())(p.Sigma, p.Run.SampleSize, p.Run.Rounds)
		if err == nil && !math.IsInf(b.EpsilonUpper, 1) {
			return &Theorem{Epsilon: &b.EpsilonUpper}
		}
	}
	return nil
}

// holders is how many clients use a record; clients is 0 if it is not given.
func holders(clients int, shared bool) int {
	if shared {
		return max(clients, 1)
	}
	return 1
}

// budget is the ε that the plan was allowed, which its run need not use up.
func (p *Plan) budget() float64 { return max(p.Epsilon, p.TargetEpsilon) }

// copies is how many clients use a record.
func (p *Plan) copies() int { return holders(p.Clients, p.Shared) }

// runs sets what is run, T rounds of mean size s out of K computations.
func (p *Plan) runs(s, rounds, k int) {
	p.Run = &Run{
		SampleSize: s, MaxSampleSize: p.largest(s), Rounds: rounds, Computations: s * rounds,
		Remainder: k - s*rounds, SampleRate: float64(s) / float64(p.N),
	}
}

// made reports a plan that cannot be used.
func (p *Plan) made() error {
	if p == nil || p.N < 1 {
		return errors.New("this Plan was not made by Solve")
	}
	return nil
}
