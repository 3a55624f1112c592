package nn

import (
	"fmt"

	"proactivedp/data"
	"proactivedp/internal/f32"
)

// input brings images into lanes.
type input struct {
	out   *value
	rows  int // slot: normalised images of a block, one a row
	lanes int // slot: a piece of them, transposed
}

func (in *input) place(n *Net) {
	size := roundUp(in.out.Size(), f32.Lanes)
	in.rows = n.newFloats(size*f32.Lanes, 1)
	in.lanes = n.newFloats(size*f32.Lanes, 1)
}

// load sets the input of block b to the examples of the batch from first on. A
// short block repeats its last example, so that no lane ever holds anything but
// what an example in use does.
func (in *input) load(s *Scratch, batch data.Batch, first, b int) {
	images, shape := batch.Data.Images, in.out.Shape
	if images == nil || (Shape{images.Channels, images.Height, images.Width}) != shape {
		panic(fmt.Sprintf("nn: the data set is not of images of %v", shape))
	}
	rows, lanes := s.float(in.rows, 0), s.float(in.lanes, 0)
	width := len(rows) / f32.Lanes
	pixels := shape.Height * shape.Width
	for l := range f32.Lanes {
		image := batch.Image(min(first+l, batch.Len()-1))
		for c := range shape.Channels {
			mean, std := float64(images.Mean[c]), float64(images.Std[c])
			f32.FromBytes(rows[l*width+c*pixels:][:pixels], image[c*pixels:][:pixels], float32(1/(255*std)), float32(-mean/std))
		}
	}
	for i := 0; i < width; i += f32.Lanes {
		f32.Transpose(lanes[i*f32.Lanes:], f32.Lanes, rows[i:], width)
	}
	x := s.float(in.out.act, b)
	in.out.runs(func(start, end int) { lanes = lanes[copy(x[start:end], lanes):] })
}

// roundUp returns the first multiple of unit that is not below n.
func roundUp(n, unit int) int { return (n + unit - 1) / unit * unit }
