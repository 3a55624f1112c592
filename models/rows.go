package models

import (
	"sync/atomic"

	"proactivedp/data"
	"proactivedp/internal/cpu"
	"proactivedp/internal/f32"
)

// Rows holds the feature rows of a data set in a form in which the loops of linear models are fast: they multiply
// rows by parameter vectors, and add rows to sums. A row is identified by its number in the data set. Parameter vectors
// and sums are float64 vectors whose length is the result of Columns: the number of features, rounded up to what
// vector instructions need. The additional elements are 0. The elements of sums are multiples of one small unit, so
// that adding rounds nothing (see [Grid]).
//
// The rows are stored sparsely, or densely (with their zeros) where this is faster with the processor's vector
// instructions. The results have the same bits in both forms.
type Rows struct {
	data    *data.Dataset
	value   []float32 // the data set's Value when the rows were read
	squares []float64
	columns int
	dense   []float32 // [row][columns], or nil
}

// NewRows returns the rows of the data set d. d must have rows and not images, and must not change later.
func NewRows(d *data.Dataset) *Rows {
	r := &Rows{data: d, value: d.Value, squares: make([]float64, d.Len()), columns: columns(d)}
	copied := copied(d)
	switch {
	case copied:
		r.dense = make([]float32, r.columns*d.Len())
	case d.Dense() && r.columns == d.Features:
		r.dense = d.Value
	}
	for i := range r.squares {
		row, square := d.Row(i), 0.0
		for _, v := range row.Value[:len(row.Index)] {
			square += float64(float64(v) * float64(v))
		}
		r.squares[i] = square
		if copied {
			for j, c := range row.Index {
				r.dense[i*r.columns+int(c)] = row.Value[j]
			}
		}
	}
	return r
}

// denseGain is how many columns of a dense row take as much time as one entry of a sparse row.
const denseGain = 8

// copied reports whether the rows are copied, dense and padded to whole vectors.
func copied(d *data.Dataset) bool {
	return f32.Kernels() != cpu.Portable && columns(d)*d.Len() <= denseGain*len(d.Value) &&
		!(d.Dense() && columns(d) == d.Features)
}

func columns(d *data.Dataset) int {
	return (d.Features + f32.WideLanes - 1) / f32.WideLanes * f32.WideLanes
}

// RowBytes returns how many bytes of memory [NewRows] would allocate for d. NewRows stores the rows of a data set in
// a form that is fast for linear models. Use RowBytes to estimate before a run whether memory suffices.
func RowBytes(d *data.Dataset) int64 {
	bytes := 8 * d.Len()
	if copied(d) {
		bytes += 4 * columns(d) * d.Len()
	}
	return int64(bytes)
}

// of reports whether r holds the rows of d.
func (r *Rows) of(d *data.Dataset) bool {
	return r.data == d && len(r.value) == len(d.Value) && len(r.squares) == d.Len() &&
		(len(r.value) == 0 || &r.value[0] == &d.Value[0])
}

// Columns returns the length of parameter vectors and sums: the number of features, rounded up to a multiple of the
// numbers that a vector instruction of the processor handles.
func (r *Rows) Columns() int { return r.columns }

// Squares returns ‖x‖², the squared norm of the row x with the given number, which was computed by NewRows. A linear
// model without a penalty has the gradient a·(x, 1), where a depends on the prediction. So Squares gives the
// gradient's norm, |a|·√(‖x‖² + 1), without the gradient.
func (r *Rows) Squares(row int32) float64 { return r.squares[row] }

// Parameters copies the weights at the start of params, one for each feature of the data set, to w, and sets the rest
// of w to 0. The length of w must be the result of Columns. [Rows.Dots] needs parameters in this form.
func (r *Rows) Parameters(w []float64, params []float32) { f32.WidenRow(w, params) }

// Ahead starts to load the rows with the given numbers into the processor's caches, so that a later call of
// [Rows.Dots] is faster. For more than four rows it does nothing, because Dots itself loads later rows while it
// multiplies earlier ones. It also does nothing if the rows are stored sparsely.
func (r *Rows) Ahead(rows []int32) {
	if r.dense != nil && len(rows) <= rowsAhead {
		f32.AheadRows(r.dense, r.columns, rows)
	}
}

const rowsAhead = 4

// Dots computes the inner products of some rows of the data set with one or more parameter vectors, for example one
// for each class. w holds the vectors one after another, each with the length that [Rows.Columns] returns, as
// [Rows.Parameters] writes it. The numbers in w must be values of float32, although their type is float64. The inner
// product of vector k and row rows[i] is written to z[k*len(rows)+i].
func (r *Rows) Dots(z []float64, rows []int32, w []float64) {
	if r.dense != nil {
		f32.RowDots(z, r.dense, r.columns, rows, w)
		return
	}
	for i, n := range rows {
		row := r.data.Row(int(n))
		value := row.Value[:len(row.Index)]
		for k := range len(w) / r.columns {
			w := w[k*r.columns:][:r.columns]
			// In the same order as f32.RowDots.
			var lanes [f32.WideLanes]float64
			for j, c := range row.Index {
				lanes[c%f32.WideLanes] += float64(float64(value[j]) * w[c])
			}
			f32.SumWideLanes(z[k*len(rows)+i:][:1], lanes[:])
		}
	}
}

// AddRounded adds rows of the data set, times factors, to one or more sums, for example one for each class. sum holds
// the sums one after another, each with the length that [Rows.Columns] returns. For each index i of rows and each sum
// k, from 0, AddRounded multiplies row rows[i] by f[k*len(rows)+i], rounds each coordinate of the product to the grid
// g, and adds it to sum k. A coordinate of a product may be at most 16·C, where C is the clipping norm of the grid.
func (r *Rows) AddRounded(sum []float64, rows []int32, f []float64, g Grid) {
	if r.dense != nil {
		g.AddRows(sum, r.dense, r.columns, rows, f)
		return
	}
	for i, n := range rows {
		row := r.data.Row(int(n))
		value := row.Value[:len(row.Index)]
		for k := range len(sum) / r.columns {
			sum, by := sum[k*r.columns:][:r.columns], f[k*len(rows)+i]
			for j, c := range row.Index {
				sum[c] += g.Round(float64(by * float64(value[j])))
			}
		}
	}
}

// RowCache keeps the [Rows] (feature rows in the form that linear models need) of the last four data sets that a
// model read, so that they need not be made again. A model has one as a field. The zero value is empty. A RowCache is
// safe for concurrent use.
type RowCache struct {
	kept [4]atomic.Pointer[Rows]
	next atomic.Uint32
}

// Of returns the [Rows] of the data set d, from the cache if they are there. d must have rows and not images.
func (c *RowCache) Of(d *data.Dataset) *Rows {
	for i := range c.kept {
		if r := c.kept[i].Load(); r != nil && r.of(d) {
			return r
		}
	}
	r := NewRows(d)
	c.kept[int(c.next.Add(1))%len(c.kept)].Store(r)
	return r
}
