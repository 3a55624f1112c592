package models

import (
	"math"

	"proactivedp/internal/f32"
)

// Grid is a fixed-point format in which a model adds clipped gradients without rounding errors, in any order and by
// any number of goroutines. So one record changes the sum by exactly what it adds, and a Bounded model can prove its
// sensitivity.
//
// Each coordinate of a clipped gradient is rounded once, to a multiple of a unit. The unit is the largest power of
// two that is at most C·2^-26, where C is the clipping norm, so it is above C·2^-27. Sums of such multiples are exact
// in float64 as long as they stay below 2^53 units, which is at least C·2^26. This is enough for the clipped
// gradients of MaxSample = 2^22 records, even if each adds 16·C to a coordinate. (A coordinate of a clipped gradient
// is at most C. But for a model with a ridge penalty, package logreg adds the part from the data and the part from
// the penalty separately, and each may be larger than their sum.) Rounding moves a vector of d coordinates by at most
// GridError(d)·C.
type Grid struct {
	// Adding magic pushes everything below the unit out of the 53 bits of a float64, which rounds
	// to nearest (D. Knuth, "The Art of Computer Programming", vol. 2, 4.2.2). It is 0 if nothing
	// is rounded.
	magic float64
}

// NewGrid returns the grid for the clipping norm clip, in [dp.MinScale, dp.MaxScale]. For clip = +Inf, which means no
// clipping, it returns a grid that does not round.
func NewGrid(clip float64) Grid {
	if math.IsInf(clip, 1) {
		return Grid{}
	}
	power := math.Float64frombits(math.Float64bits(clip) &^ mantissa) // the largest power of 2 that is at most C
	return Grid{power * (1.5 * (1 << (52 - gridBits)))}
}

const (
	gridBits = 26
	mantissa = 1<<52 - 1
)

// Round returns the multiple of the grid's unit that is nearest to x, a coordinate of a clipped gradient, or of one
// of the two parts in which it is added (see [Grid]). |x| must be at most 2^24·C for the clipping norm C: above that,
// Round, which adds a large constant and subtracts it again, would return a wrong number. If rounded numbers are
// added up, the limit for each x is 16·C: see [Grid].
func (g Grid) Round(x float64) float64 { return x + g.magic - g.magic }

// AddRows adds rows of a matrix x, each multiplied by a factor, to one or more sums. Use it if gradients are multiples
// of feature rows, as those of linear models are: with several classes there is one sum for each class. x holds the
// rows of the matrix one after another, and stride is the length of a row. rows has the indices of the rows to add,
// from 0. sum holds the sums one after another, each of length stride. For each index i of rows and each sum k, from
// 0, AddRows multiplies row rows[i] by f[k*len(rows)+i], rounds each coordinate of the product to a multiple of the
// grid's unit, and adds it to sum k. A coordinate of a product may be at most 16·C for the clipping norm C: see
// [Grid].
func (g Grid) AddRows(sum []float64, x []float32, stride int, rows []int32, f []float64) {
	f32.AddRows(sum, x, stride, rows, f, g.magic)
}

// GridError returns by how much the norm of a clipped gradient of d coordinates can grow when each coordinate is
// rounded to a multiple of a unit (see [Grid]), as a fraction of the clipping norm C. A model includes it in
// Bounded.Shade, the fraction of C that it reserves for rounding errors. Each coordinate moves by at most half a
// unit, which is at most C·2^-27, so the result is √d·2^-27.
func GridError(d int) float64 { return math.Sqrt(float64(d)) * 0x1p-27 }
