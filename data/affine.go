package data

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
)

// Affine is a public map of rows, column by column: x becomes (x − Shift)·Scale. Its
// constants are given, never found in the data, of which they would tell.
type Affine struct {
	Shift []float64 `json:"shift"`
	Scale []float64 `json:"scale"`
	// Low and High bound the values of each column before they are mapped, in float32, as these
	// are; nil: nothing does.
	Low  []float64 `json:"low,omitempty"`
	High []float64 `json:"high,omitempty"`
}

// Dense reports whether mapped rows are dense: where a Shift is not 0 no entry stays 0.
func (m Affine) Dense() bool {
	return slices.ContainsFunc(m.Shift, func(x float64) bool { return x != 0 })
}

// Mapped returns the rows of d mapped, dense ones where m is. A value outside its bounds is
// an error, and so is a result that is not finite; of each column the first is reported.
// Entries that are not stored are 0: these are held against the bounds of columns with a
// Shift alone, and of others 0 must be in them.
func (d *Dataset) Mapped(m Affine) (*Dataset, error) {
	if d.Images != nil {
		return nil, fmt.Errorf("%s is a set of images, must be of rows to be normalised column by column", d.Name)
	}
	if len(m.Shift) != d.Features || len(m.Scale) != d.Features {
		return nil, fmt.Errorf("constants of %d columns, must be of all %d", len(m.Scale), d.Features)
	}
	if low, high := len(m.Low), len(m.High); (m.Low != nil || m.High != nil) && (low != d.Features || high != low) {
		return nil, fmt.Errorf("bounds of %d columns from below and of %d from above, must be of all %d", low,
			high, d.Features)
	}
	var errs []error
	for j := range m.Scale {
		if m.Low != nil && m.Shift[j] == 0 && !(m.Low[j] <= 0 && m.High[j] >= 0) {
			errs = append(errs, fmt.Errorf("column %s: bounds [%v, %v], must hold 0 where nothing is shifted",
				d.ColumnName(j), m.Low[j], m.High[j]))
		}
		if !(math.Abs(m.Shift[j]) <= math.MaxFloat32) || !(m.Scale[j] != 0 && math.Abs(m.Scale[j]) <= math.MaxFloat32) {
			errs = append(errs, fmt.Errorf("column %s: shift = %v, scale = %v, must be finite, the scale not 0",
				d.ColumnName(j), m.Shift[j], m.Scale[j]))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	bad := misfits{d: d, of: map[int32]bool{}}
	out := m.mapped(d, &bad)
	if err := errors.Join(bad.errs...); err != nil {
		return nil, err
	}
	return out, nil
}

// mapped maps the rows of d.
func (m Affine) mapped(d *Dataset, bad *misfits) *Dataset {
	if !m.Dense() || d.Dense() {
		out := *d
		out.Value = slices.Clone(d.Value)
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

// row maps the values of the columns in row i.
func (m Affine) row(i int, columns []int32, from, to []float32, bad *misfits) {
	for j, c := range columns {
		x := from[j]
		to[j] = float32((float64(x) - m.Shift[c]) * m.Scale[c])
		switch {
		case m.Low != nil && !(x >= float32(m.Low[c]) && x <= float32(m.High[c])):
			bad.add(i, c, "%v, must be in the bounds [%v, %v] that were given", x, m.Low[c], m.High[c])
		case !finite(to[j]):
			bad.add(i, c, "%v is out of the range of float32 once it is normalised", x)
		}
	}
}

// mostMisfits is how many columns with one are reported.
const mostMisfits = 50

// misfits are values that cannot be mapped, of each column the first.
type misfits struct {
	d    *Dataset
	of   map[int32]bool
	errs []error
}

// add takes what is wrong in row i.
func (f *misfits) add(i int, c int32, format string, args ...any) {
	if len(f.errs) == mostMisfits || f.of[c] {
		return
	}
	f.of[c] = true
	what := fmt.Sprintf(format, args...)
	f.errs = append(f.errs, fmt.Errorf("%s: row %d: column %s: %s", f.d.Name, i+1, f.d.ColumnName(int(c)), what))
}

// ColumnName names column j, from 0 on: quoted, or by its number from 1 on where it has no
// name.
func (d *Dataset) ColumnName(j int) string {
	if d.Columns != nil {
		return fmt.Sprintf("%.200q", d.Columns[j])
	}
	return strconv.Itoa(j + 1)
}
