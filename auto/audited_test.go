package auto

import (
	"testing"

	"proactivedp/audit"
)

// An audit of the loop finds no violation of the guarantee of its filter. It does find a violation of a
// false claim, with a hundredth of the ε. Each of the two results is wrong with probability 0.02.
func TestLoopIsAudited(t *testing.T) {
	loop, err := Course(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	bounds := map[bool]float64{}
	for _, honest := range []bool{true, false} {
		c := loop
		if !honest {
			c.Guarantee.EpsilonUpper = 0.06
		}
		o := audit.DefaultOptions()
		found, err := c.Audit(t.Context(), &o, 400, 0.01)
		if err != nil {
			t.Fatal(err)
		}
		if found.Violated == honest {
			t.Errorf("honest: %v, and found ε ≥ %v of %v", honest, found.EpsilonLowerBound, found.EpsilonUpper)
		}
		bounds[honest] = found.EpsilonLowerBound
	}
	t.Logf("ε ≥ %v, at most %v is guaranteed", bounds[true], loop.Guarantee.EpsilonUpper)
}
