package nn

import "proactivedp/internal/f32"

// streamed is the first convolution with the pooling by maxima behind it. What is
// between them, the largest map of all, never exists as a whole: two rows at a
// time are made, in a band that stays in the first cache, and pooled; on the way
// back their derivative is spread out and brought into the weights' gradient.
// There is no derivative by the input to need more.
type streamed struct {
	*conv
	pool  *pool
	lanes *laneGradients
	bands int
	step  int // floats of the input from what a band reads to the next
}

var _ learner = (*streamed)(nil)

// stream puts the first stages together if they are of that kind.
func (n *Net) stream() {
	if len(n.maps) < 2 {
		return
	}
	c, isConv := n.maps[0].(*conv)
	p, isPool := n.maps[1].(*pool)
	if !isConv || !isPool || !p.largest || c.across {
		return
	}
	f := &streamed{conv: c, pool: p, bands: p.out.Height, step: 2 * c.Stride * c.in.row()}
	c.out.Height = 2
	n.maps[1], n.learners[0] = f, f
	n.maps = n.maps[1:]
}

func (f *streamed) place(n *Net) {
	f.conv.place(n)
	f.pool.place(n)
	f.lanes = f.conv.gradients.(*laneGradients)
}

func (f *streamed) forward(s *Scratch, from, to int) {
	w, bias := f.weights(s.params), f.biases(s.params)
	ahead := f.ahead.(*product)
	for b := from; b < to; b++ {
		x, between, y := s.float(f.in.act, b), s.float(f.out.act, b), s.float(f.pool.out.act, b)
		for i := range f.bands {
			ahead.tiles(w, bias, x[i*f.step:], between)
			f32.MaxPool(y[f.pool.out.at(0, i, 0):], f.plane(), between, f.out.row(), f.origins(s, b, i))
		}
	}
}

// norms is the whole way back.
func (f *streamed) norms(s *Scratch, from, to int) {
	for b := from; b < to; b++ {
		x, between, dy, grad := s.float(f.in.act, b), s.float(f.out.delta, b), s.float(f.pool.out.delta, b), s.float(f.lanes.grad, b)
		for i := range f.bands {
			f32.MaxPoolBack(between, f.out.row(), dy[f.pool.out.at(0, i, 0):], f.plane(), f.origins(s, b, i))
			f.lanes.weights(grad, x[i*f.step:], between, i > 0)
		}
		f.lanes.close(s, b, f.pool.out) // pooling moves derivatives, and keeps their sum
	}
}

// plane is a band, pooled: a row of every channel.
func (f *streamed) plane() f32.Plane {
	return f32.Plane{H: f.out.Channels, W: f.pool.out.Width, Row: f.pool.out.plane()}
}

// origins returns where the values of a band's maxima came from.
func (f *streamed) origins(s *Scratch, b, band int) []int32 {
	n := f.out.Channels * f.pool.out.Width * f32.Lanes
	return s.ints[f.pool.which].block(b)[band*n : (band+1)*n]
}
