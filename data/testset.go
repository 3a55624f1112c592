package data

import (
	"errors"
	"fmt"
	"slices"
)

// WithTest returns a data set with the rows of d for training and the rows of test as a separate test set (see
// Dataset.Train). The two may come from files of different formats. They must have the same features in the same
// order, or images of one shape, and the same classes or the same bounds of targets. d must not be used afterwards.
func (d *Dataset) WithTest(test *Dataset) (*Dataset, error) {
	var errs []error
	fail := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	for _, part := range []*Dataset{d, test} {
		if part.Train > 0 {
			fail("%s has a test set, so a second file must not be given too", part.Name)
		}
		if part.Person != nil {
			fail("%s has persons, so the test set must be a file of the same kind", part.Name)
		}
	}
	if d.Shape() != test.Shape() {
		fail("the test set %s has %s, must have the %s of %s", test.Name, test.Shape(), d.Shape(), d.Name)
	} else if d.Columns != nil && test.Columns != nil && !slices.Equal(d.Columns, test.Columns) {
		i := 0
		for i < d.Features-1 && d.Columns[i] == test.Columns[i] {
			i++
		}
		fail("feature %d of the test set %s is %.80q, must be %.80q as in %s", i+1, test.Name, test.Columns[i], d.Columns[i], d.Name)
	}
	switch {
	case (d.Targets == nil) != (test.Targets == nil):
		fail("one of %s and its test set %s has labels, and the other has targets", d.Name, test.Name)
	case d.Targets != nil && d.Targets.Bounds != test.Targets.Bounds:
		fail("the test set %s has targets in %v, must be in %v as in %s", test.Name, test.Targets.Bounds, d.Targets.Bounds, d.Name)
	case d.Classes != test.Classes || !slices.Equal(d.Names, test.Names):
		fail("the test set %s has %d classes %.20q, must have the %d classes %.20q of %s", test.Name, test.Classes, test.Names,
			d.Classes, d.Names, d.Name)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	out := *d
	out.Train = d.Len()
	out.Label = append(d.Label, test.Label...)
	if d.Targets != nil {
		out.Targets = &Targets{Value: append(d.Targets.Value, test.Targets.Value...), Bounds: d.Targets.Bounds}
	}
	switch {
	case d.Images != nil:
		images := *d.Images
		images.Pixels = append(images.Pixels, test.Images.Pixels...)
		out.Images = &images
	case d.Dense():
		out.Value = slices.Grow(d.Value, test.Len()*d.Features)
		for i := range test.Len() {
			row := out.Value[len(out.Value):][:d.Features]
			clear(row)
			r := test.Row(i)
			for k, j := range r.Index {
				row[j] = r.Value[k]
			}
			out.Value = out.Value[:len(out.Value)+d.Features]
		}
	default:
		for i := range test.Len() {
			r := test.Row(i)
			for k, v := range r.Value {
				if v != 0 {
					out.Index, out.Value = append(out.Index, r.Index[k]), append(out.Value, v)
				}
			}
			out.Start = append(out.Start, len(out.Index))
		}
	}
	return &out, nil
}
