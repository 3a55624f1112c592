package f32

import "math"

// Logistic holds what all examples of a batch have in common when LogisticSteps clips the gradients of
// logistic regression. Let x̄ = (x, 1) be the features of an example with a 1 for the bias b, and w̄ = (w,
// b) the parameters. For an example with z = wᵀx + b and label y, the gradient is g = a·x̄ + λw̄ with a =
// σ(z) − y. Here σ is the logistic function and λ the ridge penalty.
type Logistic struct {
	Bias   float64 // b
	Lambda float64 // λ
	Ridge  float64 // ‖λw̄‖²
	Slack  float64 // how much the computed ‖g‖² may be too small, relative to ‖a·x̄‖² + ‖λw̄‖²
	Clip   float64 // the clipping norm C
	Margin float64 // the factor of a norm before it is compared with C
	Most   float64 // the largest valid norm
}

// LogisticSteps computes the clip factors of gradients of logistic regression, in the notation of [Logistic]. Each
// slice has one element for each example. Before the call, dot has wᵀx, factor has ‖x̄‖², and side has +0 for label 0
// or −0 for label 1. Afterwards, factor has the clip factor min(1, C/(‖g‖·Margin)), or NaN if ‖g‖ is above Most or
// NaN, and step has factor·a. All slices must have the same length, a multiple of WideLanes.
func LogisticSteps(step, factor, dot, side []float64, l *Logistic) {
	if n := len(step); n%WideLanes != 0 || len(factor) != n || len(dot) != n || len(side) != n {
		panic("f32: LogisticSteps of unequal lengths, or not of whole vectors")
	}
	kernels.logisticSteps(step, factor, dot, side, l)
}

func logisticStepsPortable(step, factor, dot, side []float64, l *Logistic) {
	for i, d := range dot {
		step[i] = -math.Abs(d + l.Bias)
	}
	kernels.expWide(step) // some classes have this kernel but none for the rest
	for i, e := range step {
		z, flip := dot[i]+l.Bias, math.Float64bits(side[i])
		part := e // σ(z) − y is σ(z) or −σ(−z)
		if !math.Signbit(math.Float64frombits(math.Float64bits(z) ^ flip)) {
			part = 1
		}
		a := math.Float64frombits(math.Float64bits(part*(1/(1+e))) ^ flip)
		a2 := float64(float64(a*a) * factor[i])
		norm2 := a2 + float64(float64(2*a*l.Lambda)*z) + l.Ridge + float64(l.Slack*(a2+l.Ridge))
		if norm2 < 0 {
			norm2 = 0
		}
		norm := math.Sqrt(norm2)
		scaled := float64(norm * l.Margin)
		factor[i] = 1
		switch {
		case !(norm <= l.Most):
			factor[i] = math.NaN()
		case scaled > l.Clip:
			factor[i] = l.Clip / scaled
		}
		step[i] = float64(factor[i] * a)
	}
}
