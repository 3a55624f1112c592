package data

import (
	"errors"
	"fmt"
	"slices"
)

// FromRows makes a data set with the given name from rows of numbers and their labels. All rows must have the same
// length. Labels are the classes 0, 1, …; the number of classes is the largest label plus 1, and at least 2. FromRows
// stores only the numbers that are not 0, and does not keep the slices. The error names all rows of a wrong length or,
// if there are none, all other problems.
func FromRows(name string, rows [][]float32, labels []int32) (*Dataset, error) {
	if len(rows) != len(labels) {
		return nil, fmt.Errorf("%s has %d rows and %d labels", name, len(rows), len(labels))
	}
	d := &Dataset{Name: name, Classes: 2, Label: slices.Clone(labels), Start: []int{0}}
	if len(rows) > 0 {
		d.Features, d.Classes = len(rows[0]), max(2, 1+int(slices.Max(labels)))
	}
	var errs []error
	for i, row := range rows {
		if len(row) != d.Features {
			errs = append(errs, fmt.Errorf("row %d has %d features, row 0 has %d", i, len(row), d.Features))
		}
		for c, v := range row {
			if v != 0 {
				d.Index, d.Value = append(d.Index, int32(c)), append(d.Value, v)
			}
		}
		d.Start = append(d.Start, len(d.Index))
	}
	if errs == nil {
		errs = append(errs, d.Validate())
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return d, nil
}
