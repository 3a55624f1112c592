package nn

import (
	"slices"

	"proactivedp/internal/f32"
)

// product is a convolution's sum over taps for all positions of a map: its input and output, and
// the tiles into which it is divided. The columns of its tiles are positions of one block.
type product struct {
	rows       int // number of output channels
	rowA, rowC int // floats from one channel's weights, or map, to the next
	from, to   int // slots: input and output
	patches    *f32.Patches
}

// productAhead is the forward pass of c. productBack is the derivative by its input.
func productAhead(c *conv) *product {
	return &product{
		rows: c.affine.out, rowA: c.affine.in, rowC: c.out.plane(), from: c.in.act, to: c.out.act,
		patches: f32.NewPatches(patches(c.aheadAxis(c.in.Height, c.out.Height, false),
			c.aheadAxis(c.in.Width, c.out.Width, false), c.in.grid(), c.out.layout, c.tap, false)),
	}
}

// Many rows are reached by the whole kernel, so they fill tiles in each column. Other rows are
// fewer. There two columns share a tile, and its taps are those that either column has.
func productBack(c *conv) *product {
	ys := c.backAxis(c.in.Height, c.out.Height, true)
	slices.SortStableFunc(ys, func(a, b stretch) int { return len(b.taps) - len(a.taps) })
	whole := 0
	for whole < len(ys) && len(ys[whole].taps) == c.Kernel {
		whole++
	}
	some := func(ys []stretch, exact bool) []f32.Patch {
		return patches(ys, c.backAxis(c.in.Width, c.out.Width, exact), c.out.grid(), c.in.layout,
			func(ky, kx, o int) int { return o*c.affine.in + c.tap(ky, kx, 0) }, false)
	}
	return &product{
		rows: c.in.Channels, rowA: 1, rowC: c.in.plane(), from: c.out.delta, to: c.in.delta,
		patches: f32.NewPatches(append(some(ys[:whole], true), some(ys[whole:], false)...)),
	}
}

func (p *product) prepare(*Scratch, []float32) {}

func (p *product) run(s *Scratch, w, bias []float32, first, end int) {
	for b := first; b < end; b++ {
		p.tiles(w, bias, s.float(p.from, b), s.float(p.to, b))
	}
}

// tiles computes the map y from x.
func (p *product) tiles(w, bias, x, y []float32) {
	t := f32.Tile{RowA: p.rowA, RowC: p.rowC, B: x}
	for m := 0; m < p.rows; m += f32.TileRows {
		t.Rows = min(f32.TileRows, p.rows-m)
		t.A, t.C = w[m*p.rowA:], y[m*p.rowC:]
		if bias != nil {
			t.Bias = bias[m:]
		}
		t.MulPatches(p.patches)
	}
}
