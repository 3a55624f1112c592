package closedform

import (
	"errors"
	"fmt"

	"proactivedp/dp"
)

// These are the limits of the arguments of this package: of δ, the number of records N and the noise multiplier σ.
// The limits themselves are allowed. They are far wider than any practical use, and nothing overflows float64 within
// them. For a value outside, the error names the argument.
const (
	MinDelta = 1e-300 // least δ; δ must also be below 1
	MaxN     = 1 << 53
	// MinSigma is the least noise multiplier σ for accounting and planning. It is slightly above √2: at √2 and below,
	// the paper's Theorem simpleF gives no ε, and between √2 and MinSigma rounding would make ε noticeably larger.
	MinSigma = 1.4142136
	// MaxSigma is the largest noise multiplier σ that the accountants and budgets of this package accept.
	MaxSigma = 1e6

	minEpsilon, maxEpsilon = 1e-60, 1e30
	minEpochs, maxEpochs   = 1e-20, 1e20
	maxTheta               = 1e10
	maxFreeSigma           = 1e20 // the largest σ of [Epsilon], because a Setting's noise may be free
	// The arguments of γ(σ, x): all σ_eq(ε, δ) and ε/k of the ranges above, and some σ below √2 so
	// that the function can be studied there.
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

// notCovered joins the errors, if any, and wraps dp.ErrNotCovered.
func notCovered(errs ...error) error {
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("%w: %w", err, dp.ErrNotCovered)
	}
	return nil
}
