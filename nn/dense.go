package nn

import "proactivedp/internal/f32"

// dense is an affine map of all features.
type dense struct {
	affine
	in, out *value
	scaled  int // slot: the derivative times the clip factors, [out][example]
	swapped int // slot: the input, [in/16][example][16]
	width   int // floats in a row of the weights' sum, in whole vectors
	ragged  int // slot: that sum, if the weights' own rows are not whole, or none
}

var _ learner = (*dense)(nil)

func (l Dense) add(n *Net, in *value) (*value, error) {
	var p problems
	p.need(l.Out > 0, "out", l.Out, "at least 1")
	if err := p.join(); err != nil {
		return nil, err
	}
	in = flat(n, in)
	d := &dense{in: in, affine: newAffine(n, l.Out, in.Size(), l.Out, 1)}
	n.append(d)
	d.out = n.newValue(Shape{l.Out, 1, 1})
	return d.out, nil
}

func (d *dense) place(n *Net) {
	d.scaled = n.newFloats(d.out.size(), n.chunk)
	d.swapped = n.newFloats(roundUp(d.in.size(), square), n.chunk)
	d.width, d.ragged = roundUp(d.affine.in, f32.Lanes), none
	if d.width > d.affine.in {
		d.ragged = n.newFloats(d.affine.out*d.width, 1)
	}
}

func (d *dense) forward(s *Scratch, from, to int) {
	x, y := &s.floats[d.in.act], &s.floats[d.out.act]
	p := f32.Product{
		M: d.affine.out, N: (to - from) * f32.Lanes, K: d.affine.in,
		A: d.weights(s.params), RowA: d.affine.in, ColA: 1,
		B: x.from(from), RowB: f32.Lanes, BlockB: x.size,
		C: y.from(from), RowC: f32.Lanes, BlockC: y.size,
		Bias: d.biases(s.params),
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
		C: dx.from(from), RowC: f32.Lanes, BlockC: dx.size,
	}
	p.Mul(&s.product)
}

func (d *dense) start(s *Scratch) {
	if d.ragged != none {
		clear(s.float(d.ragged, 0))
	}
}

// norms adds (‖a‖² + 1)·‖δ‖²: the gradient is the outer product of δ with the
// input a and, for the bias, 1.
func (d *dense) norms(s *Scratch, from, to int) {
	if !s.private {
		return
	}
	for b := from; b < to; b++ {
		a2, d2 := &s.squares[0], &s.squares[1]
		*a2, *d2 = [f32.Lanes]float64{}, [f32.Lanes]float64{}
		f32.LaneSumSquares(a2, s.float(d.in.act, b)[:d.in.size()])
		f32.LaneSumSquares(d2, s.float(d.out.delta, b)[:d.out.size()])
		for l := range a2 {
			s.norm2[b][l] += (a2[l] + 1) * d2[l]
		}
	}
}

// sums adds Σ f·δ·(a, 1) over the examples.
func (d *dense) sums(s *Scratch, from, to int) {
	examples := (to - from) * f32.Lanes
	scaled, swapped := s.floats[d.scaled].from(0), s.floats[d.swapped].from(0)
	for b := from; b < to; b++ {
		at := (b - from) * f32.Lanes
		delta := s.float(d.out.delta, b)[:d.out.size()]
		f32.LaneScale(scaled[at:], examples, &s.factor[b], delta)
		f32.LaneScale(delta, f32.Lanes, &s.factor[b], delta)
		f32.SumLanes(d.biases(s.sum), delta)
		a := s.float(d.in.act, b)
		for i := 0; i < len(a); i += square {
			f32.Transpose(swapped[i/f32.Lanes*examples+at*f32.Lanes:], f32.Lanes, a[i:], f32.Lanes)
		}
	}
	sum := d.weights(s.sum)
	if d.ragged != none {
		sum = s.float(d.ragged, 0)
	}
	p := f32.Product{
		M: d.affine.out, N: d.width, K: examples,
		A: scaled, RowA: examples, ColA: 1,
		B: swapped, RowB: f32.Lanes, BlockB: examples * f32.Lanes,
		C: sum, RowC: d.width, BlockC: f32.Lanes,
		Accumulate: true,
	}
	p.Mul(&s.product)
}

func (d *dense) finish(s *Scratch) {
	if d.ragged == none {
		return
	}
	sum, rows := d.weights(s.sum), s.float(d.ragged, 0)
	for o := range d.affine.out {
		copy(sum[o*d.affine.in:(o+1)*d.affine.in], rows[o*d.width:])
	}
}

// square is the size of a block that is transposed: the room for features is a
// multiple of it.
const square = f32.Lanes * f32.Lanes
