// Package plan turns a privacy budget (ε, δ) into a training before it starts: the number of rounds, the batch size
// and the noise multiplier of each client. It is the paper's "DP calculator". [Solve] answers a [Request], which
// gives some of the numbers, with a [Plan], which has all of them. [Calibrate] finds a single number.
//
// A training is described by the noise multiplier σ, the batch size s and the rounds T. An accountant turns them into
// ε; the work is k = sT/N epochs. [Solve] finds the numbers that are not given. By default, the tight accountant of
// package dp/pld computes ε; with the [Method] [ClosedForm], the paper's Theorem simpleF does (see package
// dp/closedform). Without a batch size it recommends one, see [Plan.Recommend], and [Compare] compares several.
// [Plan.Tighten] and [Plan.Frontier] compare a plan with what a tight accountant allows. [Replan] plans further
// rounds after rounds that already ran.
package plan

import (
	"context"
	"fmt"
	"math"

	"proactivedp/dp"
	"proactivedp/dp/closedform"
	"proactivedp/internal/decimal"
	"proactivedp/rng"
)

// maxCount is the largest integer up to which float64 represents all integers.
const maxCount = decimal.MaxWhole

// The ranges of a Request, ends included. Within them there is always a plan, feasible or not. The
// ranges of δ, and of σ for the closed form, are those of package closedform.
const (
	minEpsilon, maxEpsilon = 1e-8, 1e4
	minEpochs, maxEpochs   = 1e-6, 1e9
	maxTheta               = 1e6
	maxClients             = 1_000_000
)

// Plan is the answer of [Solve] to a [Request]. Under Poisson sampling, batch sizes are expected sizes. Whole numbers
// are rounded to the safe side: rounds up, sizes down.
//
// Batch sizes may vary between rounds. θ (Theta) is the largest size divided by the mean; 1 means a constant size. If
// θ is above 1, the sizes of the plan, including SMax and Run.SampleSize, are mean sizes s̄ = K/T (for K gradients in
// T rounds), as in the paper, and a single round may sample θ·s̄ records.
//
// Use Solve to make a Plan. The methods of any other Plan return an error or, if they have no error result, may
// panic.
type Plan struct {
	N      int     `json:"n"`      // number of records of the client
	Epochs float64 `json:"epochs"` // number of epochs k of one client; 0 if not found
	Theta  float64 `json:"theta"`  // θ, see above

	// TargetEpsilon is the requested ε. Epsilon is an upper bound on the ε of a record, at most the target.
	// The methods Printed and Paper guarantee nothing; for them Epsilon is only the value that they
	// compute.
	TargetEpsilon float64 `json:"target_epsilon,omitempty"`
	Epsilon       float64 `json:"epsilon"`
	Delta         float64 `json:"delta"`
	Sigma         float64 `json:"sigma"` // noise multiplier σ; 0 if none was found

	// Gamma is the constant γ (above 2) in the paper's theorem, for all rounds that use one record: the theorem
	// requires at least γθ²k²/ε rounds. It is the corrected γ, except with the methods Printed and Paper. If the
	// plan's method is not a closed form (a form of the theorem), Gamma and all other numbers of the theorem are nil.
	Gamma        *float64 `json:"gamma"`
	GammaPrinted *float64 `json:"gamma_printed"` // γ as the paper prints it (see closedform.Form), for comparison only

	// TMin is the least number of rounds within the budget, with the plan's σ and K gradients: fewer rounds would need
	// larger batches, which cost more. Unless the method is a closed form, it is the number of rounds of Run. 2^53
	// means at least 2^53; then Run is nil.
	TMin int `json:"t_min"`
	// TMinReal is the least number of rounds by the paper's theorem, before it is rounded up; nil if the method is
	// not a closed form.
	TMinReal *float64 `json:"t_min_real"`
	// SMax is the largest batch size within the budget (the mean size if sizes vary). It is at most K, the number of
	// gradients that a client computes (epochs times N).
	SMax int `json:"s_max"`
	// SMaxReal is SMax before it is rounded down: the number of gradients K divided by TMinReal. It is nil if the
	// method is not a closed form.
	SMaxReal *float64 `json:"s_max_real"`
	// Binding says which requirement determines TMin: "epsilon", the budget, or a condition of the paper's Theorem
	// simpleF, "treq1" (sample rate) or "treq3" (rounds), see closedform.Conditions.
	Binding string `json:"binding"`

	// TMinAsym is the paper's approximation of TMin for comparison, T = θ²k²/(2ε), at most 2^53. Here k is the number
	// of epochs, and θ the largest batch size divided by the mean one. SMaxAsym is the batch size with which k epochs
	// take this number of rounds, at most K. A run with these numbers has no guarantee by the theorem. They are nil
	// if the plan's method is not a closed form.
	TMinAsym *int `json:"t_min_asym"`
	SMaxAsym *int `json:"s_max_asym"`

	Adjacency dp.Adjacency `json:"adjacency"`
	Sampling  dp.Sampling  `json:"sampling"`
	// Redraw says, for Allocation only, whether each epoch assigns the records to rounds anew.
	Redraw     dp.Redraw `json:"redraw,omitempty"`
	Group      int       `json:"group,omitempty"` // k > 1 if ε protects a person with up to k records; otherwise 0
	Method     Method    `json:"method"`          // how ε was computed
	Accountant string    `json:"accountant"`      // name of the accountant that computed ε
	Kind       dp.Kind   `json:"kind"`            // what the accountant's ε guarantees, such as an upper bound

	// Feasible reports whether a run exists whose cost is within the budget. For the closed form, the run
	// must meet all conditions of Theorem simpleF. If no such run exists, Reason says why and what would
	// help, and Run is nil.
	Feasible bool   `json:"feasible"`
	Reason   string `json:"reason,omitempty"`
	Run      *Run   `json:"run,omitempty"`

	// Remedies are changes to the request. Any one of them makes an infeasible plan feasible.
	Remedies Remedies `json:"remedies,omitempty"`

	// Clients is the number of clients, and Shared says whether all of them hold every record. PerClient is the ε of
	// a record in one client's rounds. PerRecord is its ε in the rounds of all clients that hold it. The two differ
	// only if clients share their data. Both are nil if there is no run.
	Clients   int       `json:"clients"`
	Shared    bool      `json:"shared"`
	PerClient *dp.Bound `json:"per_client,omitempty"`
	PerRecord *dp.Bound `json:"per_record,omitempty"`

	// Noise names the seed or secret of the run's noise and the number of the run, if the request names one in Root.
	Noise rng.Name `json:"noise,omitzero"`

	// Conditions are the requirements of the paper's Theorems Main and simpleF, each with whether the plan meets it.
	// Only plans by a closed form (the paper's theorem) have them. They are evaluated for the planned run or, without
	// a run, for TMinReal rounds of SMaxReal records. A feasible plan meets those of simpleF; it need not
	// meet those of Main.
	Conditions []closedform.Condition `json:"conditions"`

	// Signal is the size of the run's summed gradients compared with the noise, as a fraction of that of full batches
	// (all records in each round) within the same budget; see [Batch]. It is nil without a run or an ε. Recommended
	// is the recommended batch size at the same ε and epochs. It is set if the request gave no size, and by
	// [Plan.Recommend].
	Signal      *float64 `json:"signal"`
	Recommended *Batch   `json:"recommended,omitempty"`

	// Theorem has the numbers of the paper's Theorem simpleF for the same budget, for comparison, if the plan was
	// made by another accountant. It is nil if the theorem does not cover the request.
	Theorem *Theorem `json:"closed_form,omitempty"`

	// Tight has the ε of the plan by the accountant given to [Plan.Tighten], and the batch size and the noise that
	// this accountant allows within the budget. It is nil until [Plan.Tighten] is called.
	Tight *Tight `json:"tight,omitempty"`

	batches int // t of Allocation; 0 if it is not known yet
}

// Theorem has the numbers that the paper's Theorem simpleF (an upper bound on ε, see package closedform) gives for
// the budget of a plan by another accountant, for comparison. A field is nil if the theorem does not cover the
// request.
type Theorem struct {
	Sigma *float64 `json:"sigma,omitempty"` // the theorem's noise multiplier σ, if ε was given
	// SMax is the theorem's largest batch size within the budget, for the plan's epochs.
	SMax    *int     `json:"s_max,omitempty"`
	Epsilon *float64 `json:"epsilon_upper,omitempty"` // the theorem's ε for the plan's run, if σ was given and no ε
}

// Run is the training that a plan proposes, in whole numbers: T rounds with batch size s. If the epochs were given and
// not the rounds, [Rounds] says how T follows from the epochs. With random allocation, s only determines the number of
// rounds in an epoch, t = ⌈N/s⌉. Each of the N records is in one of them, so the batch of a round has N/t records on
// average, at most s.
type Run struct {
	SampleSize int `json:"sample_size"` // batch size s; the mean s̄ if batch sizes vary (θ above 1, see [Plan])
	// MaxSampleSize is the largest batch size, ⌊θs⌋, where θ is the largest size divided by the mean; s if sizes are
	// constant.
	MaxSampleSize int `json:"max_sample_size"`
	Batches       int `json:"batches,omitempty"` // for random allocation: number of rounds t in an epoch; otherwise 0
	Rounds        int `json:"rounds"`            // number of rounds T of each client
	Computations  int `json:"grad_computations"` // number of gradients that the run computes, K' = sT
	// Remainder is the number of planned gradients (K = epochs times N) that the run leaves out. It can be above 0 only
	// if both epochs and rounds were given: then s = ⌊K/T⌋, and T rounds may compute fewer than K gradients. If only
	// epochs were given, T is rounded up, so that no gradients are left out.
	Remainder int `json:"remainder"`
	// SampleRate is the sample rate q = s/N; for random allocation 1/t, with t rounds in an epoch.
	SampleRate float64 `json:"sample_rate"`
}

// Solve returns the plan for r: it finds the numbers that r does not give, such that the ε of a record is at most
// r.Epsilon. If it solves for the batch size, it chooses the largest one, which means the fewest rounds. If it solves
// for σ, it chooses the least.
//
// If no numbers meet the budget, Plan.Feasible is false, and Solve returns no error. Invalid requests are errors. The
// error wraps dp.ErrNotCovered if the accountant that r names does not cover the request. If ctx is cancelled, Solve
// returns context.Cause(ctx), like all functions here that use an accountant.
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
		p.Signal = p.signalAt(limitOf(p.budget(), p.Delta, p.Adjacency).mu, p.Sigma, p.Run.SampleSize, p.Run.Rounds)
	}
	if !p.Method.isClosedForm() && p.hasTheorem() {
		p.Theorem = p.theorem(ctx, r)
	}
	return p, nil
}

// hasTheorem reports whether Theorem simpleF is about such rounds.
func (p *Plan) hasTheorem() bool {
	return p.Adjacency == dp.AddOrRemove && p.Sampling == dp.Poisson && p.Group <= 1
}

// theorem returns the numbers of Theorem simpleF for the same budget or run, or nil if the theorem
// does not cover it.
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

// holders returns the number of clients that use a record. clients is 0 if not given.
func holders(clients int, shared bool) int {
	if shared {
		return max(clients, 1)
	}
	return 1
}

// budget returns the ε that the plan may spend. Its run may cost less.
func (p *Plan) budget() float64 { return max(p.Epsilon, p.TargetEpsilon) }

// copies returns the number of clients that use a record.
func (p *Plan) copies() int { return holders(p.Clients, p.Shared) }

// runs sets p.Run to T rounds of mean size s, out of k gradient computations.
func (p *Plan) runs(s, rounds, k int) {
	p.Run = &Run{
		SampleSize: s, MaxSampleSize: p.largest(s), Rounds: rounds, Computations: s * rounds,
		Remainder: max(k-s*rounds, 0), SampleRate: float64(s) / float64(p.N),
	}
	if p.Sampling == dp.Allocation {
		p.batches = p.batchesOf(s)
		p.Run.Batches, p.Run.SampleRate = p.batches, 1/float64(p.batches)
	}
}

func (p *Plan) made() error { return made(p != nil && p.N >= 1, "Plan", "Solve") }

// made returns an error if a value is not one that the named function returned.
func made(is bool, what, by string) error {
	if is {
		return nil
	}
	return fmt.Errorf("this %s was not made by %s", what, by)
}
