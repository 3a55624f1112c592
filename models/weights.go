package models

import (
	"errors"
	"fmt"
)

// Weightable is a Model whose loss can be weighted by class, for example because one class is rare. The weight of an
// example's class multiplies its loss (but not a ridge penalty), and thereby changes its gradient before clipping.
// After clipping, the norm of the gradient is still at most the clipping norm C, so the sensitivity of the sum does
// not change. The weights must be public constants: weights that are computed from the records would be a release
// that no (ε, δ) covers.
type Weightable interface {
	Model
	// WithClassWeights returns the same model with these weights, one for each class, in [LeastClassWeight,
	// MostClassWeight]. It returns an error for other weights.
	WithClassWeights(weights []float64) (Model, error)
}

// LeastClassWeight and MostClassWeight are the smallest and the largest weight of a class, a number by which the
// losses of the examples of this class are multiplied: see [Weightable].
const (
	LeastClassWeight = 1e-3
	MostClassWeight  = 1e3
)

// CheckClassWeights returns an error if weights does not have one weight for each of the given number of classes, or
// if a weight is outside [LeastClassWeight, MostClassWeight]. [Weightable] models call it.
func CheckClassWeights(weights []float64, classes int) error {
	var errs []error
	if len(weights) != classes {
		errs = append(errs, fmt.Errorf("%d class weights, must be %d, one for each class", len(weights), classes))
	}
	for class, w := range weights {
		if !(w >= LeastClassWeight && w <= MostClassWeight) {
			errs = append(errs, fmt.Errorf("class weight %d = %v, must be in [%v, %v]", class, w, LeastClassWeight,
				MostClassWeight))
		}
	}
	return errors.Join(errs...)
}

// WithClassWeights returns a network like m in which the loss of an example is multiplied by the weight of its class.
// weights has one weight for each class, see [Weightable].
func (m *Network) WithClassWeights(weights []float64) (Model, error) {
	if err := CheckClassWeights(weights, m.net.Classes()); err != nil {
		return nil, err
	}
	return &Network{m.name, m.net.WithClassWeights(weights), m.automatic}, nil
}
