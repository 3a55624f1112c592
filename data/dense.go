package data

// Dense reports whether the rows of d are stored densely: every row has a value in every column.
func (d *Dataset) Dense() bool { return d.Images == nil && d.Start == nil }

// WithDense returns a copy of d in which the rows or images are replaced by dense rows of the given number of
// features. value[i·features+j] is feature j of record i, and the copy keeps this slice. Labels, persons and
// everything else about the records stay. A [FeatureMap] uses WithDense to replace images by their features.
func (d *Dataset) WithDense(features int, value []float32) *Dataset {
	out := *d
	out.Images, out.Start, out.Features, out.Value = nil, nil, features, value
	out.Index = sequence(features)
	return &out
}

// validateDense calls fail for every problem of the dense rows.
func (d *Dataset) validateDense(fail func(format string, args ...any)) {
	if n := d.Len(); d.Features < 1 || len(d.Index) != d.Features || len(d.Value)/d.Features != n ||
		len(d.Value)%d.Features != 0 {
		fail("%d columns and %d values for %d dense rows of %d features", len(d.Index), len(d.Value), n, d.Features)
		return
	}
	for j, c := range d.Index {
		if int(c) != j {
			fail("dense rows: column %d at position %d, must be %[2]d", c, j)
			return
		}
	}
	for i, v := range d.Value {
		if !finite(v) {
			fail("row %d: column %d: value %v is not finite", i/d.Features, i%d.Features, v)
			return
		}
	}
}
