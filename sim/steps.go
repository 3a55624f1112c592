package sim

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"proactivedp/dp"
)

// Decay names a schedule: how a client's step size falls during training. In the formulas, η₀ is the initial step
// size (StepSize.Eta0) and β is StepSize.Beta. t is the number of gradients that the client has computed before the
// round i: t = Σ_{j<i} s_j, where s_j is the expected batch size of round j. K is the value of t after the last round.
type Decay string

// These are the step size schedules of the paper's parameter tables, as functions of t, the number of gradients that
// the client has computed before (see [Decay]).
const (
	LinearDecay Decay = "linear"   // η₀/(1+βt), the paper's schedule for strongly convex models
	SqrtDecay   Decay = "sqrt"     // η₀/(1+β√t), the paper's schedule for other models, convex or not
	NoDecay     Decay = "constant" // η₀ in all rounds
)

// These schedules lower the step size to 0 at the end of the training. They are not in the paper, and do not use β. t
// is the number of gradients before the round, and K their number in the whole training (see [Decay]).
const (
	ZeroDecay Decay = "zero" // η₀(1−t/K): falls linearly to 0
	// CosineDecay is η₀(1+cos(πt/K))/2: it falls to 0 along a cosine (Loshchilov, Hutter, arXiv 1608.03983, without
	// restarts).
	CosineDecay Decay = "cosine"
)

// Decays returns all step size schedules, the values of [Decay].
func Decays() []Decay { return []Decay{LinearDecay, SqrtDecay, NoDecay, ZeroDecay, CosineDecay} }

// Ends reports whether the schedule lowers the step size to 0 at the end of the training, as ZeroDecay and
// CosineDecay do. Such a schedule depends on the length of the training and does not use β.
func (d Decay) Ends() bool { return d == ZeroDecay || d == CosineDecay }

// StepSize determines the step size of each round: it starts at Eta0 and falls as Decay says. The step size
// multiplies the sum of a batch's gradients, not their mean. So divide a learning rate for the mean by the batch size.
type StepSize struct {
	Eta0 float64 // initial step size η₀ > 0
	// Beta is β ≥ 0, which says how fast the step size falls, see Decay. It must be 0 for ZeroDecay and CosineDecay,
	// which do not use it.
	Beta  float64
	Decay Decay
}

// Validate returns one error that lists every field outside its range.
func (s StepSize) Validate() error {
	var errs []error
	if !(s.Eta0 >= dp.MinScale && s.Eta0 <= dp.MaxScale) {
		errs = append(errs, fmt.Errorf("eta0 = %v, must be above 0, in [%g, %g]", s.Eta0, dp.MinScale,
			dp.MaxScale))
	}
	switch {
	case s.Decay.Ends() && s.Beta != 0:
		errs = append(errs, fmt.Errorf("beta = %v, must be 0: schedule %q depends on the share of the gradient "+
			"computations that is done, not on beta", s.Beta, s.Decay))
	case !(s.Beta >= 0 && s.Beta <= dp.MaxScale):
		errs = append(errs, fmt.Errorf("beta = %v, must be in [0, %g]", s.Beta, dp.MaxScale))
	}
	if !slices.Contains(Decays(), s.Decay) {
		errs = append(errs, fmt.Errorf("schedule = %q, must be one of %q", s.Decay, Decays()))
	}
	return errors.Join(errs...)
}

// At returns the step size, above 0, of the round before which the client has computed t gradients. k is the number
// of gradients that the client computes in the whole training, and 0 ≤ t < k.
func (s StepSize) At(t, k int) float64 {
	switch s.Decay {
	case LinearDecay:
		return s.Eta0 / (1 + float64(s.Beta*float64(t)))
	case SqrtDecay:
		return s.Eta0 / (1 + float64(s.Beta*math.Sqrt(float64(t))))
	case ZeroDecay:
		return s.Eta0 * (float64(k-t) / float64(k))
	case CosineDecay:
		// (1 + cos x)/2 = sin²((π−x)/2), which stays accurate near the end.
		half := math.Sin(math.Pi / 2 * (float64(k-t) / float64(k)))
		return s.Eta0 * float64(half*half)
	}
	return s.Eta0
}

// schedule has what Setup fixes before round 0, the same for every client of equal sizes: T, the step sizes, and the
// gradient computations before each round. It is read-only.
type schedule struct {
	rounds int
	most   int // the most rounds of any client; equal to rounds unless clients have their own sizes
	steps  StepSize
	size   int   // s, if before is nil
	before []int // Σ_{j<i} s_j for i = 0 to T; nil if all s_j are equal and no delay reads it
}

// newSchedule makes a schedule. counted says that a delay reads the field before.
func newSchedule(sizes dp.Sizes, rounds int, steps StepSize, counted bool) *schedule {
	s := &schedule{rounds: rounds, most: rounds, steps: steps}
	if size, constant := sizes.(dp.ConstantSizes); constant && !counted {
		s.size = int(size)
		return s
	}
	s.before = make([]int, rounds+1)
	for i := range rounds {
		s.before[i+1] = s.before[i] + sizes.At(i)
	}
	return s
}

// gradients returns Σ_{j<i} s_j, for i from 0 to T.
func (s *schedule) gradients(i int) int {
	if s.before == nil {
		return i * s.size
	}
	return s.before[i]
}

// eta returns the step size η̄_i of round i. It is computed each time, so that a long training needs no memory for it.
func (s *schedule) eta(i int) float32 {
	return float32(s.steps.At(s.gradients(i), s.gradients(s.rounds)))
}

// Clients with their own sizes have different numbers of rounds T_c, but all are to be equally far with their training.
// So k and Υ count the rounds of the clients with the most rounds T. Round i of client c takes the place of their rounds
// from ⌊i·T/T_c⌋ on, until its next round begins. For example, if T = 6 and T_c = 2, round 1 takes the place of rounds 3,
// 4 and 5. Without own sizes, round i takes the place of round i.

// begins returns the first round of the clients with the most rounds whose place round i takes, for i from 0 to T_c.
func (s *schedule) begins(i int) int { return i * s.most / s.rounds }

// ends returns the largest k of a broadcast that need not contain round i, for i from 0 to T_c. It is the last round whose
// place round i takes or, after the last round, T.
func (s *schedule) ends(i int) int {
	if i == s.rounds {
		return s.most
	}
	return s.begins(i+1) - 1
}

// contained returns the number of the client's rounds that v̂_k contains at least: those with ends(i) < k.
func (s *schedule) contained(k int) int { return ((k+1)*s.rounds - 1) / s.most }
