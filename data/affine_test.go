package data

import (
	"reflect"
	"strings"
	"testing"
)

// Constants without a shift keep rows sparse, with one they make them dense; both give
// (x − Shift)·Scale for every entry, stored or not.
func TestMapped(t *testing.T) {
	sparse, err := FromRows("own", [][]float32{{0, 2, 4}, {1, 0, 0}}, []int32{0, 1})
	if err != nil {
		t.Fatal(err)
	}
	dense := sparse.WithDense(3, []float32{0, 2, 4, 1, 0, 0})
	for _, d := range []*Dataset{sparse, dense} {
		out, err := d.Mapped(Affine{Shift: []float64{0, 0, 0}, Scale: []float64{1, 0.5, 0.25}})
		if err != nil || out.Dense() != d.Dense() {
			t.Fatalf("%+v, %v", out, err)
		}
		for i, want := range [][]float32{{0, 1, 1}, {1, 0, 0}} {
			if got := wide(out, i); !reflect.DeepEqual(got, want) {
				t.Errorf("row %d: %v, must be %v", i, got, want)
			}
		}
		out, err = d.Mapped(Affine{Shift: []float64{1, 0, 0}, Scale: []float64{2, 1, 1}, Low: []float64{0, 0, 0},
			High: []float64{1, 2, 4}})
		if err != nil || !out.Dense() {
			t.Fatalf("%+v, %v", out, err)
		}
		if got := wide(out, 0); !reflect.DeepEqual(got, []float32{-2, 2, 4}) {
			t.Errorf("shifted: %v", got)
		}
		if err := out.Validate(); err != nil {
			t.Error(err)
		}
		if _, err := d.Mapped(Affine{Shift: []float64{0, 0, 0}, Scale: []float64{1, 1, 1}, Low: []float64{0, 0, 0},
			High: []float64{1, 2, 3}}); err == nil || !strings.Contains(err.Error(), "row 1: column 3: 4, must be in") {
			t.Errorf("beyond a bound: %v", err)
		}
		for _, bad := range []Affine{
			{Shift: []float64{0}, Scale: []float64{1}},
			{Shift: []float64{0, 0, 0}, Scale: []float64{1, 0, 1}},
			{Shift: []float64{0, 0, 0}, Scale: []float64{1, 1, 1}, Low: []float64{1, 0, 0}, High: []float64{2, 2, 4}},
			{Shift: []float64{0, 0, 0}, Scale: []float64{1, 1, 1e38}},
		} {
			if _, err := d.Mapped(bad); err == nil {
				t.Errorf("%+v is no error", bad)
			}
		}
	}
}

// wide returns a row with all its columns.
func wide(d *Dataset, i int) []float32 {
	out := make([]float32, d.Features)
	r := d.Row(i)
	for j, c := range r.Index {
		out[c] = r.Value[j]
	}
	return out
}
