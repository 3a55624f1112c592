package models

import (
	"errors"
	"fmt"
)

// Weightable is a Model whose loss can be weighted by class. The weight of an example's class multiplies
// its loss, without any penalty, and so the gradient before it is clipped. The clipped gradient of every
// example has a norm of at most C as before, so the sensitivity of the sum does not change. The weights
// must not depend on the records: counted from them, they would be a release that no (ε, δ) covers.
type Weightable interface {
	Model
	// WithClassWeights returns the model with these weights, one for each class, see CheckClassWeights.
	WithClassWeights(weights []float64) (Model, error)
}

// LeastClassWeight and MostClassWeight are the limits of a class weight, see Weightable.
const (
	LeastClassWeight = 1e-3
	MostClassWeight  = 1e3
)

// CheckClassWeights returns an error unless there is a weight in [1e-3, 1e3] for each of the classes.
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

// WithClassWeights implements Weightable.
func (m *Network) WithClassWeights(weights []float64) (Model, error) {
	if err := CheckClassWeights(weights, m.net.Classes()); err != nil {
		return nil, err
	}
	return &Network{m.name, m.net.WithClassWeights(weights), m.automatic}, nil
}
