package nn

import (
	"math"
	"sort"

	"proactivedp/internal/f32"
)

// dense is a dense (fully connected) layer: an affine function of all inputs.
type dense struct {
	affine
	in, out *value
	bias64  int  // slot: the sum of the biases' gradients, [out][f32.WideLanes]
	tiled   bool // whether matrix tiles compute the products if the machine has them
	bf16    bool // whether all products are of bfloat16
	// The examples of the chunk, after those of earlier chunks whose bin is not full yet.
	room    int // capacity for these examples
	scaled  int // slot: the derivative times the clip factors, [out][example]
	swapped int // slot: the input, [in/16][example][16]
}

var _ learner = (*dense)(nil)

func (l Dense) add(n *Net, in *value) (*value, error) {
	var p problems
	p.need(l.Out > 0, "out", l.Out, "at least 1")
	p.within(mostWeights, "weights", l.Out, in.Size())
	p.within(mostDense, "out", l.Out)
	if err := p.join(); err != nil {
		return nil, err
	}
	in = flat(n, in)
	d := &dense{in: in, affine: newAffine(n, l.Out, in.Size(), l.Out, 1)}
	d.bf16 = n.bf16
	d.tiled = !d.bf16 && f32.Splits(l.Out, in.Size()) && f32.Splits(in.Size(), l.Out)
	n.tiled = n.tiled || d.tiled
	n.append(d)
	d.out = n.newValue(Shape{l.Out, 1, 1})
	return d.out, nil
}

func (d *dense) place(n *Net) {
	d.room = n.chunk*f32.Lanes + binSize
	d.scaled = n.floats.reserve(d.affine.out*d.room, 1)
	d.swapped = n.floats.reserve(roundUp(d.in.size(), square)/f32.Lanes*d.room, 1)
	d.bias64 = n.wides.reserve(d.affine.out*f32.WideLanes, 1)
}

// parts returns the number of parts into which numbers are split for matrix tiles, or 0 if tiles do
// not compute the products.
func (d *dense) parts(s *Scratch) int {
	if d.tiled && s.tiles {
		return s.net.parts
	}
	return 0
}

func (d *dense) forward(s *Scratch, from, to int) {
	x, y := &s.floats[d.in.act], &s.floats[d.out.act]
	p := f32.Product{
		M: d.affine.out, N: (to - from) * f32.Lanes, K: d.affine.in,
		A: d.weights(s.params), RowA: d.affine.in, ColA: 1,
		B: x.from(from), RowB: f32.Lanes, BlockB: x.size,
		C: y.from(from), RowC: f32.Lanes, BlockC: y.size,
		Bias: d.biases(s.params), Parts: d.parts(s), BF16: d.bf16,
	}
	p.Mul(&s.product)
}

func (d *dense) backward(s *Scratch, from, to int) {
	if !d.in.derived {
		return
	}
	dy, dx := &s.floats[d.out.delta], &s.floats[d.in.delta]
	p := f32.Product{
		M: d.affine.in, N: (to - from) * f32.Lanes, K: d.affine.out,
		A: d.weights(s.params), RowA: 1, ColA: d.affine.in,
		B: dy.from(from), RowB: f32.Lanes, BlockB: dy.size,
		C: dx.from(from), RowC: f32.Lanes, BlockC: dx.size, Parts: d.parts(s), BF16: d.bf16,
	}
	p.Mul(&s.product)
}

func (d *dense) ready(*Scratch) {}

func (d *dense) start(s *Scratch) { clear(s.wide(d.bias64)) }

// norms adds (‖a‖² + 1)·‖δ‖² to each example's squared norm, because the layer's gradient is the
// outer product of the derivative δ and the input a, extended by 1 for the bias.
//
// In bfloat16, what is added is the product of a and of f·δ, with both rounded. Each may be longer by 2^-8
// of its length.
func (d *dense) norms(s *Scratch, from, to int) {
	if !s.private {
		return
	}
	parts, longer := d.parts(s), 1.0
	if parts == f32.TwoParts {
		longer = (1 + twoParts) * (1 + twoParts)
	} else if d.bf16 {
		longer = (1 + 0x1p-8) * (1 + 0x1p-8) * (1 + 0x1p-8) * (1 + 0x1p-8)
	}
	for b := from; b < to; b++ {
		a2, d2 := &s.squares[0], &s.squares[1]
		*a2, *d2 = [f32.Lanes]float64{}, [f32.Lanes]float64{}
		f32.LaneSumSquares(a2, s.float(d.in.act, b)[:d.in.size()])
		f32.LaneSumSquares(d2, s.float(d.out.delta, b)[:d.out.size()])
		for l := range a2 {
			s.norm2[b][l] += withinRange(a2[l]+1) * d2[l] * longer
		}
	}
}

// twoParts bounds the relative error of a gradient that is computed from numbers of two parts:
// three times 2^-16, and terms of second order.
const twoParts = 0x1p-14

// withinRange returns the squared norm of an activation, or +Inf, which every factor refuses, if it
// is above 2^100. Products of a factor and a derivative below the least float32 are lost. With this
// limit, the loss does not matter for clipping norms of LeastNorm or more. Matrix tiles treat
// numbers below 2^-126 as 0. For mostDense = 2^20 derivatives the loss is 2^-125·2^10·2^50, which
// is less than 2^-21 of LeastTiledNorm.
func withinRange(norm2 float64) float64 {
	if norm2 > 0x1p100 {
		return math.Inf(1)
	}
	return norm2
}

// sums adds Σ f·δ·(a, 1) over the examples of the bins that end in the chunk, with the clip factors
// f. It keeps the other examples for the next chunk.
func (d *dense) sums(s *Scratch, from, to int) {
	scaled, swapped := s.float(d.scaled, 0), s.float(d.swapped, 0)
	done := sort.SearchInts(s.ends, s.first+1) // the bins before the chunk
	begin := 0
	if done > 0 {
		begin = s.ends[done-1]
	}
	held := s.first - begin
	for b := from; b < to; b++ {
		at := held + (b-from)*f32.Lanes
		delta := s.float(d.out.delta, b)[:d.out.size()]
		f32.LaneScale(scaled[at:], d.room, &s.factor[b], delta)
		f32.LaneAxpyWide(&s.factor[b], delta, s.wide(d.bias64))
		a := s.float(d.in.act, b)
		for i := 0; i < len(a); i += square {
			f32.Transpose(swapped[i/f32.Lanes*d.room+at*f32.Lanes:], f32.Lanes, a[i:], f32.Lanes)
		}
	}
	last := min(s.first+(to-from)*f32.Lanes, len(s.rows))
	s.full = s.full[:0]
	for _, end := range s.ends[done:sort.SearchInts(s.ends, last+1)] {
		s.full = append(s.full, end-begin)
	}
	if len(s.full) > 0 {
		p := f32.RunProduct{
			M: d.affine.out, N: d.affine.in, Ends: s.full,
			A: scaled, RowA: d.room, B: swapped, BlockB: d.room * f32.Lanes,
			C: d.weights64(s.sum), RowC: d.affine.in, Accumulate: begin > 0,
			Parts: d.parts(s), BF16: d.bf16,
		}
		if s.out != nil && last == len(s.rows) {
			p.Out, p.RowOut = d.weights(s.out), d.affine.in
		}
		p.Mul(&s.product)
		begin += s.full[len(s.full)-1]
	}
	if rest := last - begin; rest > 0 {
		start := held + last - s.first - rest
		for o := 0; o < len(scaled); o += d.room {
			copy(scaled[o:], scaled[o+start:o+start+rest])
		}
		for i := 0; i < len(swapped); i += d.room * f32.Lanes {
			copy(swapped[i:], swapped[i+start*f32.Lanes:i+(start+rest)*f32.Lanes])
		}
	}
}

func (d *dense) finish(s *Scratch) { d.collect(s, d.bias, d.bias64) }

// square is the size of a transposed block. The capacity for features is a multiple of it.
const square = f32.Lanes * f32.Lanes
