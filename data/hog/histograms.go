package hog

import (
	"math"

	"proactivedp/data"
)

// histograms computes the histograms of images, one image after another.
type histograms struct {
	images       *data.Images
	cols, bins   int
	across, down []share     // by the pixel's x or y
	directions   []direction // by gradient, [dy+reach][dx+reach]
	counts       []float64   // [cell's row][cell's column][direction]; whole numbers
}

func newHistograms(m Map, images *data.Images) *histograms {
	rows, cols := images.Height/m.Cell, images.Width/m.Cell
	return &histograms{
		images: images, cols: cols, bins: m.Bins,
		across: shares(cols, m.Cell), down: shares(rows, m.Cell),
		directions: directions(m.Bins), counts: make([]float64, rows*cols*m.Bins),
	}
}

// share says to which two cells of a line a pixel contributes, and how much to each, in integer
// parts. Cells that do not exist get nothing.
type share struct {
	cells [2]int
	parts [2]int
}

// shares returns the share of each pixel of a line of cells. A pixel has 2·cell parts, and a cell
// 2·cell². In these parts, the centre of pixel x is at 2x + 1, and the centre of cell c at (2c +
// 1)·cell.
func shares(cells, cell int) []share {
	line := make([]share, cells*cell)
	for x := range line {
		behind := 2*x + 1 + cell // the centre of cell −1
		s := share{cells: [2]int{behind/(2*cell) - 1, behind / (2 * cell)}}
		s.parts[1] = behind % (2 * cell)
		s.parts[0] = 2*cell - s.parts[1]
		for i, c := range s.cells {
			if c < 0 || c == cells {
				s.cells[i], s.parts[i] = 0, 0
			}
		}
		line[x] = s
	}
	return line
}

// direction says to which two bins a gradient contributes, and how much of its length to each, in
// parts of 1/unit.
type direction struct {
	bins  [2]uint8
	parts [2]uint16
}

// The largest gradient in x and in y is reach. The length is at most 361.
const (
	reach = 255
	side  = 2*reach + 1
	unit  = 128
)

// directions returns the direction of every gradient, as bin numbers and parts. Parts are rounded
// to integers. The last bits of the arc tangent cannot change them: no part is that close to a
// half, and where a direction is exactly a bin's, the parts are continuous.
func directions(bins int) []direction {
	all := make([]direction, 0, side*side)
	for dy := -reach; dy <= reach; dy++ {
		for dx := -reach; dx <= reach; dx++ {
			length, second, bin := partsOf(dx, dy, bins)
			parts := math.Round(second)
			all = append(all, direction{
				[2]uint8{uint8(bin % bins), uint8((bin + 1) % bins)},
				[2]uint16{uint16(math.Round(length) - parts), uint16(parts)},
			})
		}
	}
	return all
}

// partsOf returns a gradient's length in parts, the bin below its direction, and how many parts the
// next bin gets.
func partsOf(dx, dy, bins int) (length, second float64, bin int) {
	turn := math.Atan2(float64(dy), float64(dx)) / (2 * math.Pi)
	if turn < 0 {
		turn++
	}
	at := turn * float64(bins)
	bin = int(at)
	length = unit * math.Sqrt(float64(dx*dx+dy*dy))
	return length, length * (at - float64(bin)), bin
}

// count adds the gradients of an image's whole cells to the counts. The counts are sums of integers
// far below 2^53, and so exact.
func (h *histograms) count(pixels []byte) {
	width, area := h.images.Width, h.images.Width*h.images.Height
	for y, down := range h.down {
		above, here := pixels[max(y-1, 0)*width:], pixels[y*width:]
		below := pixels[min(y+1, h.images.Height-1)*width:]
		for x, across := range h.across {
			left, right := max(x-1, 0), min(x+1, width-1)
			dx, dy, longest := 0, 0, 0
			for c := 0; c < len(pixels); c += area {
				gx, gy := int(here[c+right])-int(here[c+left]), int(below[c+x])-int(above[c+x])
				if n := gx*gx + gy*gy; n > longest {
					dx, dy, longest = gx, gy, n
				}
			}
			if longest > 0 {
				h.share(&h.directions[(dy+reach)*side+dx+reach], down, across)
			}
		}
	}
}

// share adds one gradient to the bins of the cells that share it.
func (h *histograms) share(d *direction, down, across share) {
	first, second := float64(d.parts[0]), float64(d.parts[1])
	for i, row := range down.cells {
		for j, col := range across.cells {
			if parts := float64(down.parts[i] * across.parts[j]); parts > 0 {
				cell := h.counts[(row*h.cols+col)*h.bins:][:h.bins]
				cell[d.bins[0]] += float64(parts * first)
				cell[d.bins[1]] += float64(parts * second)
			}
		}
	}
}

// normalise sets features to the counts, scaled to norm Norm.
func (h *histograms) normalise(features []float32) {
	squares := 0.0
	for _, n := range h.counts {
		squares += float64(n * n)
	}
	if squares == 0 {
		clear(features)
		return
	}
	factor := Norm / math.Sqrt(squares)
	for i, n := range h.counts {
		features[i] = float32(n * factor)
	}
}
