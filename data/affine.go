package data

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
)

// Affine is a normalisation of the columns of a data set by public constants: a value x of a column becomes (x −
// Shift)·Scale, with one Shift and one Scale for each column. The constants must not be computed from the data,
// unless with noise (see [Dataset.PrivateBounds]), because they would then reveal something about it. Apply it with
// [Dataset.Mapped].
type Affine struct {
	Shift []float64 `json:"shift"`
	Scale []float64 `json:"scale"`
	// Low and High bound the values of each column before they are scaled. They are compared as float32, like the
	// values. A value outside its bounds counts as the nearer bound (it is clamped), unless Refuse is set. nil means
	// no bounds. Clamping looks at one record at a time, so it costs no privacy.
	Low  []float64 `json:"low,omitempty"`
	High []float64 `json:"high,omitempty"`
	// Refuse makes a value outside the bounds an error. That a file is refused because of one record reveals
	// something about this record, and no (ε, δ) covers that.
	Refuse bool `json:"refuse,omitempty"`
}

// Clamps reports whether m replaces a value outside the bounds of its column by the nearer bound. It does if it has
// bounds (Low and High), and if Refuse, which makes such a value an error, is not set.
func (m Affine) Clamps() bool {
	return !m.Refuse && slices.ContainsFunc(m.Low, func(low float64) bool { return low > -math.MaxFloat32 })
}

// Dense reports whether [Dataset.Mapped] stores rows densely, with their zeros, even if they were sparse. This is
// necessary if a Shift is not 0, because zeros of that column then become other numbers. Dense rows may take much
// more memory.
func (m Affine) Dense() bool {
	return slices.ContainsFunc(m.Shift, func(x float64) bool { return x != 0 })
}

// Mapped returns a copy of d with its rows normalised by m. The rows are dense if m.Dense is true. It is an error if
// a normalised value is not finite. With m.Refuse, a value outside its bounds is also an error. The error names the
// column and the first row with such a value, but never shows the value.
//
// Sparse rows do not store zeros. If m.Dense is true, these zeros are filled in first, and are treated like other
// values. If it is false, every Shift is 0, so the zeros stay 0, and they are not compared with the bounds. They must
// nevertheless be within the bounds: if a column has the Shift 0 and its bounds do not include 0, Mapped returns an
// error.
func (d *Dataset) Mapped(m Affine) (*Dataset, error) { return d.mapBy(m, false) }

// MappedInPlace does the same as [Dataset.Mapped]: it normalises the rows by m. But it may overwrite the rows of d to
// save memory. Nothing else may use d, and d must not be used afterwards, even after an error.
func (d *Dataset) MappedInPlace(m Affine) (*Dataset, error) { return d.mapBy(m, true) }

// mapBy maps the rows of d, in place where that is possible and allowed.
func (d *Dataset) mapBy(m Affine, inPlace bool) (*Dataset, error) {
	if d.Images != nil {
		return nil, fmt.Errorf("%s has images, must have rows to be normalised column by column", d.Name)
	}
	if len(m.Shift) != d.Features || len(m.Scale) != d.Features {
		return nil, fmt.Errorf("constants for %d columns, must be for all %d", len(m.Scale), d.Features)
	}
	if low, high := len(m.Low), len(m.High); (m.Low != nil || m.High != nil) && (low != d.Features || high != low) {
		return nil, fmt.Errorf("lower bounds of %d columns and upper bounds of %d, must be for all %d", low,
			high, d.Features)
	}
	var errs []error
	for j := range m.Scale {
		if m.Low != nil && m.Shift[j] == 0 && !(m.Low[j] <= 0 && m.High[j] >= 0) {
			errs = append(errs, fmt.Errorf("column %s: bounds [%v, %v], must include 0 in a column without a shift",
				d.ColumnName(j), m.Low[j], m.High[j]))
		}
		if !(math.Abs(m.Shift[j]) <= math.MaxFloat32) || !(m.Scale[j] != 0 && math.Abs(m.Scale[j]) <= math.MaxFloat32) {
			errs = append(errs, fmt.Errorf("column %s: shift = %v, scale = %v, must be finite, and the scale not 0",
				d.ColumnName(j), m.Shift[j], m.Scale[j]))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	bad := misfits{d: d, of: map[int32]bool{}}
	out := m.mapped(d, &bad, inPlace)
	if err := errors.Join(bad.errs...); err != nil {
		return nil, err
	}
	return out, nil
}

func (m Affine) mapped(d *Dataset, bad *misfits, inPlace bool) *Dataset {
	if !m.Dense() || d.Dense() {
		out := *d
		if !inPlace {
			out.Value = slices.Clone(d.Value)
		}
		for i := range d.Len() {
			r := out.Row(i)
			m.row(i, r.Index, r.Value, r.Value, bad)
		}
		return &out
	}
	dense := make([]float32, d.Len()*d.Features)
	all := sequence(d.Features)
	for i := range d.Len() {
		row := dense[i*d.Features : (i+1)*d.Features]
		r := d.Row(i)
		for j, c := range r.Index {
			row[c] = r.Value[j]
		}
		m.row(i, all, row, row, bad)
	}
	return d.WithDense(d.Features, dense)
}

func (m Affine) row(i int, columns []int32, from, to []float32, bad *misfits) {
	for j, c := range columns {
		x := float64(from[j])
		if m.Low != nil && !(from[j] >= float32(m.Low[c]) && from[j] <= float32(m.High[c])) {
			if m.Refuse {
				bad.add(i, c, "the value must be in the given bounds [%v, %v]", m.Low[c], m.High[c])
			}
			x = min(max(x, m.Low[c]), m.High[c])
		}
		to[j] = float32((x - m.Shift[c]) * m.Scale[c])
		if !finite(to[j]) {
			bad.add(i, c, "the value must be in the range of float32 after normalisation")
		}
	}
}

// mostMisfits is the largest number of columns for which a misfit is reported.
const mostMisfits = 50

// misfits collects values that cannot be mapped, for each column the first.
type misfits struct {
	d    *Dataset
	of   map[int32]bool
	errs []error
}

func (f *misfits) add(i int, c int32, format string, args ...any) {
	if len(f.errs) == mostMisfits || f.of[c] {
		return
	}
	f.of[c] = true
	what := fmt.Sprintf(format, args...)
	f.errs = append(f.errs, fmt.Errorf("%s: row %d: column %s: %s", f.d.Name, i+1, f.d.ColumnName(int(c)), what))
}

// ColumnName returns text for messages that names column j ≥ 0 of d: the column's name in quotes or, if the columns
// have no names, the number j+1.
func (d *Dataset) ColumnName(j int) string {
	if d.Columns != nil {
		return fmt.Sprintf("%.200q", d.Columns[j])
	}
	return strconv.Itoa(j + 1)
}
