package rdp

import (
	"math"
	"testing"
)

// The loss is accurate where q is nearly 1 and e^w nearly nothing: there 1 + q(e^w − 1)
// is a difference of nearly equal numbers. With q = 1 − 2⁻³⁰ the sum of 2⁻³⁰ and q·e^w,
// both positive, is exact to an ulp or two.
func TestLossNearFullSampling(t *testing.T) {
	const left = 0x1p-30
	p := pair{q: 1 - left, sigma: 1}
	for _, w := range []float64{-15, -20, -25, -40, -100} {
		x := w + 0.5 // so that (2x − 1)/2σ² = w
		want := math.Log(left + p.q*math.Exp(w))
		if got := p.loss(x); math.Abs(got-want) > 1e-15*math.Abs(want) {
			t.Errorf("L at w = %v is %v, want %v", w, got, want)
		}
	}
}
