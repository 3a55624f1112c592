package models

import (
	"math"

	"proactivedp/internal/f32"
)

// Grid is the fixed point in which clipped gradients are added exactly, in any
// order and by any number of workers: each coordinate of a clipped gradient is
// rounded once, to a multiple of a unit between C·2^-27 and C·2^-26, and sums of
// such multiples are exact in float64 as long as they stay below 2^53 units. So if
// no coordinate that is added exceeds 16·C, MaxSample gradients can be, and the
// sum moves by exactly what a record adds.
//
// Rounding moves a vector of d coordinates by at most GridError(d)·C.
type Grid struct {
	// magic pushes what is below the unit out of the 53 bits of a float64, which
	// rounds to nearest (D. Knuth, "The Art of Computer Programming", vol. 2,
	// 4.2.2); 0 if nothing is rounded.
	magic float64
}

// NewGrid returns the grid for a clipping norm C in [dp.MinScale, dp.MaxScale]. That of
// +Inf rounds nothing.
func NewGrid(clip float64) Grid {
	if math.IsInf(clip, 1) {
		return Grid{}
	}
	power := math.Float64frombits(math.Float64bits(clip) &^ mantissa) // the largest of 2 that is at most C
	return Grid{power * (1.5 * (1 << (52 - gridBits)))}
}

const (
	gridBits = 26
	mantissa = 1<<52 - 1
)

// Round returns the multiple of the unit nearest to x, |x| ≤ 2^24·C.
func (g Grid) Round(x float64) float64 { return x + g.magic - g.magic }

// AddRows adds to sum, of stride columns, the rows with numbers rows of x times f, each
// product rounded to the unit: see f32.AddRows. A product may be at most 16·C.
func (g Grid) AddRows(sum []float64, x []float32, stride int, rows []int32, f []float64) {
	f32.AddRows(sum, x, stride, rows, f, g.magic)
}

// GridError returns by what part of C rounding each of d coordinates can lengthen
// a vector: half a unit each.
func GridError(d int) float64 { return math.Sqrt(float64(d)) * 0x1p-27 }
