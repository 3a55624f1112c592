package data

import (
	"fmt"
	"slices"
)

// MinInputScale and MaxInputScale are the limits of the factor x in [Dataset.Scaled], by which a model's inputs are
// multiplied.
const (
	MinInputScale = 1e-6
	MaxInputScale = 1e6
)

// Scaled returns a data set like d in which every input of a model is multiplied by x: the values of rows, or the
// normalised pixels of images. With larger inputs, the weights of a linear model get a larger part of a clipped
// gradient, and the bias a smaller one. x must be a constant in [MinInputScale, MaxInputScale] that does not depend
// on the data. The result shares everything else with d. It is an error if a product is not finite.
func (d *Dataset) Scaled(x float64) (*Dataset, error) {
	if err := checkScale(x); err != nil {
		return nil, err
	}
	out := *d
	if d.Images == nil {
		out.Value = slices.Clone(d.Value)
		if err := out.ScaleRows(x); err != nil {
			return nil, err
		}
		return &out, nil
	}
	images := *d.Images
	images.Std = slices.Clone(images.Std)
	for i, std := range images.Std {
		if images.Std[i] = float32(float64(std) / x); !finite(images.Std[i]) || images.Std[i] <= 0 {
			return nil, outOfRange(x, d)
		}
	}
	out.Images = &images
	return &out, nil
}

// ScaleRows multiplies the values of all rows by x, as [Dataset.Scaled] does, but in d itself instead of a copy, to
// save memory. Call it only before anything else uses d. For images it returns an error.
func (d *Dataset) ScaleRows(x float64) error {
	if err := checkScale(x); err != nil {
		return err
	}
	if d.Images != nil {
		return fmt.Errorf("%s has images, must have rows to be scaled in place", d.Name)
	}
	for i, v := range d.Value {
		if d.Value[i] = float32(float64(v) * x); !finite(d.Value[i]) {
			return outOfRange(x, d)
		}
	}
	return nil
}

func checkScale(x float64) error {
	if !(x >= MinInputScale && x <= MaxInputScale) {
		return fmt.Errorf("input scale = %v, must be in [%g, %g]", x, MinInputScale, MaxInputScale)
	}
	return nil
}

func outOfRange(x float64, d *Dataset) error {
	return fmt.Errorf("input scale = %v moves numbers of %s out of the range of float32, must be smaller", x, d.Name)
}

// Large returns the columns in which some row has a value outside [-10, 10], in increasing order. Such a column can
// outweigh all others in a clipped gradient, so the user should normalise it. For images Large returns nil. The
// result depends on the records, so it is not private.
func (d *Dataset) Large() []int {
	if d.Images != nil {
		return nil
	}
	var large []int
	seen := make([]uint64, d.Features/64+1)
	for i := range d.Len() {
		r := d.Row(i)
		for j, v := range r.Value {
			if c := r.Index[j]; (v > 10 || v < -10) && seen[c/64]&(1<<(c%64)) == 0 {
				seen[c/64] |= 1 << (c % 64)
				large = append(large, int(c))
			}
		}
	}
	slices.Sort(large)
	return large
}
