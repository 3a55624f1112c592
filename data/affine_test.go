package data

import (
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
)

// Without a shift, sparse rows stay sparse. With a shift, they become dense. In both cases every entry x,
// stored or not, becomes (x − Shift)·Scale.
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
			High: []float64{1, 2, 3}, Refuse: true}); err == nil ||
			!strings.Contains(err.Error(), "row 1: column 3: the value must be in the given bounds [0, 3]") {
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

// A value that is equal to its bound is within the bounds, even if the nearest float32 is beyond it.
func TestBoundsAreWithin(t *testing.T) {
	d, err := FromRows("own", [][]float32{{0.1, -0.8}, {0, 0.3}}, []int32{0, 1})
	if err != nil {
		t.Fatal(err)
	}
	m := Affine{Shift: []float64{0, -0.8}, Scale: []float64{10, 1 / 1.1}, Low: []float64{0, -0.8},
		High: []float64{0.1, 0.3}, Refuse: true}
	if out, err := d.Mapped(m); err != nil || !reflect.DeepEqual(wide(out, 0), []float32{1, wide(out, 0)[1]}) {
		t.Errorf("%v, %v", out, err)
	}
	m.Low[1] = float64(math.Nextafter32(-0.8, 0))
	if _, err := d.Mapped(m); err == nil || !strings.Contains(err.Error(), "column 2: the value must be in") {
		t.Errorf("the next float32: %v", err)
	}
}

// A value outside its bounds counts as the nearer bound. This also holds for rows that do not store their
// zeros, so a record changes only itself.
func TestClamped(t *testing.T) {
	d, err := FromRows("own", [][]float32{{7, -1, 5}, {0, math.MaxFloat32, -math.MaxFloat32}, {1, 2, 3}}, []int32{0, 1, 0})
	if err != nil {
		t.Fatal(err)
	}
	for _, shift := range []float64{0, 1} {
		m := Affine{Shift: []float64{shift, 0, 0}, Scale: []float64{0.5, 1, 1}, Low: []float64{0, 0, -10},
			High: []float64{2, 3, 4}}
		out, err := d.Mapped(m)
		if err != nil || out.Validate() != nil || !m.Clamps() {
			t.Fatalf("%+v, %v", out, err)
		}
		half := float32(shift) / 2
		for i, want := range [][]float32{{1 - half, 0, 4}, {-half, 3, -10}, {.5 - half, 2, 3}} {
			if got := wide(out, i); !reflect.DeepEqual(got, want) {
				t.Errorf("row %d is %v, want %v", i, got, want)
			}
		}
	}
	none := Affine{Low: []float64{-math.MaxFloat64}, High: []float64{math.MaxFloat64}}
	if none.Clamps() || (Affine{Low: []float64{0}, High: []float64{1}, Refuse: true}).Clamps() {
		t.Error("values that have no bounds are clamped, or are refused and clamped")
	}
}

// The error lists every column that does not fit once, by its name if it has one. If there are very many,
// it lists only some.
func TestMisfitsOfAllColumns(t *testing.T) {
	d, err := FromRows("own", [][]float32{{1, 98, 3}, {1, 99, -5}, {7, 1, 1}}, []int32{0, 1, 0})
	if err != nil {
		t.Fatal(err)
	}
	for _, shift := range []float64{0, 1} { // as it is, and made dense
		m := Affine{Shift: []float64{0, 0, shift}, Scale: []float64{1, 1e38, 1}, Low: []float64{0, 0, 0},
			High: []float64{2, 100, 5}, Refuse: true}
		for _, names := range [][]string{nil, {"age", "sex", "ward"}} {
			want := []string{`own: row 1: column 2: the value must be in the range of float32 after normalisation`,
				`own: row 2: column 3: the value must be in the given bounds [0, 5]`,
				`own: row 3: column 1: the value must be in the given bounds [0, 2]`}
			if d.Columns = names; names != nil {
				for i, c := range []string{"column 2:", "column 3:", "column 1:"} {
					want[i] = strings.Replace(want[i], c, fmt.Sprintf("column %q:", names[c[7]-'1']), 1)
				}
			}
			if out, err := d.Mapped(m); out != nil || err == nil || err.Error() != strings.Join(want, "\n") {
				t.Errorf("shift %v, columns %q: %v, want %q", shift, names, err, want)
			}
		}
	}
	const many = 3 * mostMisfits
	zero, one, ten := make([]float64, many), make([]float64, many), make([]float32, many)
	for i := range many {
		one[i], ten[i] = 1, 10
	}
	if d, err = FromRows("own", [][]float32{ten, ten}, []int32{0, 1}); err != nil {
		t.Fatal(err)
	}
	_, err = d.Mapped(Affine{Shift: zero, Scale: one, Low: zero, High: one, Refuse: true})
	if err == nil || strings.Count(err.Error(), "\n")+1 != mostMisfits {
		t.Errorf("%d columns do not fit: %v", many, err)
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
