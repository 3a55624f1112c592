package closedform

import (
	"fmt"

	"proactivedp/dp"
)

// raise returns a number for which good is true: x or a number just above x. It first raises x by
// one unit in the last place. Near the pole ᾱ hardly moves with ε, and it takes up to a relative
// 1e-3 to make up for the rounding of γ.
func raise(name string, x float64, good func(float64) bool) (float64, error) {
	for up := 0.0; up < 1e-3; up = 2*up + ulp {
		if raised := x * (1 + up); good(raised) {
			return raised, nil
		}
	}
	return 0, fmt.Errorf("no guarantee: the conditions cannot be verified near %s = %v: %w", name, x,
		dp.ErrNotCovered)
}
