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

// addStreamed compiles the first layers as one stage if they are a convolution
// whose maps are not small and pooling by maxima, with or without a ReLU between
// the two. It returns what the stage puts out and how many layers it has taken:
// none if they are others, or if something is wrong with them, which they say
// when they are compiled one by one.
func addStreamed(n *Net, in *value, layers []Layer) (out *value, taken int) {
	l, rectified, ok := opening(layers)
	if !ok || l.check(n, in) != nil {
		return in, 0
	}
	between := l.output(in.Shape)
	pooled, err := halved(between)
	if err != nil || l.small(in.Shape, between) {
		return in, 0
	}
	f := &streamed{conv: newConv(n, l, in), bands: pooled.Height}
	n.append(f)
	f.out = n.newValue(Shape{between.Channels, 2, between.Width}) // one band of it
	f.out.passing = true
	f.borders()
	f.step = 2 * l.Stride * in.row()
	f.pool = &pool{in: f.out, out: n.newValue(pooled), largest: true}
	n.layers = append(n.layers, LayerInfo{Layer: l, Out: between, Params: f.size(), Forward: f.mulAdds,
		Weights: f.mulAdds})
	if rectified { // the ReLU goes behind the pooling, as in MaxPool.add
		f.rectified, f.pool.out.activated = true, true
		n.append(rectifier(f.pool.out))
		n.layers = append(n.layers, LayerInfo{Layer: ReLU{}, Out: between})
	}
	n.layers = append(n.layers, LayerInfo{Layer: MaxPool{}, Out: pooled})
	return f.pool.out, len(n.layers)
}

// opening returns the convolution with which the layers begin, and whether it is
// rectified, if pooling by maxima is next.
func opening(layers []Layer) (l Conv, rectified, ok bool) {
	if len(layers) < 2 {
		return l, false, false
	}
	l, ok = layers[0].(Conv)
	next := layers[1]
	if next == (ReLU{}) && len(layers) > 2 {
		rectified, next = true, layers[2]
	}
	return l, rectified, ok && next == (MaxPool{})
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
		x, between, dy, grad := s.float(f.in.act, b), s.float(f.out.delta, b), s.float(f.pool.out.delta,
			b), s.float(f.lanes.grad, b)
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
