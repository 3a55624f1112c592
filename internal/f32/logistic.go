package f32

import "math"

// Logistic is what the gradients of logistic regression on a batch have in common: those
// of an example with the margin z = wᵀx + b and the label y are g = a·x̄ + λw̄, with
// a = σ(z) − y.
type Logistic struct {
	Bias   float64 // b
	Lambda float64 // λ
	Ridge  float64 // ‖λw̄‖²
	Slack  float64 // by what part of ‖a·x̄‖² + ‖λw̄‖² the computed ‖g‖² may be too small
	Clip   float64 // the clipping norm C
	Margin float64 // what a norm is multiplied by before it is compared with C
	Most   float64 // the largest norm that is one
}

// LogisticSteps clips gradients of logistic regression. For each example dot is given as
// wᵀx, factor as ‖x̄‖² and side as +0 for the label 0, −0 for 1. It sets factor to that of
// the clipped gradient, 1 or C/(‖g‖·Margin), or NaN where ‖g‖ is not ≤ Most; and step to
// factor·a. All are of one length, a whole number of WideLanes.
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
	kernels.expWide(step) // which some classes have that have no kernel for the rest
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
