package f32

import (
	"math"
	"testing"
)

// logisticCase is one vector of arguments of LogisticSteps, and what goes with it.
type logisticCase struct {
	squares, dot, side []float64
	common             Logistic
}

// drawLogistic draws n examples. Norms are on both sides of C.
func drawLogistic(n int, seed uint64) logisticCase {
	r := source(seed)
	c := logisticCase{squares: make([]float64, n), dot: make([]float64, n), side: make([]float64, n),
		common: Logistic{Bias: r.NormFloat64(), Lambda: r.Float64() / 100, Ridge: r.Float64(), Slack: 0x1p-45,
			Clip: 1 + r.Float64(), Margin: 1 + 0x1p-21, Most: 1.3e154}}
	for i := range n {
		c.dot[i] = r.NormFloat64() * math.Ldexp(1, i%12-8)
		c.squares[i] = 1 + 9*r.Float64()
		c.side[i] = math.Copysign(0, r.Float64()-0.5)
	}
	return c
}

// The kernels of logistic regression are their portable twin, bit for bit, with numbers that
// are not finite too, and write nothing else.
func TestLogisticKernels(t *testing.T) {
	eachClass(t, func(t *testing.T) {
		for n := 0; n <= 72; n += WideLanes {
			for trial := range uint64(24) {
				c := drawLogistic(n, 50+trial)
				switch trial % 4 {
				case 1:
					c.common.Clip = math.Inf(1)
				case 2:
					specialAt(c.squares)
					specialAt(c.dot)
				case 3:
					c.common.Lambda, c.common.Ridge, c.common.Bias = 0, 0, 0
				}
				step, stepAll := guarded(c.dot)
				factor, factorAll := guarded(c.squares)
				want, wantAll := guarded(c.dot)
				wantFactor, wantFactorAll := guarded(c.squares)
				LogisticSteps(step, factor, c.dot, c.side, &c.common)
				logisticStepsPortable(want, wantFactor, c.dot, c.side, &c.common)
				if !sameWides(stepAll, wantAll) || !sameWides(factorAll, wantFactorAll) {
					t.Fatalf("%+v: steps %v, factors %v, want %v, %v", c, step, factor, want, wantFactor)
				}
			}
		}
	})
}

// The steps are those of clipped gradients as the formulas have them, and norms that are
// none are seen.
func TestLogisticSteps(t *testing.T) {
	const n, tolerance = 4000, 1e-12
	eachClass(t, func(t *testing.T) {
		clipped := 0
		c := drawLogistic(n, 49)
		factor, step := append([]float64(nil), c.squares...), make([]float64, n)
		LogisticSteps(step, factor, c.dot, c.side, &c.common)
		for i, dot := range c.dot {
			z := dot + c.common.Bias
			a := 1 / (1 + math.Exp(-z))
			if math.Signbit(c.side[i]) {
				a = -1 / (1 + math.Exp(z))
			}
			norm := math.Sqrt(a*a*c.squares[i] + 2*a*c.common.Lambda*z + c.common.Ridge)
			want := min(1, c.common.Clip/(norm*c.common.Margin))
			if want < 1 {
				clipped++
			}
			if !(math.Abs(factor[i]-want) <= tolerance) || !(math.Abs(step[i]-want*a) <= tolerance) {
				t.Fatalf("z = %v, y = %v: factor %v, step %v, want %v, %v", z, c.side[i], factor[i], step[i], want,
					want*a)
			}
			if factor[i] < 1 && !(norm*factor[i] < c.common.Clip) {
				t.Fatalf("norm %v times %v is above C = %v", norm, factor[i], c.common.Clip)
			}
		}
		if clipped < n/10 || clipped > n-n/10 {
			t.Fatalf("%d of %d are clipped: of one side there are too few", clipped, n)
		}
		for _, square := range []float64{math.NaN(), math.Inf(1), math.MaxFloat64} {
			c := drawLogistic(WideLanes, 48)
			step := make([]float64, WideLanes)
			c.squares[3], c.common.Most = square, 1e100
			LogisticSteps(step, c.squares, c.dot, c.side, &c.common)
			for i, f := range c.squares {
				if math.IsNaN(f) != (i == 3) || math.IsNaN(step[i]) != (i == 3) {
					t.Errorf("‖x‖² = %v: example %d has the factor %v, the step %v", square, i, f, step[i])
				}
			}
		}
	})
}

func TestLogisticStepsPanicOnMisuse(t *testing.T) {
	x, l := make([]float64, 8), &Logistic{Clip: 1}
	if panics(func() { LogisticSteps(x, x, x, x, l) }) {
		t.Fatal("what fits panics")
	}
	for i := range 4 {
		of := [4][]float64{x, x, x, x}
		of[i] = x[:0]
		if !panics(func() { LogisticSteps(of[0], of[1], of[2], of[3], l) }) {
			t.Errorf("a shorter argument %d does not panic", i)
		}
	}
	if y := x[:7]; !panics(func() { LogisticSteps(y, y, y, y, l) }) {
		t.Error("a part of a vector does not panic")
	}
}
