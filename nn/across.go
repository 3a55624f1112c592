package nn

import "proactivedp/internal/f32"

// across is the product of a convolution whose feature maps are small and have many channels. The columns of a tile
// are the same position in several blocks, so each position uses exactly the taps (positions of the kernel) that fall
// inside the map. The input is first copied to the order [y][x][channel][block][lane]. If the weights are not in the
// order of the terms, they are copied into panels of a tile's rows. Then everything that a tile reads is contiguous.
type across struct {
	product
	places []f32.Patch // one column each: the position in every block
	packed int         // slot: the reordered input
	panels int         // slot: the weights [row/TileRows][tap][channel][TileRows], or none
	panel  int         // floats of one panel
	each   int         // number of channels of the input in a term: 2 if they are pairs of bfloat16
	paired int         // slot: pairs of two rows of weights
}

// acrossBlocks is the number of blocks that a net with small maps processes together.
const acrossBlocks = f32.TileCols

// packed returns the grid by which a map is read after pack has reordered it, with the given number
// of channels in a term.
func packed(s Shape, each int) grid {
	const vector = acrossBlocks * f32.Lanes
	n := s.Channels / each
	return grid{n, vector, s.Width * n * vector, n * vector, 0}
}

// acrossAhead is the forward pass of c. acrossBack is the derivative by its input.
func acrossAhead(n *Net, c *conv) contraction {
	ys, xs := c.aheadAxis(c.in.Height, c.out.Height, true), c.aheadAxis(c.in.Width, c.out.Width, true)
	p := &across{
		product: product{
			rows: c.affine.out, rowA: c.affine.in, rowC: c.out.plane(), from: c.in.act, to: c.out.act,
			source: c.in.layout,
		},
		panels: none, each: 1,
	}
	tap := c.tap
	if c.bf16 {
		tap, p.rowA, p.each, p.panels = c.pairedTap, p.rowA/2, 2, n.floats.reserve(c.affine.out*c.affine.in/2, 1)
	}
	p.packed = n.floats.reserve(c.in.Size()/p.each*acrossBlocks*f32.Lanes, 1)
	p.places = patches(ys, xs, packed(c.in.Shape, p.each), c.out.layout, tap, true)
	return c.tiles(n, p, ys, xs, false)
}

func acrossBack(n *Net, c *conv) contraction {
	ys, xs := c.backAxis(c.in.Height, c.out.Height, true), c.backAxis(c.in.Width, c.out.Width, true)
	p := &across{
		product: product{
			rows: c.in.Channels, rowA: 1, rowC: c.in.plane(), from: c.out.delta, to: c.in.delta,
			source: c.out.layout,
		},
		each: 1,
	}
	if c.bf16 {
		p.each, p.paired = 2, n.floats.reserve(c.in.Channels, 1)
	}
	channels := c.affine.out / p.each
	p.panel = c.Kernel * c.Kernel * channels * f32.TileRows
	p.panels = n.floats.reserve(roundUp(c.in.Channels, f32.TileRows)/f32.TileRows*p.panel, 1)
	p.packed = n.floats.reserve(c.out.Size()/p.each*acrossBlocks*f32.Lanes, 1)
	p.places = patches(ys, xs, packed(c.out.Shape, p.each), c.in.layout, func(ky, kx, o int) int {
		return ((ky*c.Kernel+kx)*channels + o) * f32.TileRows
	}, true)
	return c.tiles(n, p, ys, xs, true)
}

// prepare copies the weights, [channel][tap][row], into the panels. Without panels it makes the pairs
// of weights.
func (p *across) prepare(s *Scratch, w []float32) {
	if p.panels == none {
		return
	}
	if p.panel == 0 {
		f32.PairRow(s.float(p.panels, 0), w)
		return
	}
	panels, channels := s.float(p.panels, 0), p.source.Channels
	taps := len(w) / channels / p.rows
	for c := 0; c < channels; c += p.each {
		for tap := range taps {
			at, row := (tap*channels+c)/p.each*f32.TileRows, w[(c*taps+tap)*p.rows:][:p.rows]
			if p.each == 2 {
				paired := s.float(p.paired, 0)
				f32.PairVectors(paired, f32.Lanes, row, w[((c+1)*taps+tap)*p.rows:], f32.Lanes, p.rows/f32.Lanes)
				row = paired
			}
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
		t := f32.Tile{RowA: p.rowA, RowC: p.rowC, B: s.float(p.packed, 0), Cols: columns, BF16: p.each == 2}
		y := to.from(first)
		for m := 0; m < p.rows; m += f32.TileRows {
			t.Rows = min(f32.TileRows, p.rows-m)
			t.A, t.C = a[p.weightsOf(m):], y[m*p.rowC:]
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

// weightsOf returns the offset of the weights of row m and later rows, in the panels or, without
// panels, among all weights.
func (p *across) weightsOf(m int) int {
	if p.panel > 0 {
		return m / f32.TileRows * p.panel
	}
	return m * p.rowA
}

// pack copies the input of the given number of columns, which are blocks from first on, to the
// order that across reads.
func (p *across) pack(s *Scratch, first, columns int) {
	l, to, out := p.source, packed(p.source.Shape, p.each), s.float(p.packed, 0)
	for j := range columns {
		x := s.float(p.from, first+j)
		for c := 0; c < l.Channels && p.each == 2; c += 2 {
			for y := range l.Height {
				f32.PairVectors(out[c/2*to.channel+y*to.row+j*f32.Lanes:], to.column, x[l.at(c, y, 0):], x[l.at(c+1, y, 0):],
					f32.Lanes, l.Width)
			}
		}
		for c := 0; c < l.Channels && p.each == 1; c++ {
			f32.Spread(out[c*to.channel+j*f32.Lanes:], to.row, to.column, x[l.at(c, 0, 0):], l.inside())
		}
	}
}
