package closedform

import (
	"errors"
	"fmt"

	"proactivedp/dp"
)

// The ranges of the arguments, ends included, at which the package's functions
// are tested, corners and all. Within them nothing leaves the range of float64.
// They are far wider than any use; what is outside is refused by name.
const (
	MinDelta = 1e-300 // δ is below 1, besides
	MaxN     = 1 << 53
	// MinSigma is √2, at and below which the theorem has no ε, and a little:
	// closer to it the rounding of ε is not small.
	MinSigma = 1.4142136
	// MaxSigma is up to where noise is accounted and planned.
	MaxSigma = 1e6

	minEpsilon, maxEpsilon = 1e-60, 1e30
	minEpochs, maxEpochs   = 1e-20, 1e20
	maxTheta               = 1e10
	maxFreeSigma           = 1e20 // what Epsilon takes, as the noise of a Setting may be free
	maxPower               = 100  // the power of a growing sequence
	// The arguments of γ(σ, x) are all σ_eq(ε, δ) and ε/k of the ranges above, and
	// some σ below √2, for those who want to see the function there.
	minGammaSigma, maxGammaSigma = 0.1, 1e35
	minX, maxX                   = 1e-250, 1e100
)

func checkEpsilon(eps float64) error { return dp.CheckRange("epsilon", eps, minEpsilon, maxEpsilon) }

func checkEpochs(k float64) error { return dp.CheckRange("epochs k", k, minEpochs, maxEpochs) }

func checkDelta(delta float64) error { return dp.CheckDelta(delta, MinDelta) }

func checkN(n int) error {
	if n < 1 || int64(n) > MaxN {
		return fmt.Errorf("data set size N = %d, must be in [1, 2^53 = %d]", n, int64(MaxN))
	}
	return nil
}

// notCovered marks errors, if any, as outside what the accountant covers.
func notCovered(errs ...error) error {
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("%w: %w", err, dp.ErrNotCovered)
	}
	return nil
}
