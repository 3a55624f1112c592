package nn

import (
	"math"

	"proactivedp/internal/f32"
)

// ghostGradients never makes the gradients of single examples. With x_p what
// the kernel sees at the position p of the output, and δ_p the derivative there,
// an example's gradient is Σ_p δ_p x_pᵀ, and
//
//	‖Σ_p δ_p (x_p, 1)ᵀ‖² = Σ_{p,q} ⟨δ_p, δ_q⟩·(⟨x_p, x_q⟩ + 1),
//
// where ⟨x_p, x_q⟩ is a sum over taps of products of single positions of the
// input. The clipped sum is a product over examples and positions.
type ghostGradients struct {
	c              *conv
	inputs, deltas *gram
	pairs          []ghostPair
	margin         float64 // what rounding may take from a norm: see newGhostGradients

	swapped int // slot: the input as [channel/16][y][x][lane][16 channels]
	bias    int // slot: the derivatives summed over positions, [out][lane]
	taps    []ghostTap
	groups  []part // of 16 channels each
}

// ghostPair is two positions of the output, the first not behind the second:
// where their product stands in the Gram matrix of the derivatives, and those
// of the inputs under each tap in theirs.
type ghostPair struct {
	delta  int
	inputs []int
	same   bool
}

// ghostTap is one tap's part of the clipped sum, over 1, 2, … blocks.
type ghostTap struct {
	write int // where its weights for the first channel stand
	terms [acrossBlocks]*f32.Terms
}

// ghostly reports whether the Gram matrices cost less than to write down and
// add every example's gradient.
func (c *conv) ghostly() bool {
	// element is what it costs to write, square and add an element of a gradient, in
	// multiplications of the Gram matrices.
	const element = 6
	half := func(s Shape) int { return s.Channels * s.Height * s.Width * s.Height * s.Width / 2 }
	return c.in.Channels%f32.Lanes == 0 && c.across && half(c.in.Shape)+half(c.out.Shape) < element*c.size()
}

func newGhostGradients(n *Net, c *conv) *ghostGradients {
	g := &ghostGradients{
		c: c, inputs: newGram(n, c.in.layout), deltas: newGram(n, c.out.layout),
		swapped: n.newFloats(c.in.Size()*f32.Lanes, n.group),
		bias:    n.newFloats(c.affine.out*f32.Lanes, 1),
		groups:  split(c.in.Channels/f32.Lanes, f32.TileCols),
	}
	ys, xs := c.aheadAxis(c.in.Height, c.out.Height, true), c.aheadAxis(c.in.Width, c.out.Width, true)
	g.listPairs(ys, xs)
	g.listTaps(n, ys, xs)

	// The margin is for rounding. Unless the errors conspire, an inner product of n terms is off
	// by less than √n·u of the product of the norms, u = 2⁻²⁴ (N. Higham and T.
	// Mary, "A New Approach to Probabilistic Rounding Error Analysis", SIAM J.
	// Sci. Comput. 41, 2019), and those of different pairs add up like
	// independent numbers, to (√out + √in + √taps)·u·Σ_p ‖δ_p‖²‖(x_p, 1)‖². The
	// margin is four times that.
	roots := math.Sqrt(float64(c.affine.out)) + math.Sqrt(float64(c.in.Channels)) + float64(c.Kernel)
	g.margin = 4 * roots * 0x1p-24
	return g
}

// listPairs pairs the positions of the output.
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

// common lists what two positions read through the taps that both have.
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

// listTaps lists, for every tap, what the derivatives are multiplied with.
func (g *ghostGradients) listTaps(n *Net, ys, xs []stretch) {
	c := g.c
	for ky := range c.Kernel {
		for kx := range c.Kernel {
			tap := ghostTap{write: c.tap(ky, kx, 0)}
			var list []f32.Term
			for b := range n.group {
				for y, py := range ys {
					for x, px := range xs {
						iy, ix := y*c.Stride-c.Pad+ky, x*c.Stride-c.Pad+kx
						if !py.has(ky) || !px.has(kx) {
							continue
						}
						for l := range f32.Lanes {
							list = append(list, f32.Term{
								A: int32(b*n.floats[c.out.delta].size + c.out.at(0, y, x) + l),
								B: int32(b*n.floats[g.swapped].size + ((iy*c.in.Width+ix)*f32.Lanes+l)*f32.Lanes),
							})
						}
					}
				}
				tap.terms[b] = f32.NewTerms(list)
			}
			g.taps = append(g.taps, tap)
		}
	}
}

func (s *stretch) has(kernel int) bool {
	for _, t := range s.taps {
		if t.kernel == kernel {
			return true
		}
	}
	return false
}

func (g *ghostGradients) start(*Scratch)  {}
func (g *ghostGradients) finish(*Scratch) {}

func (g *ghostGradients) norms(s *Scratch, from, to int) {
	if !s.private {
		return
	}
	for b := from; b < to; b++ {
		h := g.inputs.fill(s, s.float(g.c.in.act, b))
		d := g.deltas.fill(s, s.float(g.c.out.delta, b))
		var same, others [f32.Lanes]float64
		for i := range g.pairs {
			p := &g.pairs[i]
			var x [f32.Lanes]float32
			for _, at := range p.inputs {
				for l, v := range h[at : at+f32.Lanes] {
					x[l] += v
				}
			}
			sum := &others
			if p.same {
				sum = &same
			}
			for l, v := range d[p.delta : p.delta+f32.Lanes] {
				sum[l] += float64(v) * (float64(x[l]) + 1)
			}
		}
		for l := range same {
			s.norm2[b][l] += max(same[l]+2*others[l], 0) + g.margin*same[l]
		}
	}
}

func (g *ghostGradients) sums(s *Scratch, from, to int) {
	c := g.c
	bias := s.float(g.bias, 0)
	for b := from; b < to; b++ {
		delta := s.float(c.out.delta, b)
		f32.LaneScale(delta, f32.Lanes, &s.factor[b], delta)
		for o := range c.affine.out {
			f32.LaneSum((*[f32.Lanes]float32)(bias[o*f32.Lanes:]), delta[o*c.out.plane():(o+1)*c.out.plane()])
		}
		f32.SumLanes(c.biases(s.sum), bias)
		g.swap(s.float(g.swapped, b), s.float(c.in.act, b))
	}
	t := f32.Tile{RowA: c.out.plane(), RowC: c.affine.in, Accumulate: true}
	delta, swapped, w := s.floats[c.out.delta].from(from), s.floats[g.swapped].from(from), c.weights(s.sum)
	size := c.in.Height * c.in.Width * square // of a group of 16 channels
	for j := range t.ColB {
		t.ColB[j], t.ColC[j] = j*size, j*f32.Lanes
	}
	for i := range g.taps {
		q := &g.taps[i]
		for _, group := range g.groups {
			t.Cols, t.B = group.len, swapped[group.start*size:]
			for m := 0; m < c.affine.out; m += f32.TileRows {
				t.Rows, t.A = min(f32.TileRows, c.affine.out-m), delta[m*t.RowA:]
				t.C = w[m*t.RowC+q.write+group.start*f32.Lanes:]
				t.Mul(q.terms[to-from-1])
			}
		}
	}
}

// swap brings the input into the order in which channels lie side by side.
func (g *ghostGradients) swap(dst, x []float32) {
	in := g.c.in
	for c := 0; c < in.Channels; c += f32.Lanes {
		for y := range in.Height {
			for x0 := range in.Width {
				f32.Transpose(dst, f32.Lanes, x[in.at(c, y, x0):], in.plane())
				dst = dst[min(square, len(dst)):]
			}
		}
	}
}
