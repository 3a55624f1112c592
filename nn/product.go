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

	// In bfloat16, the terms are pairs of channels of the input.
	weights int    // slot: the pairs of weights, or none
	read    int    // slot: the pairs of a block of the input
	source  layout // the layout of the input
}

// none means that there is no slot.
const none = -1

// productAhead is the forward pass of c. productBack is the derivative by its input.
func productAhead(n *Net, c *conv) *product {
	p := &product{
		rows: c.affine.out, rowA: c.affine.in, rowC: c.out.plane(), from: c.in.act, to: c.out.act, weights: none,
		source: c.in.layout,
	}
	from, tap := c.in.grid(), c.tap
	if c.bf16 {
		p.inPairs(n, c)
		from, tap, p.rowA = from.inPairs(), c.pairedTap, p.rowA/2
	}
	p.patches = f32.NewPatches(patches(c.aheadAxis(c.in.Height, c.out.Height, false),
		c.aheadAxis(c.in.Width, c.out.Width, false), from, c.out.layout, tap, false))
	return p
}

// Many rows are reached by the whole kernel, so they fill tiles in each column. Other rows are
// fewer. There two columns share a tile, and its taps are those that either column has.
func productBack(n *Net, c *conv) *product {
	ys := c.backAxis(c.in.Height, c.out.Height, true)
	slices.SortStableFunc(ys, func(a, b stretch) int { return len(b.taps) - len(a.taps) })
	whole := 0
	for whole < len(ys) && len(ys[whole].taps) == c.Kernel {
		whole++
	}
	p := &product{
		rows: c.in.Channels, rowA: 1, rowC: c.in.plane(), from: c.out.delta, to: c.in.delta, weights: none,
		source: c.out.layout,
	}
	from := c.out.grid()
	if c.bf16 {
		p.inPairs(n, c)
		from = from.inPairs()
	}
	some := func(ys []stretch, exact bool) []f32.Patch {
		return patches(ys, c.backAxis(c.in.Width, c.out.Width, exact), from, c.in.layout,
			func(ky, kx, o int) int { return o*c.affine.in + c.tap(ky, kx, 0) }, false)
	}
	p.patches = f32.NewPatches(append(some(ys[:whole], true), some(ys[whole:], false)...))
	return p
}

// inPairs reserves the memory of pairs.
func (p *product) inPairs(n *Net, c *conv) {
	p.weights, p.read = n.floats.reserve(c.affine.out*c.affine.in/2, 1), n.floats.reserve(p.source.size()/2, 1)
}

func (g grid) inPairs() grid {
	g.channels /= 2
	return g
}

// pairedTap is tap for a pair of channels.
func (c *conv) pairedTap(ky, kx, pair int) int { return c.tap(ky, kx, 0)/2 + pair }

// prepare makes the pairs of weights. Those of one filter are next to each other; otherwise, pairs
// are of two filters.
func (p *product) prepare(s *Scratch, w []float32) {
	switch {
	case p.weights == none:
	case p.rowA > 1:
		f32.PairRow(s.float(p.weights, 0), w)
	default:
		row := len(w) / p.source.Channels
		for o := 0; o < p.source.Channels; o += 2 {
			f32.PairVectors(s.float(p.weights, 0)[o/2*row:], f32.Lanes, w[o*row:], w[(o+1)*row:], f32.Lanes, row/f32.Lanes)
		}
	}
}

func (p *product) run(s *Scratch, w, bias []float32, first, end int) {
	for b := first; b < end; b++ {
		x := s.float(p.from, b)
		if p.weights != none {
			w = s.float(p.weights, 0)
			x = p.pair(s, x)
		}
		p.tiles(w, bias, x, s.float(p.to, b))
	}
}

func (p *product) pair(s *Scratch, x []float32) []float32 {
	read, plane := s.float(p.read, 0), p.source.plane()
	for c := 0; c < p.source.Channels; c += 2 {
		f32.PairVectors(read[c/2*plane:], f32.Lanes, x[c*plane:], x[(c+1)*plane:], f32.Lanes, plane/f32.Lanes)
	}
	return read
}

// tiles computes the map y from x.
func (p *product) tiles(w, bias, x, y []float32) {
	t := f32.Tile{RowA: p.rowA, RowC: p.rowC, B: x, BF16: p.weights != none}
	for m := 0; m < p.rows; m += f32.TileRows {
		t.Rows = min(f32.TileRows, p.rows-m)
		t.A, t.C = w[m*p.rowA:], y[m*p.rowC:]
		if bias != nil {
			t.Bias = bias[m:]
		}
		t.MulPatches(p.patches)
	}
}
