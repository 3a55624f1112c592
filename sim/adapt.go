package sim

import (
	"fmt"
	"math"
)

// Adapt lets clients adapt their batch sizes to their speed. It is 0, which means no, or a number in (1, MaxAdapt]:
// the largest factor by which a client may change its batch size. Speeds are relative (see Config.Speeds): a client
// with speed 1 needs, on average, the time for a gradient that Config.Timing gives, and one with speed 2 half of it.
// A client that is slower than speed 1 then draws fewer records, and a faster one draws more, so that their rounds
// take about as long as those of a client with speed 1.
//
// In each round i, the client draws s_i times a factor, on average, where s_i is the planned batch size (see
// Config.Mechanism). The factor is the mean time of a gradient at speed 1 divided by the mean time of this client's
// gradients so far, limited to [1/Adapt, Adapt]. The size is at least 1 and at most the number of the client's
// records.
//
// The number of rounds, the step sizes and the permissible delay do not change, because they are computed from the
// mechanism's sizes s_i. The ledger (the list of the client's rounds from which ε is computed) has the adapted size, as
// the batch does. This size depends on how long rounds took, and not on the content of records.
type Adapt float64

// MaxAdapt is the largest value of [Adapt], the factor by which a client may change its batch size.
const MaxAdapt = 1000

// Validate returns an error unless a is 0 (no adapting) or in (1, MaxAdapt].
func (a Adapt) Validate() error {
	if a != 0 && !(a > 1 && a <= MaxAdapt) {
		return fmt.Errorf("adapt = %v, must be 0 or in (1, %d]", float64(a), MaxAdapt)
	}
	return nil
}

// largest returns the largest size that a client with n records can draw when the mechanism's size is nominal.
func (a Adapt) largest(nominal, n int) int {
	if a == 0 {
		return nominal
	}
	return scaled(nominal, float64(a), n)
}

// pace is how much a client has computed in the rounds that it finished, and how long that took.
type pace struct {
	gradients int // expected number of gradients: Σ s
	spent     Time
}

// size returns the expected sample size of the next round of a client with n records and this pace.
// nominal is the mechanism's size, and mean the nominal time of a gradient in nanoseconds.
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
