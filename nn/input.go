package nn

import (
	"fmt"

	"proactivedp/data"
	"proactivedp/internal/f32"
)

// input copies examples into lanes.
type input struct {
	out   *value
	rows  int // slot: examples of a block, one per row; images are normalised
	short int // slot: a row of a map that is shorter than a square
}

func (in *input) place(n *Net) {
	in.rows = n.floats.reserve((roundUp(in.out.Size(), f32.Lanes)+f32.Lanes)*f32.Lanes, 1)
	in.short = n.floats.reserve(square, 1)
}

// load sets the input of block b to the examples of the batch, beginning with first. A short block
// repeats its last example, so that every lane holds a real example.
func (in *input) load(s *Scratch, batch data.Batch, first, b int) {
	rows := s.float(in.rows, 0)
	width := len(rows) / f32.Lanes
	for l := range f32.Lanes {
		in.read(rows[l*width:], batch, min(first+l, batch.Len()-1))
	}
	x := s.float(in.out.act, b)
	in.out.runs(func(start, end int) {
		n := (end - start) / f32.Lanes
		if n < f32.Lanes && in.out.border > 0 {
			short := s.float(in.short, 0)
			f32.Transpose(short, f32.Lanes, rows, width)
			copy(x[start:end], short)
		} else {
			for i := 0; i < n; i += f32.Lanes {
				at := max(0, min(i, n-f32.Lanes)) // the last square overlaps the previous one
				f32.Transpose(x[start+at*f32.Lanes:], f32.Lanes, rows[at:], width)
			}
		}
		rows = rows[n:]
	})
}

func (in *input) read(x []float32, batch data.Batch, i int) {
	shape, images := in.out.Shape, batch.Data.Images
	switch {
	case images == nil && batch.Data.Features == shape.Size():
		clear(x[:shape.Size()])
		row, _ := batch.Example(i)
		for j, column := range row.Index {
			x[column] = row.Value[j]
		}
	case images != nil && shape == Shape{images.Channels, images.Height, images.Width}:
		image, pixels := batch.Image(i), shape.Height*shape.Width
		for c := range shape.Channels {
			scale, shift := images.Scaling(c)
			f32.FromBytes(x[c*pixels:][:pixels], image[c*pixels:][:pixels], scale, shift)
		}
	default:
		panic(fmt.Sprintf("nn: the data set must have images of %v or rows of %d features", shape, shape.Size()))
	}
}

// roundUp returns the first multiple of unit that is not below n.
func roundUp(n, unit int) int { return (n + unit - 1) / unit * unit }
