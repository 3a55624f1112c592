package models

import (
	"errors"
	"fmt"
)

// Weightable is a Model whose loss can be weighted by class. The weight of an example's class multiplies its loss
// (not the penalty), and so its gradient before clipping. After clipping, the norm of the gradient is still at most
// the clipping norm C, so the sensitivity of the sum does not change. The weights must not be computed from the records: that
// would be a release that no (ε, δ) covers.
type Weightable interface {
	Model
	// WithClassWeights returns the model with these weights, one for each class, see CheckClassWeights.
	WithClassWeights(weights []float64) (Model, error)
}

// LeastClassWeight and MostClassWeight are the limits of a class weight: see Weightable.
const (
	LeastClassWeight = 1e-3
	MostClassWeight  = 1e3
)

// CheckClassWeights returns an error if the number of weights is not the number of classes, or if a weight is outside
// [LeastClassWeight, MostClassWeight].
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

// WithClassWeights returns a network like m in which the loss of an example is multiplied by the weight of its class:
// see [Weightable].
func (m *Network) WithClassWeights(weights []float64) (Model, error) {
	if err := CheckClassWeights(weights, m.net.Classes()); err != nil {
		return nil, err
	}
	return &Network{m.name, m.net.WithClassWeights(weights), m.automatic}, nil
}
