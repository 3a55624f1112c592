package sim

import (
	"errors"
	"fmt"
	"math"

	"proactivedp/dp"
)

// Decay says how the step size falls with t, the gradient computations a client
// has behind it when a round starts: t = Σ_{j<i} s_j, of expected sizes.
type Decay string

// The step size schedules of the paper's parameter tables.
const (
	LinearDecay Decay = "linear"   // η₀/(1+βt), the strongly convex case
	SqrtDecay   Decay = "sqrt"     // η₀/(1+β√t), the plain convex and the non-convex case
	NoDecay     Decay = "constant" // always η₀
)

// StepSize is the diminishing step size sequence η̄_i.
type StepSize struct {
	Eta0  float64 // η₀ > 0
	Beta  float64 // β ≥ 0
	Decay Decay
}

// Validate reports every field outside its range.
func (s StepSize) Validate() error {
	var errs []error
	if !(s.Eta0 >= dp.MinScale && s.Eta0 <= dp.MaxScale) {
		errs = append(errs, fmt.Errorf("sim: eta0 = %v, must be above 0, in [%g, %g]", s.Eta0, dp.MinScale,
			dp.MaxScale))
	}
	if !(s.Beta >= 0 && s.Beta <= dp.MaxScale) {
		errs = append(errs, fmt.Errorf("sim: beta = %v, must be in [0, %g]", s.Beta, dp.MaxScale))
	}
	switch s.Decay {
	case LinearDecay, SqrtDecay, NoDecay:
	default:
		errs = append(errs, fmt.Errorf("sim: schedule = %q, must be %q, %q or %q", s.Decay, LinearDecay, SqrtDecay,
			NoDecay))
	}
	return errors.Join(errs...)
}

// At returns the step size after t gradient computations.
func (s StepSize) At(t int) float64 {
	switch s.Decay {
	case LinearDecay:
		return s.Eta0 / (1 + float64(s.Beta*float64(t)))
	case SqrtDecay:
		return s.Eta0 / (1 + float64(s.Beta*math.Sqrt(float64(t))))
	}
	return s.Eta0
}

// schedule holds what Setup fixes before round 0 for every client alike: T, the
// step sizes, and the gradient computations before each round. It is read-only.
type schedule struct {
	rounds int
	eta    []float32 // η̄_i of each of the T rounds
	before []int     // Σ_{j<i} s_j for i = 0 to T
}

func newSchedule(sizes dp.Sizes, rounds int, steps StepSize) *schedule {
	s := &schedule{rounds: rounds, eta: make([]float32, rounds), before: make([]int, rounds+1)}
	for i := range rounds {
		s.eta[i] = float32(steps.At(s.before[i]))
		s.before[i+1] = s.before[i] + sizes.At(i)
	}
	return s
}
