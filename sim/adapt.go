package sim

import (
	"fmt"
	"math"
)

// Adapt is how far a client adapts its sample sizes to its speed. It draws s_i
// times a factor in [1/Adapt, Adapt], such that its rounds take about as long as a
// client of speed 1 is expected to take for s_i. The factor is the nominal mean
// time of a gradient over the client's own mean time so far; a sample has at least
// 1 and at most all of the client's records. 0: the sizes are the mechanism's.
//
// T, the step sizes η̄_i and Υ stay those of the nominal sizes. Sample, noise and
// ledger are of the size that is really drawn; it depends on times, not on
// records.
type Adapt float64

// MaxAdapt bounds the factor.
const MaxAdapt = 1000

// Validate reports a factor outside its range.
func (a Adapt) Validate() error {
	if a != 0 && !(a > 1 && a <= MaxAdapt) {
		return fmt.Errorf("adapt = %v, must be 0 or in (1, %d]", float64(a), MaxAdapt)
	}
	return nil
}

// largest returns the largest size that can be drawn for a nominal one, of n
// records.
func (a Adapt) largest(nominal, n int) int {
	if a == 0 {
		return nominal
	}
	return scaled(nominal, float64(a), n)
}

// pace is what a client has computed so far, in rounds that ended.
type pace struct {
	gradients int // gradients computed, as expected: Σ s
	spent     Time
}

// size returns the size to be drawn for a nominal one, of n records; mean is the
// nominal time of a gradient, in nanoseconds.
func (a Adapt) size(nominal, n int, mean float64, p pace) int {
	if p.gradients == 0 {
		return nominal
	}
	factor := mean * float64(p.gradients) / float64(p.spent) // the factor is +Inf if the rounds took no time
	return scaled(nominal, min(max(factor, 1/float64(a)), float64(a)), n)
}

func scaled(nominal int, factor float64, n int) int {
	return int(min(max(math.Round(float64(nominal)*factor), 1), float64(n)))
}
