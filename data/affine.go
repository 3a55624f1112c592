package data

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// Affine is a public map of rows, column by column: x becomes (x − Shift)·Scale. Its
// constants are given, never found in the data, of which they would tell.
type Affine struct {
	Shift []float64 `json:"shift"`
	Scale []float64 `json:"scale"`
	// Low and High bound the values of each column before they are mapped; nil: nothing does.
	Low  []float64 `json:"low,omitempty"`
	High []float64 `json:"high,omitempty"`
}

// Dense reports whether mapped rows are dense: where a Shift is not 0 no entry stays 0.
func (m Affine) Dense() bool {
	return slices.ContainsFunc(m.Shift, func(x float64) bool { return x != 0 })
}

// Mapped returns the rows of d mapped, dense ones where m is. A value outside its bounds is
// an error, and so is a result that is not finite. Entries that are not stored are 0: these
// are held against the bounds of columns with a Shift alone, and of others 0 must be in them.
func (d *Dataset) Mapped(m Affine) (*Dataset, error) {
	if d.Images != nil {
		return nil, fmt.Errorf("data: %s is a set of images, must be of rows to be normalised column by column", d.Name)
	}
	if len(m.Shift) != d.Features || len(m.Scale) != d.Features {
		return nil, fmt.Errorf("data: constants of %d columns, must be of all %d", len(m.Scale), d.Features)
	}
	var errs []error
	for j := range m.Scale {
		if m.Low != nil && m.Shift[j] == 0 && !(m.Low[j] <= 0 && m.High[j] >= 0) {
			errs = append(errs, fmt.Errorf("data: column %d: bounds [%v, %v], must hold 0 where nothing is shifted",
				j+1, m.Low[j], m.High[j]))
		}
		if !(math.Abs(m.Shift[j]) <= math.MaxFloat32) || !(m.Scale[j] != 0 && math.Abs(m.Scale[j]) <= math.MaxFloat32) {
			errs = append(errs, fmt.Errorf("data: column %d: shift = %v, scale = %v, must be finite, the scale not 0",
				j+1, m.Shift[j], m.Scale[j]))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	out := *d
	if !m.Dense() || d.Dense() {
		out.Value = slices.Clone(d.Value)
		for i := range d.Len() {
			r := out.Row(i)
			if err := m.row(r.Index, r.Value, r.Value); err != nil {
				return nil, fmt.Errorf("data: %s: row %d: %w", d.Name, i+1, err)
			}
		}
		return &out, nil
	}
	dense := make([]float32, d.Len()*d.Features)
	all := sequence(d.Features)
	for i := range d.Len() {
		row := dense[i*d.Features : (i+1)*d.Features]
		r := d.Row(i)
		for j, c := range r.Index {
			row[c] = r.Value[j]
		}
		if err := m.row(all, row, row); err != nil {
			return nil, fmt.Errorf("data: %s: row %d: %w", d.Name, i+1, err)
		}
	}
	return d.WithDense(d.Features, dense), nil
}

// row maps the values of the columns.
func (m Affine) row(columns []int32, from, to []float32) error {
	for j, c := range columns {
		x := float64(from[j])
		if m.Low != nil && !(x >= m.Low[c] && x <= m.High[c]) {
			return fmt.Errorf("column %d: %v, must be in the bounds [%v, %v] that were given", c+1, x, m.Low[c],
				m.High[c])
		}
		to[j] = float32((x - m.Shift[c]) * m.Scale[c])
		if !finite(to[j]) {
			return fmt.Errorf("column %d: %v is out of the range of float32 once it is normalised", c+1, x)
		}
	}
	return nil
}
