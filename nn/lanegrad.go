package nn

import "proactivedp/internal/f32"

// laneGradients computes a convolution's gradients with one example per lane, as [parameter][lane],
// block by block. These computed gradients are measured, clipped and then added in float64.
type laneGradients struct {
	c      *conv
	grad   int // slot: the gradients of a block
	sum    int // slot: their clipped sum, [parameter][f32.WideLanes]
	biases int // slot: the biases' gradients of the current block, [out][f32.LaneSums]
	all    laneProduct

	// After max pooling, only the positions of maxima have derivatives, at most one of two
	// neighbours. If it is faster, only these are summed; see f32.MaxPoolHalves.
	halves    laneProduct // without strips if there is no such pooling
	half, odd int         // slots: the results of MaxPoolHalves, [out][y][x/2]

	// In bfloat16, the terms are pairs of positions in a row.
	pairs laneProduct // without strips if there are none
	read  int         // slot: pairs of each position of the input and the next one
}

// laneProduct is the product of a derivative with the input, over positions.
type laneProduct struct {
	layout                // the layout of the derivative
	rows   []part         // groups of filters
	strips []*f32.Patches // strips of taps, over the positions of some rows
}

// cacheBytes is the largest part of the maps that a strip uses, so that it stays in the first-level
// cache, which has at least 32 KiB.
const cacheBytes = 32 << 10

func newLaneGradients(n *Net, c *conv) *laneGradients {
	floats := c.size() * f32.Lanes
	g := &laneGradients{c: c, grad: n.floats.reserve(floats, n.group),
		sum:    n.wides.reserve(c.size()*f32.WideLanes, 1),
		biases: n.floats.reserve(c.affine.out*f32.LaneSums, 1)}
	g.all = newLaneProduct(c, c.out.layout, f32.LaneTileRows, c.affine.in)
	half := layout{Shape: Shape{c.out.Channels, c.out.Height, c.out.Width / 2}}
	if c.bf16 && c.out.Width%2 == 0 {
		g.pairs = newLaneProduct(c, half, f32.LaneTileRows, c.affine.in)
		g.half, g.read = n.floats.reserve(half.size(), 1), n.floats.reserve(c.in.size(), 1)
	} else if c.pool != nil && c.Stride == 1 {
		g.halves = newLaneProduct(c, half, f32.OddTileRows, c.Kernel)
		g.half, g.odd = n.floats.reserve(half.size(), 1), n.ints.reserve(half.Size(), 1)
	}
	return g
}

// newLaneProduct compiles the product with a derivative of layout d. A tile has at most mostRows
// filters, and its taps are all in the same run of run taps.
func newLaneProduct(c *conv, d layout, mostRows, run int) laneProduct {
	p := laneProduct{layout: d, rows: split(c.affine.out, mostRows)}
	var read, write []int // where a tap reads, relative to a position, and writes the first filter's gradient
	for i := range c.in.Channels {
		for ky := range c.Kernel {
			for kx := range c.Kernel {
				read = append(read, i*c.in.plane()+ky*c.in.row()+kx*f32.Lanes)
				write = append(write, c.tap(ky, kx, i)*f32.Lanes)
			}
		}
	}
	for _, terms := range p.positions(c) {
		var taps []f32.Patch
		for start := 0; start < len(read); start += run {
			for _, q := range split(run, f32.LaneTileCols) {
				t := f32.Patch{Terms: terms, Cols: q.len}
				copy(t.ColB[:], read[start+q.start:][:q.len])
				copy(t.ColC[:], write[start+q.start:][:q.len])
				taps = append(taps, t)
			}
		}
		p.strips = append(p.strips, f32.NewPatches(taps))
	}
	return p
}

// positions returns the terms of the sum over the derivative's positions, in strips of rows. For a
// tile's filters and one map of the input, a strip fits the cache.
func (p *laneProduct) positions(c *conv) []*f32.Terms {
	const bytes = 4
	perRow, step := bytes*(p.rows[0].len*p.row()+c.Stride*c.in.row()), c.out.Width/p.Width*c.Stride
	var out []*f32.Terms
	for _, q := range split(p.Height, max(1, (cacheBytes-bytes*c.Kernel*c.in.row())/perRow)) {
		var list []f32.Term
		for y := q.start; y < q.start+q.len; y++ {
			for x := range p.Width {
				list = append(list, f32.Term{A: int32(p.at(0, y, x)),
					B: int32(c.in.at(0, y*c.Stride-c.Pad, x*step-c.Pad))})
			}
		}
		out = append(out, f32.NewTerms(list))
	}
	return out
}

func (g *laneGradients) start(s *Scratch) { clear(s.wide(g.sum)) }

func (g *laneGradients) norms(s *Scratch, from, to int) {
	for b := from; b < to; b++ {
		grad, x, d := s.float(g.grad, b), s.float(g.c.in.act, b), s.float(g.c.out.delta, b)
		if len(g.pairs.strips) > 0 {
			read, half := s.float(g.read, 0), s.float(g.half, 0)
			f32.PairVectors(read, f32.Lanes, x, x[f32.Lanes:], f32.Lanes, len(read)/f32.Lanes-1)
			at := 0
			g.c.out.runs(func(start, end int) {
				f32.PairVectors(half[at:], f32.Lanes, d[start:], d[start+f32.Lanes:], 2*f32.Lanes, (end-start)/(2*f32.Lanes))
				at += (end - start) / 2
			})
			g.weights(&g.pairs, grad, read, half, nil, false)
		} else if g.halved() {
			half, odd := s.float(g.half, 0), g.odds(s)
			g.c.pool.halve(s, b, half, odd)
			g.weights(&g.halves, grad, x, half, odd, false)
		} else {
			g.weights(&g.all, grad, x, d, nil, false)
		}
		g.bias(s, d, true)
		g.close(s, b)
	}
}

// halved reports whether the halves are summed instead of all positions.
func (g *laneGradients) halved() bool { return len(g.halves.strips) > 0 && f32.PrefersOdd() }

func (g *laneGradients) odds(s *Scratch) []int32 { return s.ints[g.odd].block(0) }

// weights sets the weights' part of grad from the input x and the derivative d of a block, or adds
// to it. If odd is not nil, d holds halves.
func (g *laneGradients) weights(p *laneProduct, grad, x, d []float32, odd []int32, add bool) {
	t := f32.LaneTile{RowA: p.plane(), RowC: g.c.affine.in * f32.Lanes, B: x, BF16: p == &g.pairs}
	for i, strip := range p.strips {
		t.Accumulate = add || i > 0
		for _, r := range p.rows {
			at := r.start * t.RowA
			t.Rows, t.A, t.C = r.len, d[at:], grad[r.start*t.RowC:]
			if odd == nil {
				t.MulPatches(strip)
				continue
			}
			t.Odd = odd[at/f32.Lanes:]
			t.MulOdd(strip)
		}
	}
}

// bias sums the derivative d of a block for the biases' gradient. It begins a new sum or adds to
// the current one.
func (g *laneGradients) bias(s *Scratch, d []float32, begins bool) {
	sums, plane := s.float(g.biases, 0), len(d)/g.c.affine.out
	if begins {
		clear(sums)
	}
	for o := range g.c.affine.out {
		f32.LaneSum((*[f32.LaneSums]float32)(sums[o*f32.LaneSums:]), d[o*plane:(o+1)*plane])
	}
}

// close appends the biases' gradient of block b to the weights' gradient, and adds the squared
// norms of both.
func (g *laneGradients) close(s *Scratch, b int) {
	grad, sums := s.float(g.grad, b), s.float(g.biases, 0)
	bias := grad[(g.c.bias-g.c.weight)*f32.Lanes:]
	for o := range g.c.affine.out {
		f32.LaneTotal((*[f32.Lanes]float32)(bias[o*f32.Lanes:]), (*[f32.LaneSums]float32)(sums[o*f32.LaneSums:]))
	}
	if s.private {
		f32.LaneSumSquares(&s.norm2[b], grad)
	}
}

func (g *laneGradients) sums(s *Scratch, from, to int) {
	for b := from; b < to; b++ {
		f32.LaneAxpyWide(&s.factor[b], s.float(g.grad, b), s.wide(g.sum))
	}
}

func (g *laneGradients) finish(s *Scratch) {
	g.c.collect(s, g.c.weight, g.sum)
}
