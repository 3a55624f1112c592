package nn

import (
	"fmt"

	"proactivedp/internal/f32"
)

// Shape is the size of one example at the input or output of a layer: channels × height × width. A row of n features
// has n channels of height and width 1.
type Shape struct{ Channels, Height, Width int }

// Size returns the number of values in an example of this shape: Channels·Height·Width.
func (s Shape) Size() int { return s.Channels * s.Height * s.Width }

// String returns text such as 6×28×28, or 120 for a vector.
func (s Shape) String() string {
	if s.Height == 1 && s.Width == 1 {
		return fmt.Sprint(s.Channels)
	}
	return fmt.Sprintf("%d×%d×%d", s.Channels, s.Height, s.Width)
}

// layout says how the feature maps of a block are stored: as [channel][y][x][lane]. Each map has a border of zeros,
// of width border, to which nothing writes.
type layout struct {
	Shape
	border int
}

// row, plane and size count floats.
func (l layout) row() int   { return (l.Width + 2*l.border) * f32.Lanes }
func (l layout) plane() int { return (l.Height + 2*l.border) * l.row() }
func (l layout) size() int  { return l.Channels * l.plane() }

// inside returns the height and width of a map in the form that kernels take.
func (l layout) inside() f32.Plane { return f32.Plane{H: l.Height, W: l.Width, Row: l.row()} }

// at returns the offset of the lanes of a place. y and x may be in the border.
func (l layout) at(c, y, x int) int {
	return c*l.plane() + (y+l.border)*l.row() + (x+l.border)*f32.Lanes
}

type part struct{ start, len int }

// split divides n into the fewest parts of at most most, as equal as possible.
func split(n, most int) []part {
	count := (n + most - 1) / most
	out := make([]part, count)
	for i := range out {
		out[i].start = i * n / count
		out[i].len = (i+1)*n/count - out[i].start
	}
	return out
}

// runs calls f with the start and end of every run of floats that is not border.
func (l layout) runs(f func(start, end int)) {
	if l.border == 0 {
		f(0, l.size())
		return
	}
	for c := range l.Channels {
		for y := range l.Height {
			start := l.at(c, y, 0)
			f(start, start+l.Width*f32.Lanes)
		}
	}
}

// value is an activation between two stages: its layout, and the slots of the activation and of the
// loss's derivative by it.
type value struct {
	layout
	act, delta int
	// derived says that stages before it have parameters, so that the derivative is needed.
	derived bool
	// activated says that an activation function changed it in place and needs its result for the
	// backward pass. A value that nothing needs after that is passing: it shares its memory with
	// the derivative.
	activated, passing bool
}
