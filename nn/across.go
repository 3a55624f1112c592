package nn

import "proactivedp/internal/f32"

// across is a product for small maps with many channels. The columns of a tile are the same
// position of several blocks, so each position uses exactly the taps that fall on the map. The
// input is first copied to the order [y][x][channel][block][lane]. If the weights are not in the
// order of the terms, they are copied into panels of a tile's rows. Then everything that a tile
// reads is contiguous.
type across struct {
	product
	places []f32.Patch // one column each: the position in every block
	source layout      // the layout of the input
	packed int         // slot: the reordered input
	panels int         // slot: the weights [row/TileRows][tap][channel][TileRows], or none
	panel  int         // floats of one panel
}

// acrossBlocks is the number of blocks that a net with small maps processes together. none means
// that there is no slot.
const (
	acrossBlocks = f32.TileCols
	none         = -1
)

// packed returns the grid by which a map is read after pack has reordered it.
func packed(s Shape) grid {
	const vector = acrossBlocks * f32.Lanes
	return grid{s.Channels, vector, s.Width * s.Channels * vector, s.Channels * vector, 0}
}

// acrossAhead is the forward pass of c. acrossBack is the derivative by its input.
func acrossAhead(n *Net, c *conv) contraction {
	ys, xs := c.aheadAxis(c.in.Height, c.out.Height, true), c.aheadAxis(c.in.Width, c.out.Width, true)
	p := &across{
		product: product{
			rows: c.affine.out, rowA: c.affine.in, rowC: c.out.plane(), from: c.in.act, to: c.out.act,
		},
		places: patches(ys, xs, packed(c.in.Shape), c.out.layout, c.tap, true),
		source: c.in.layout, packed: n.newFloats(c.in.Size()*acrossBlocks*f32.Lanes, 1), panels: none,
	}
	return c.tiles(n, p, ys, xs, false)
}

func acrossBack(n *Net, c *conv) contraction {
	ys, xs := c.backAxis(c.in.Height, c.out.Height, true), c.backAxis(c.in.Width, c.out.Width, true)
	panel := c.Kernel * c.Kernel * c.affine.out * f32.TileRows
	p := &across{
		product: product{
			rows: c.in.Channels, rowA: 1, rowC: c.in.plane(), from: c.out.delta, to: c.in.delta,
		},
		places: patches(ys, xs, packed(c.out.Shape), c.in.layout, func(ky, kx, o int) int {
			return ((ky*c.Kernel+kx)*c.affine.out + o) * f32.TileRows
		}, true),
		source: c.out.layout, packed: n.newFloats(c.out.Size()*acrossBlocks*f32.Lanes, 1),
		panels: n.newFloats(roundUp(c.in.Channels, f32.TileRows)/f32.TileRows*panel, 1), panel: panel,
	}
	return c.tiles(n, p, ys, xs, true)
}

// prepare copies the weights, [channel][tap][row], into the panels.
func (p *across) prepare(s *Scratch, w []float32) {
	if p.panels == none {
		return
	}
	panels, channels := s.float(p.panels, 0), p.source.Channels
	taps := len(w) / channels / p.rows
	for c := range channels {
		for tap := range taps {
			at, row := (tap*channels+c)*f32.TileRows, w[(c*taps+tap)*p.rows:][:p.rows]
			for m := 0; m < p.rows; m += f32.TileRows {
				copy(panels[at:at+f32.TileRows], row[m:])
				at += p.panel
			}
		}
	}
}

func (p *across) run(s *Scratch, a, bias []float32, first, end int) {
	if p.panels != none {
		a = s.float(p.panels, 0)
	}
	for ; first < end; first += acrossBlocks {
		columns := min(acrossBlocks, end-first)
		p.pack(s, first, columns)
		to := &s.floats[p.to]
		t := f32.Tile{RowA: p.rowA, RowC: p.rowC, B: s.float(p.packed, 0), Cols: columns}
		y := to.from(first)
		for m := 0; m < p.rows; m += f32.TileRows {
			t.Rows = min(f32.TileRows, p.rows-m)
			t.A, t.C = a[p.weights(m):], y[m*p.rowC:]
			if bias != nil {
				t.Bias = bias[m:]
			}
			for i := range p.places {
				q := &p.places[i]
				for j := range columns {
					t.ColB[j], t.ColC[j] = q.ColB[0]+j*f32.Lanes, q.ColC[0]+j*to.size
				}
				t.Mul(q.Terms)
			}
		}
	}
}

// weights returns the offset of the weights of row m and later rows, in the panels or, without
// panels, in the parameters.
func (p *across) weights(m int) int {
	if p.panels != none {
		return m / f32.TileRows * p.panel
	}
	return m * p.rowA
}

// pack copies the input of the given number of columns, which are blocks from first on, to the
// order that across reads.
func (p *across) pack(s *Scratch, first, columns int) {
	l, to, out := p.source, packed(p.source.Shape), s.float(p.packed, 0)
	for j := range columns {
		x := s.float(p.from, first+j)
		for c := range l.Channels {
			f32.Spread(out[c*to.channel+j*f32.Lanes:], to.row, to.column, x[l.at(c, 0, 0):], l.inside())
		}
	}
}
