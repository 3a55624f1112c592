package nn

import (
	"slices"

	"proactivedp/internal/f32"
)

// tiledAcross computes the product of across with matrix tiles on machines that have them. A tile's columns are one
// position of a block, and its terms are 32 channels under a tap. The weights are split once per step, and the input
// once for each group of blocks.
type tiledAcross struct {
	*across
	back    bool // weights are read transposed, as [channel][tap][row]
	weights int  // slot: [row/16][tap][channel/32][part], in tiles
	read    int  // slot: the input, [channel/32][y][x][block][part], in tiles
	kernel  int
	places  []tiledPlace
	width   int    // number of positions in a line
	chunks  []part // groups of 32 channels; each chunk is summed before the next rows
	blocks  int    // number of blocks processed at a time
}

// tiledPlace is an output position: where it is written, and the tiles that are multiplied for it,
// those of the first 32 channels first.
type tiledPlace struct {
	write int
	taps  int // per 32 channels
	terms *f32.Terms
}

// tiledBytes is how much of a group of blocks is read before the next rows are computed. It then
// stays in the second-level cache together with the weights.
const tiledBytes = 5 << 18

// tiles returns the contraction p as one that uses matrix tiles, or p itself if its sizes do not
// fit tiles.
func (c *conv) tiles(n *Net, p *across, ys, xs []stretch, back bool) contraction {
	if n.bf16 || !f32.Splits(p.rows, p.source.Channels) || idle(ys) || idle(xs) {
		return p
	}
	n.tiled = true
	groups, taps := p.source.Channels/f32.TileTerms, c.Kernel*c.Kernel
	t := &tiledAcross{across: p, back: back, kernel: c.Kernel, width: len(xs),
		weights: n.pairs.reserve(p.rows/f32.Lanes*taps*groups*n.parts*f32.TilePairs, 1),
		read:    n.pairs.reserve(groups*p.source.Height*p.source.Width*acrossBlocks*n.parts*f32.TilePairs, 1),
	}
	to := c.out.layout
	if back {
		to = c.in.layout
	}
	size := n.parts * f32.TilePairs
	group := 4 * size * p.source.Height * p.source.Width // bytes of a block
	if t.blocks = acrossBlocks; acrossBlocks*group > tiledBytes/2 {
		t.blocks = 2
	}
	t.chunks = split(groups, max(1, tiledBytes/(t.blocks*group)))
	for _, y := range ys {
		for _, x := range xs {
			var list []f32.Term
			for g := range groups {
				for _, ky := range y.taps {
					for _, kx := range x.taps {
						position := (y.start+ky.step)*p.source.Width + x.start + kx.step
						list = append(list, f32.Term{
							A: int32(((ky.kernel*c.Kernel+kx.kernel)*groups + g) * size),
							B: int32((g*p.source.Height*p.source.Width + position) * acrossBlocks * size),
						})
					}
				}
			}
			place := tiledPlace{to.at(0, y.at[0], x.at[0]), len(y.taps) * len(x.taps), f32.NewTerms(list)}
			t.places = append(t.places, place)
		}
	}
	return t
}

// idle reports whether a position has no tap.
func idle(axis []stretch) bool {
	return slices.ContainsFunc(axis, func(s stretch) bool { return len(s.taps) == 0 })
}

// prepare splits the weights into parts.
func (t *tiledAcross) prepare(s *Scratch, w []float32) {
	if !s.tiles {
		t.across.prepare(s, w)
		return
	}
	parts, channels := s.net.parts, t.source.Channels
	taps, groups := t.kernel*t.kernel, channels/f32.TileTerms
	tiles, size := s.pair(t.weights), parts*f32.TilePairs
	var columns [f32.ThreeParts * f32.TilePairs]f32.Pair
	for g := range groups {
		for tap := range taps {
			for m := 0; m < t.rows; m += f32.Lanes {
				to := tiles[((m/f32.Lanes*taps+tap)*groups+g)*size:]
				if !t.back {
					f32.SplitRows(to, parts, w[(m*taps+tap)*channels+g*f32.TileTerms:], taps*channels, f32.TileTerms)
					continue
				}
				f32.SplitColumns(columns[:], parts, w[(g*f32.TileTerms*taps+tap)*t.rows+m:], taps*t.rows, f32.TileTerms)
				for part := range parts {
					f32.TransposePairs(to[part*f32.TilePairs:], f32.Lanes, columns[part*f32.TilePairs:], f32.Lanes)
				}
			}
		}
	}
}

func (t *tiledAcross) run(s *Scratch, w, bias []float32, first, end int) {
	if !s.tiles {
		t.across.run(s, w, bias, first, end)
		return
	}
	for ; first < end; first += acrossBlocks {
		blocks := min(acrossBlocks, end-first)
		t.takeApart(s, first, blocks)
		y, size := s.floats[t.to].from(first), s.floats[t.to].size
		if bias != nil {
			for b := range blocks {
				t.spread(y[b*size:], bias)
			}
		}
		for b := 0; b < blocks; b += t.blocks {
			for _, g := range t.chunks {
				t.sum(s, y, size, b, min(b+t.blocks, blocks), g, bias != nil || g.start > 0)
			}
		}
	}
}

// spread sets every position of a block to the biases. The places of a map's line are contiguous.
func (t *tiledAcross) spread(y, bias []float32) {
	line := t.width * f32.Lanes
	for o, v := range bias[:t.rows] {
		plane := y[o*t.rowC:][:t.rowC]
		first := plane[t.places[0].write:][:line]
		vector := (*[f32.Lanes]float32)(first)
		for i := range vector {
			vector[i] = v
		}
		for filled := f32.Lanes; filled < line; filled *= 2 {
			copy(first[filled:], first[:filled])
		}
		for i := t.width; i < len(t.places); i += t.width {
			copy(plane[t.places[i].write:][:line], first)
		}
	}
}

// takeApart splits the input of some blocks into tiles.
func (t *tiledAcross) takeApart(s *Scratch, first, blocks int) {
	l, size, tiles := t.source, s.net.parts*f32.TilePairs, s.pair(t.read)
	for b := range blocks {
		x, to := s.float(t.from, first+b), b*size
		for c := 0; c < l.Channels; c += f32.TileTerms {
			for y := range l.Height {
				for x0 := range l.Width {
					f32.SplitColumns(tiles[to:], s.net.parts, x[l.at(c, y, x0):], l.plane(), f32.TileTerms)
					to += acrossBlocks * size
				}
			}
		}
	}
}

// sum computes, for all rows and positions of the blocks [first, end), the products of some groups
// of 32 channels, or adds them.
func (t *tiledAcross) sum(s *Scratch, y []float32, block, first, end int, g part, add bool) {
	size := s.net.parts * f32.TilePairs
	weights, read := s.pair(t.weights), s.pair(t.read)
	groups := t.source.Channels / f32.TileTerms
	rowTiles := len(weights) / (t.rows / f32.Lanes)
	q := f32.SplitTile{Parts: s.net.parts, RowC: t.rowC, Accumulate: add}
	run := g.len * size // contiguous pairs of weights
	for m := 0; m < t.rows; m += 2 * f32.Lanes {
		next := (m/f32.Lanes + 2) * rowTiles
		q.A, q.DownA, q.DownC = weights[m/f32.Lanes*rowTiles:], 0, 0
		if m+f32.Lanes < t.rows {
			q.DownA, q.DownC = rowTiles, f32.Lanes*t.rowC
		}
		for i := range t.places {
			p := &t.places[i]
			terms := p.terms.Slice(g.start*p.taps, (g.start+g.len)*p.taps)
			for b := first; b < end; b += 2 {
				q.B, q.RightB, q.RightC = read[b*size:], 0, 0
				if b+1 < end {
					q.RightB, q.RightC = size, block
				}
				q.C = y[b*block+m*t.rowC+p.write:]
				q.Ahead(nil)
				if next+run <= len(weights) && next < (m/f32.Lanes+4)*rowTiles { // of the next rows
					q.Ahead(weights[next+g.start*size:])
					next += groups * size
				}
				q.Mul(&terms)
			}
		}
	}
}
