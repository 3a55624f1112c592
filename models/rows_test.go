package models_test

import (
	"math"
	"slices"
	"testing"

	"proactivedp/data"
	"proactivedp/internal/cpu"
	"proactivedp/internal/f32"
	"proactivedp/models"
	"proactivedp/rng"
)

// sparse draws rows of which each column is there with the probability given.
func sparse(s *rng.Stream, n, features int, there float64) *data.Dataset {
	d := &data.Dataset{Name: "drawn", Features: features, Classes: 2, Start: []int{0}}
	for i := range n {
		for c := range features {
			if s.Float64() < there {
				d.Index, d.Value = append(d.Index, int32(c)), append(d.Value, float32(s.Normal()))
			}
		}
		d.Start, d.Label = append(d.Start, len(d.Index)), append(d.Label, int32(i%2))
	}
	return d
}

func ofClass(t *testing.T, class cpu.Class, f func()) {
	t.Helper()
	restore, err := f32.Use(class)
	if err != nil {
		t.Fatal(err)
	}
	defer restore()
	f()
}

// Products and sums of rows have the same bits for every class of kernels, in whichever form the rows are
// stored. The portable kernels store them as sparse rows.
func TestRowsAreTheSameBits(t *testing.T) {
	s := rng.New(3).Stream(rng.Synthetic, 0, 0)
	for _, features := range []int{1, 7, 8, 30, 68, 112, 300} {
		for _, there := range []float64{0, 0.1, 0.5, 1} {
			d := sparse(s, 50, features, there)
			if there == 1 {
				d = d.WithDense(features, d.Value)
			}
			if err := d.Validate(); err != nil {
				t.Fatal(err)
			}
			var numbers []int32
			for range 70 {
				numbers = append(numbers, int32(s.IntN(d.Len())))
			}
			params, f := make([]float32, features), make([]float64, len(numbers))
			for i := range params {
				params[i] = float32(s.Normal())
			}
			for i := range f {
				f[i] = s.Normal()
			}
			for _, grid := range []models.Grid{models.NewGrid(0.7), models.NewGrid(math.Inf(1))} {
				var first []float64
				for _, class := range f32.Classes() {
					ofClass(t, class, func() {
						r := models.NewRows(d)
						w, sum, z := make([]float64, r.Columns()), make([]float64, r.Columns()),
							make([]float64, len(numbers))
						r.Parameters(w, params)
						r.Ahead(numbers)
						r.Dots(z, numbers, w)
						r.AddRounded(sum, numbers, f, grid)
						got := slices.Concat(z, sum)
						if first == nil {
							first = got
						}
						if !slices.Equal(got, first) {
							t.Errorf("%d columns, %v of them there, %v: other bits", features, there, class)
						}
					})
				}
			}
		}
	}
}

// Rows returns the same numbers as the data set.
func TestRows(t *testing.T) {
	d := &data.Dataset{Features: 3, Classes: 2, Label: []int32{1, 0}, Start: []int{0, 2, 3},
		Index: []int32{0, 2, 1}, Value: []float32{2, -4, 6}}
	r := models.NewRows(d)
	w, z, sum := make([]float64, r.Columns()), make([]float64, 3), make([]float64, r.Columns())
	r.Parameters(w, []float32{10, 20, 30})
	if r.Dots(z, []int32{1, 0, 1}, w); !slices.Equal(z, []float64{120, -100, 120}) {
		t.Errorf("products %v", z)
	}
	r.AddRounded(sum, []int32{0, 1}, []float64{0.5, 0.25}, models.NewGrid(1))
	if !slices.Equal(sum[:3], []float64{1, 1.5, -2}) {
		t.Errorf("sum %v", sum)
	}
	if x, y := r.Squares(0), r.Squares(1); x != 20 || y != 36 {
		t.Errorf("‖x‖² = %v and %v, want 20 and 36", x, y)
	}
}

// A cache reads a data set only once, even if others are read in between. It reads another data set again,
// even one that is at the same place in memory.
func TestRowCache(t *testing.T) {
	s := rng.New(4).Stream(rng.Synthetic, 0, 0)
	var cache models.RowCache
	a, b := sparse(s, 20, 9, 0.5), sparse(s, 20, 9, 0.5)
	first, second := cache.Of(a), cache.Of(b)
	if first == second || cache.Of(a) != first || cache.Of(b) != second {
		t.Error("rows are read again, or taken for others")
	}
	*a = *sparse(s, 20, 9, 0.5)
	if changed := cache.Of(a); changed == first || changed.Squares(0) != models.NewRows(a).Squares(0) {
		t.Error("the rows of a data set that has changed are those before")
	}
	for range 20 {
		cache.Of(sparse(s, 20, 9, 0.5))
	}
	if again := cache.Of(b); again.Squares(3) != second.Squares(3) {
		t.Error("rows that are read again are others")
	}
}

// reader is a model that says which batch it was told of.
type reader struct {
	models.Model
	ahead data.Batch
}

func (r *reader) Ahead(b data.Batch) { r.ahead = b }

// A model that needs to know its batch ahead is told. Other models need not be asked.
func TestSumsTellAhead(t *testing.T) {
	b := data.Batch{Rows: []int32{3, 1}}
	r := &reader{}
	models.NewSums(r).Ahead(b)
	if !slices.Equal(r.ahead.Rows, b.Rows) {
		t.Errorf("told of %v, want %v", r.ahead.Rows, b.Rows)
	}
	models.NewSums(struct{ models.Model }{}).Ahead(b)
}
