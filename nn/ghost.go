package nn

import (
	"math"
	"slices"

	"proactivedp/internal/f32"
)

// ghostGradients computes the norms and the clipped sum of a convolution's gradients without ever storing the
// gradient of a single example. Let x_p be the input under the kernel at output position p, and δ_p the derivative of
// the loss there. An example's gradient is Σ_p δ_p x_pᵀ, and
//
//	‖Σ_p δ_p (x_p, 1)ᵀ‖² = Σ_{p,q} ⟨δ_p, δ_q⟩·(⟨x_p, x_q⟩ + 1),
//
// where ⟨x_p, x_q⟩ is a sum over taps of products of single input positions. The clipped sum is a
// product over examples and positions. For each example it is first summed over positions, and then
// added to the example's bin.
type ghostGradients struct {
	c              *conv
	inputs, deltas *gram
	pairs          []ghostPair
	margin, tiny   float64 // how much rounding may decrease a norm, see newGhostGradients

	// Slots that collect what is summed for one example:
	swapped int // the input as [channel/16][lane][y][x][16 channels]
	scaled  int // the derivative times the clip factor as [out][lane][room], with borders
	room    int // capacity for its positions, in whole vectors

	bias   int // slot: the derivatives summed over positions, [out][lane]
	bias64 int // slot: their sum over the examples, [out][f32.WideLanes]
	bin    int // slot: the weights' sum over the examples of a bin so far, [group][tap][row/TileRows] tiles
	wide   int // slot: their sum over the bins, in as many tiles, or in the order of tiledGhost
	taps   []ghostTap
	groups []part // groups of 16 channels
	near   int    // number of examples whose input to a group's tiles fits the first-level cache

	tiled *tiledGhost // computes the sums by matrix tiles, or nil

	// In bfloat16, the terms of the sums are pairs of positions in a row.
	span    int // number of columns of the input in which a pair begins, or 0 without pairs
	halves  int // number of pairs in a row of the output
	nothing int // slot: zeros, as far apart as channels
	rounded int // slot: the rounded input of a block
	square  int // slot: pairs before they are transposed
	factors int // slot: the clip factors of the blocks
}

// ghostPair is a pair of output positions; the first does not follow the second. It has the offset
// of their product in the Gram matrix of the derivatives, and for each tap the offset of the
// inputs' product in theirs.
type ghostPair struct {
	delta  int
	inputs []int
	same   bool
}

// ghostTap is one tap's part of the clipped sum, over 1, 2, … blocks. The positions of the first
// example come first.
type ghostTap struct {
	write     int // offset of its weights for the first channel
	positions int
	terms     [acrossBlocks]*f32.Terms
}

// ghostly reports whether ghostGradients costs less than writing and adding every example's gradient.
func (c *conv) ghostly() bool {
	// element is the cost of writing, squaring and adding one element of a gradient, in
	// multiplications of the Gram matrices.
	const element = 6
	half := func(s Shape) int { return s.Channels * s.Height * s.Width * s.Height * s.Width / 2 }
	return c.in.Channels%f32.Lanes == 0 && c.across && half(c.in.Shape)+half(c.out.Shape) < element*c.size()
}

func newGhostGradients(n *Net, c *conv) *ghostGradients {
	span, positions := c.in.Width, c.out.plane()/f32.Lanes
	if c.bf16 {
		halves := (c.out.Width + 1) / 2
		span, positions = 2*(halves-1)+c.Kernel, halves*c.out.Height
	}
	g := &ghostGradients{
		c: c, inputs: newGram(n, c.in.layout), deltas: newGram(n, c.out.layout),
		swapped: n.floats.reserve(c.in.Channels*c.in.Height*span*f32.Lanes, n.group),
		room:    roundUp(positions, f32.Lanes),
		bias:    n.floats.reserve(c.affine.out*f32.Lanes, 1),
		bias64:  n.wides.reserve(c.affine.out*f32.WideLanes, 1),
		groups:  split(c.in.Channels/f32.Lanes, f32.TileCols),
		near:    max(1, cacheBytes/(4*c.in.Height*span*f32.Lanes*f32.TileCols)),
		span:    span,
	}
	if c.bf16 {
		g.halves = (c.out.Width + 1) / 2
		g.nothing = n.floats.reserve(f32.Lanes*c.in.plane(), 1)
		g.rounded = n.floats.reserve(c.in.size(), 1)
		g.square = n.floats.reserve(g.room*f32.Lanes, 1)
		g.factors = n.floats.reserve(n.group*f32.Lanes, 1)
	}
	g.scaled = n.floats.reserve(c.affine.out*f32.Lanes*g.room, n.group)
	ys, xs := c.aheadAxis(c.in.Height, c.out.Height, true), c.aheadAxis(c.in.Width, c.out.Width, true)
	g.listPairs(ys, xs)
	g.listTaps(n, ys, xs)
	sums := len(g.groups) * len(g.taps) * g.rowTiles() * ghostTile
	narrows, wides := sums, sums
	if g.tiled = newTiledGhost(n, c); g.tiled != nil {
		n.tiled, narrows, wides = true, max(sums, g.tiled.narrows()), max(sums, g.tiled.wides())
	}
	g.bin, g.wide = n.floats.reserve(narrows, 1), n.wides.reserve(wides, 1)
	if g.tiled != nil {
		g.tiled.bin = g.bin
	}

	// Rounding. Let u = 2^-24 and M = Σ_p ‖δ_p‖‖(x_p, 1)‖. A k-term sum has an error of at most
	// k·u·Σ|·|. So the inner products of pairs, their sums over taps and one product have a total
	// error of at most (out + in + taps + 2)·u·M². The contribution of one example to the sum has
	// an error of at most (positions + 1)·u·M. The gradient is at most M long, so its square has an
	// error of at most twice that times M. Both are to first order; the part of a hundredth covers
	// the rest. Below the least float32, errors are not relative: a product of two δ may lose
	// 2^-149.
	//
	// In bfloat16, norms and sums are made of the same rounded numbers, whose products are exact. An
	// example's sum over positions adds them one by one, so it has at most the same error, and is then
	// multiplied by the clip factor and added with one rounding. Numbers below 2^-126 are 0 for both, and
	// sums below 2^-126 are lost, which does not matter for clipping norms of LeastNorm or more.
	positions = c.out.Height * c.out.Width
	terms := c.affine.out + c.in.Channels + c.Kernel*c.Kernel + 2*positions + 4
	g.margin = 1.01 * float64(terms) * 0x1p-24
	g.tiny = float64(c.affine.out*positions) * 0x1p-149
	return g
}

// listPairs sets g.pairs to the pairs of output positions.
func (g *ghostGradients) listPairs(ys, xs []stretch) {
	c := g.c
	index := func(s Shape, y, x int) int { return y*s.Width + x }
	positions := c.out.Height * c.out.Width
	for p := range positions {
		for q := p; q < positions; q++ {
			pair := ghostPair{delta: g.deltas.at(p, q), same: p == q}
			py, px, qy, qx := ys[p/c.out.Width], xs[p%c.out.Width], ys[q/c.out.Width], xs[q%c.out.Width]
			for _, ky := range common(py, qy) {
				for _, kx := range common(px, qx) {
					pair.inputs = append(pair.inputs,
						g.inputs.at(index(c.in.Shape, ky[0], kx[0]), index(c.in.Shape, ky[1], kx[1])))
				}
			}
			g.pairs = append(g.pairs, pair)
		}
	}
}

// common returns, for each tap that two positions have in common, the places that they read through
// it.
func common(a, b stretch) [][2]int {
	var out [][2]int
	for _, s := range a.taps {
		for _, t := range b.taps {
			if s.kernel == t.kernel {
				out = append(out, [2]int{a.start + s.step, b.start + t.step})
			}
		}
	}
	return out
}

// listTaps lists for every tap the inputs with which the derivatives are multiplied.
func (g *ghostGradients) listTaps(n *Net, ys, xs []stretch) {
	c := g.c
	plane := c.in.Height * g.span
	for ky := range c.Kernel {
		for kx := range c.Kernel {
			one := g.terms(ky, kx, ys, xs)
			if len(one) == 0 {
				continue
			}
			tap := ghostTap{write: c.tap(ky, kx, 0), positions: len(one)}
			var list []f32.Term
			for b := range n.group {
				for l := range f32.Lanes {
					for _, t := range one {
						t.A += int32(b*n.floats[g.scaled].size + l*g.room)
						t.B += int32(b*n.floats[g.swapped].size + l*plane*f32.Lanes)
						list = append(list, t)
					}
				}
				tap.terms[b] = f32.NewTerms(list)
			}
			g.taps = append(g.taps, tap)
		}
	}
}

// terms lists the terms of a tap, of lane 0 of block 0.
func (g *ghostGradients) terms(ky, kx int, ys, xs []stretch) []f32.Term {
	c := g.c
	var one []f32.Term
	for y, py := range ys {
		for x, px := range xs {
			iy, ix := y*c.Stride-c.Pad+ky, x*c.Stride-c.Pad+kx
			switch {
			case !py.has(ky):
			case !c.bf16 && px.has(kx):
				one = append(one, f32.Term{
					A: int32(c.out.at(0, y, x) / f32.Lanes), B: int32((iy*c.in.Width + ix) * f32.Lanes),
				})
			case c.bf16 && x%2 == 0 && (px.has(kx) || x+1 < len(xs) && xs[x+1].has(kx)):
				one = append(one, f32.Term{
					A: int32(y*g.halves + x/2), B: int32((iy*g.span + ix + c.Pad) * f32.Lanes),
				})
			}
		}
	}
	return one
}

func (s *stretch) has(kernel int) bool {
	return slices.ContainsFunc(s.taps, func(t tapAt) bool { return t.kernel == kernel })
}

func (g *ghostGradients) start(s *Scratch) {
	if s.out == nil { // a tap may have no position
		clear(g.c.weights64(s.sum))
	}
	clear(s.wide(g.wide))
	clear(s.wide(g.bias64))
}

func (g *ghostGradients) finish(s *Scratch) {
	if g.tiles(s) {
		g.tiled.deposit(s, s.wide(g.wide))
	} else {
		g.deposit(s, s.wide(g.wide))
	}
	g.c.collect(s, g.c.bias, g.bias64)
}

// deposit copies the tiles of the weights' sum to their places in the clipped sum of all
// parameters.
func (g *ghostGradients) deposit(s *Scratch, tiles []float64) {
	c := g.c
	for _, group := range g.groups {
		for i := range g.taps {
			at := c.weight + g.taps[i].write + group.start*f32.Lanes
			for o := range c.affine.out {
				c.deposit(s, at+o*c.affine.in, tiles[o*ghostRow:][:group.len*f32.Lanes])
			}
			tiles = tiles[g.rowTiles()*ghostTile:]
		}
	}
}

func (g *ghostGradients) norms(s *Scratch, from, to int) {
	for b := from; b < to && g.c.bf16; b++ {
		f32.RoundToBF16(s.float(g.c.out.delta, b))
	}
	if !s.private {
		return
	}
	for b := from; b < to; b++ {
		x := s.float(g.c.in.act, b)
		if g.c.bf16 { // a copy, because the input's derivative may be made from the input
			rounded := s.float(g.rounded, 0)
			copy(rounded, x)
			f32.RoundToBF16(rounded)
			x = rounded
		}
		h := g.inputs.fill(s, x)
		d := g.deltas.fill(s, s.float(g.c.out.delta, b))
		var same, others, bound, inputs [f32.Lanes]float64
		for i := range g.pairs {
			p := &g.pairs[i]
			var x [f32.Lanes]float32
			for _, at := range p.inputs {
				for l, v := range h[at : at+f32.Lanes] {
					x[l] += v
				}
			}
			delta := d[p.delta : p.delta+f32.Lanes]
			if !p.same {
				for l, v := range delta {
					others[l] += float64(v) * (float64(x[l]) + 1)
				}
				continue
			}
			for l, v := range delta {
				product := float64(v) * (float64(x[l]) + 1)
				same[l] += product
				bound[l] += math.Sqrt(product)
				inputs[l] += float64(x[l]) + 1
			}
		}
		for l := range same {
			norm2 := max(same[l]+2*others[l], 0) + g.margin*bound[l]*bound[l] + g.tiny*withinRange(inputs[l])
			if g.tiles(s) {
				norm := g.tiled.norm(math.Sqrt(norm2), bound[l])
				norm2 = norm * norm
			}
			s.norm2[b][l] += norm2
		}
	}
}

// tiles reports whether matrix tiles compute the sums.
func (g *ghostGradients) tiles(s *Scratch) bool { return g.tiled != nil && s.tiles }

func (g *ghostGradients) sums(s *Scratch, from, to int) {
	c := g.c
	bias := s.float(g.bias, 0)
	for b := from; b < to; b++ {
		delta := s.float(c.out.delta, b)
		for o := range c.affine.out {
			s.laneSums = [f32.LaneSums]float32{}
			f32.LaneSum(&s.laneSums, delta[o*c.out.plane():(o+1)*c.out.plane()])
			f32.LaneTotal((*[f32.Lanes]float32)(bias[o*f32.Lanes:]), &s.laneSums)
		}
		f32.LaneAxpyWide(&s.factor[b], bias, s.wide(g.bias64))
		if c.bf16 {
			copy(s.float(g.factors, 0)[(b-from)*f32.Lanes:], s.factor[b][:])
			g.gatherPairs(s, s.float(g.scaled, b), delta)
			g.swapPairs(s, s.float(g.swapped, b), s.float(c.in.act, b))
			continue
		}
		f32.LaneScale(delta, f32.Lanes, &s.factor[b], delta)
		if !g.tiles(s) {
			g.gather(s.float(g.scaled, b), delta)
			g.swap(s.float(g.swapped, b), s.float(c.in.act, b))
		}
	}
	if g.tiles(s) {
		g.tiled.sums(s, s.wide(g.wide), from, to)
		return
	}
	first := s.first + from*f32.Lanes
	parts := s.pieces(first, min(s.first+to*f32.Lanes, len(s.rows)), g.near)
	bin, wide := s.float(g.bin, 0), s.wide(g.wide)
	for _, group := range g.groups {
		for _, p := range parts {
			for i := range g.taps {
				q := &g.taps[i]
				all := q.terms[to-from-1]
				terms := all.Slice((p.from-first)*q.positions, (p.to-first)*q.positions)
				at := i * g.rowTiles() * ghostTile
				g.add(s, from, first, group, p, &terms, q.positions, bin[at:], wide[at:])
			}
		}
		bin, wide = bin[len(g.taps)*g.rowTiles()*ghostTile:], wide[len(g.taps)*g.rowTiles()*ghostTile:]
	}
}

// add adds the examples of a segment to the sums of their bin, for one tap and the 16-channel
// groups of group. first is the first example of the block.
func (g *ghostGradients) add(
	s *Scratch, block, first int, group part, p segment, terms *f32.Terms, positions int, bin []float32, wide []float64,
) {
	c := g.c
	t := f32.Tile{RowA: f32.Lanes * g.room, RowC: ghostRow, Cols: group.len, BF16: c.bf16}
	if c.bf16 {
		t.Factors = s.float(g.factors, 0)[p.from-first:]
	}
	scaled := s.floats[g.scaled].from(block)
	size := c.in.Height * g.span * square // of 16 channels
	for j := range t.ColB {
		t.ColB[j], t.ColC[j] = j*size, j*f32.Lanes
	}
	t.B = s.floats[g.swapped].from(block)[group.start*size:]
	for m := 0; m < c.affine.out; m += f32.TileRows {
		t.Rows, t.A, t.C = min(f32.TileRows, c.affine.out-m), scaled[m*t.RowA:], bin[:ghostTile]
		if p.begins {
			clear(t.C)
		}
		t.MulRuns(terms, positions)
		if p.ends {
			f32.AddWide(wide, ghostRow, t.C, t.Rows, group.len)
		}
		bin, wide = bin[ghostTile:], wide[ghostTile:]
	}
}

// rowTiles returns the number of tiles for a tap and a group.
func (g *ghostGradients) rowTiles() int { return (g.c.affine.out + f32.TileRows - 1) / f32.TileRows }

// ghostTile is the number of floats in a tile of a bin, ghostRow that in a row of the tile.
const (
	ghostRow  = f32.TileCols * f32.Lanes
	ghostTile = f32.TileRows * ghostRow
)

// gather makes the positions of a derivative's planes contiguous.
func (g *ghostGradients) gather(dst, delta []float32) {
	plane := g.c.out.plane()
	for ; len(delta) >= plane && len(dst) > 0; delta, dst = delta[plane:], dst[f32.Lanes*g.room:] {
		p := 0
		for ; p+square <= plane; p += square {
			f32.Transpose(dst[p/f32.Lanes:], g.room, delta[p:], f32.Lanes)
		}
		for ; p < plane; p++ {
			dst[p%f32.Lanes*g.room+p/f32.Lanes] = delta[p]
		}
	}
}

// swap reorders the input so that channels are contiguous and examples follow one another.
func (g *ghostGradients) swap(dst, x []float32) {
	in := g.c.in
	plane := in.Height * in.Width * f32.Lanes
	for c := 0; c < in.Channels; c += f32.Lanes {
		for y := range in.Height {
			for x0 := range in.Width {
				f32.Transpose(dst[(y*in.Width+x0)*f32.Lanes:], plane, x[in.at(c, y, x0):], in.plane())
			}
		}
		dst = dst[min(plane*f32.Lanes, len(dst)):]
	}
}

// gatherPairs does the same as gather, with pairs of positions that are next to each other in a row.
func (g *ghostGradients) gatherPairs(s *Scratch, dst, delta []float32) {
	out, pairs, nothing := g.c.out, s.float(g.square, 0), s.float(g.nothing, 0)
	for o := range g.c.affine.out {
		for y := range out.Height {
			row, line := pairs[y*g.halves*f32.Lanes:], delta[out.at(o, y, 0):]
			if out.Width > 1 {
				f32.PairVectors(row, f32.Lanes, line, line[f32.Lanes:], 2*f32.Lanes, out.Width/2)
			}
			if last := out.Width - 1; last%2 == 0 {
				f32.PairVectors(row[last/2*f32.Lanes:], f32.Lanes, line[last*f32.Lanes:], nothing, 0, 1)
			}
		}
		for p := 0; p < g.room; p += f32.Lanes {
			f32.Transpose(dst[o*f32.Lanes*g.room+p:], g.room, pairs[p*f32.Lanes:], f32.Lanes)
		}
	}
}

// swapPairs does the same as swap, with pairs of each column and the next one.
func (g *ghostGradients) swapPairs(s *Scratch, dst, x []float32) {
	in, pairs := g.c.in, s.float(g.square, 0)
	at := func(c, y, column int) []float32 {
		if column < 0 || column >= in.Width {
			return s.float(g.nothing, 0)
		}
		return x[in.at(c, y, column):]
	}
	plane := in.Height * g.span * f32.Lanes
	for c := 0; c < in.Channels; c += f32.Lanes {
		for y := range in.Height {
			for i := range g.span {
				column := i - g.c.Pad
				f32.PairVectors(pairs, f32.Lanes, at(c, y, column), at(c, y, column+1), in.plane(), f32.Lanes)
				f32.Transpose(dst[c*plane+(y*g.span+i)*f32.Lanes:], plane, pairs, f32.Lanes)
			}
		}
	}
}
