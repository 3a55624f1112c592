package data

// Dense reports whether d has dense rows: every row has a value in every column.
func (d *Dataset) Dense() bool { return d.Images == nil && d.Start == nil }

// WithDense returns the records of d with other content: dense rows of so many
// features, value[i·features+j] being feature j of record i, such as a map of features
// makes of them. Labels, and what is known of the records, are d's; value is kept.
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
			fail("dense rows: column %d at place %d", c, j)
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
