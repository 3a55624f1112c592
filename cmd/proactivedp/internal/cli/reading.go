package cli

import (
	"fmt"

	"proactivedp/data"
	"proactivedp/data/libsvm"
	"proactivedp/data/table"
	"proactivedp/internal/numpy"
	"proactivedp/train"
)

// Reading says how a user's file is read. The options of a table count for files of the other kinds too, as far as
// these have them. The form of the file says the rest.
type Reading struct {
	table.Options
	Form   train.FileForm
	Arrays numpy.Arrays
	Pixels data.PixelRange
}

// File reads a file of any kind, without normalising it.
func (r Reading) File(path string) (*data.Dataset, error) {
	o := r.Options
	switch KindOf(path) {
	case CSVFile:
		o.NoHeader, o.HeaderLine = r.Form.NoHeader, r.Form.HeaderLine
		if r.Form.Numbers != "" {
			var err error
			if o.Numbers, err = table.ParseNumbers(r.Form.Numbers); err != nil {
				return nil, fmt.Errorf("the form of the file: %w", err)
			}
		}
		return table.ParseFile(path, o)
	case NumPyFile, ImageFile:
		return numpy.ParseFile(path, numpy.Options{Features: o.Features, Labels: o.Labels, Target: o.Target, Test: o.Test,
			Unlabelled: o.Unlabelled, Saturate: o.Saturate, Memory: o.Memory, Arrays: r.Arrays, Pixels: r.Pixels})
	}
	return libsvm.ParseFile(path, libsvm.Options{Features: o.Features, Labels: o.Labels, Target: o.Target, Test: o.Test,
		Unlabelled: o.Unlabelled, Saturate: o.Saturate, Memory: o.Memory, ZeroBased: r.Form.ZeroBased, Progress: o.Progress})
}

// ArraysOf returns the names of arrays that a form gives, if any.
func ArraysOf(form train.FileForm) (numpy.Arrays, error) {
	if form.Arrays == "" {
		return numpy.Arrays{}, nil
	}
	return numpy.ParseArrays(form.Arrays)
}
