package nn

import "proactivedp/internal/f32"

// laneGradients makes a convolution's gradients for one example a lane, as
// [parameter][lane], block by block. As computed they are what is measured, clipped
// and then added in float64.
type laneGradients struct {
	c      *conv
	grad   int            // slot: the gradients of a block
	sum    int            // slot: their clipped sum, [parameter][f32.WideLanes]
	strips []*f32.Patches // of taps: the products over the positions of some rows
	rows   []part         // some filters each
	biases int            // slot: the biases' gradients of a block under way, [out][f32.LaneSums]
}

// cacheBytes is what a strip may take of the maps so that it stays in the
// first-level cache, 32 KiB or more.
const cacheBytes = 32 << 10

func newLaneGradients(n *Net, c *conv) *laneGradients {
	floats := c.size() * f32.Lanes
	g := &laneGradients{c: c, grad: n.newFloats(floats, n.group),
		sum:    n.newWides(c.size() * f32.WideLanes),
		biases: n.newFloats(c.affine.out*f32.LaneSums, 1)}
	g.rows = split(c.affine.out, f32.LaneTileRows)
	var read, write []int // where a tap reads, relative to a position, and writes the first filter's gradient
	for i := range c.in.Channels {
		for ky := range c.Kernel {
			for kx := range c.Kernel {
				read = append(read, i*c.in.plane()+ky*c.in.row()+kx*f32.Lanes)
				write = append(write, c.tap(ky, kx, i)*f32.Lanes)
			}
		}
	}
	for _, terms := range g.positions() {
		var taps []f32.Patch
		for _, p := range split(len(read), f32.LaneTileCols) {
			t := f32.Patch{Terms: terms, Cols: p.len}
			copy(t.ColB[:], read[p.start:p.start+p.len])
			copy(t.ColC[:], write[p.start:p.start+p.len])
			taps = append(taps, t)
		}
		g.strips = append(g.strips, f32.NewPatches(taps))
	}
	return g
}

// positions returns the terms of the sum over the output's positions, in strips
// of rows that fit the cache for a tile's filters and one map of the input.
func (g *laneGradients) positions() []*f32.Terms {
	c := g.c
	const bytes = 4
	perRow := bytes * (g.rows[0].len*c.out.row() + c.Stride*c.in.row())
	var out []*f32.Terms
	for _, p := range split(c.out.Height, max(1, (cacheBytes-bytes*c.Kernel*c.in.row())/perRow)) {
		var list []f32.Term
		for y := p.start; y < p.start+p.len; y++ {
			for x := range c.out.Width {
				list = append(list, f32.Term{A: int32(c.out.at(0, y, x)),
					B: int32(c.in.at(0, y*c.Stride-c.Pad, x*c.Stride-c.Pad))})
			}
		}
		out = append(out, f32.NewTerms(list))
	}
	return out
}

func (g *laneGradients) start(s *Scratch) { clear(s.wide(g.sum)) }

func (g *laneGradients) norms(s *Scratch, from, to int) {
	for b := from; b < to; b++ {
		g.weights(s.float(g.grad, b), s.float(g.c.in.act, b), s.float(g.c.out.delta, b), false)
		g.bias(s, s.float(g.c.out.delta, b), true)
		g.close(s, b)
	}
}

// weights sets the weights' part of grad from the input x and the derivative d of
// a block, or adds to it.
func (g *laneGradients) weights(grad, x, d []float32, add bool) {
	t := f32.LaneTile{RowA: g.c.out.plane(), RowC: g.c.affine.in * f32.Lanes, B: x}
	for i, strip := range g.strips {
		t.Accumulate = add || i > 0
		for _, r := range g.rows {
			t.Rows, t.A, t.C = r.len, d[r.start*t.RowA:], grad[r.start*t.RowC:]
			t.MulPatches(strip)
		}
	}
}

// bias sums the derivative d of a block for the biases' gradient, from 0 on or behind
// what it has.
func (g *laneGradients) bias(s *Scratch, d []float32, begins bool) {
	sums, plane := s.float(g.biases, 0), len(d)/g.c.affine.out
	if begins {
		clear(sums)
	}
	for o := range g.c.affine.out {
		f32.LaneSum((*[f32.LaneSums]float32)(sums[o*f32.LaneSums:]), d[o*plane:(o+1)*plane])
	}
}

// close adds to the weights' gradient of block b that of the biases and takes the norms.
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
