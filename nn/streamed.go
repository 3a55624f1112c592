package nn

import "proactivedp/internal/f32"

// streamed is the first convolution together with the pooling after it and, if there is one, the
// activation between the two. Their map is the largest of all. It is made two rows at a time, in a
// band that stays in the first-level cache, and pooled at once. In the backward pass, a band's
// derivative is spread out and added to the weights' gradient. A derivative by the input is not
// needed.
type streamed struct {
	*conv
	pool   *pool
	lanes  *laneGradients
	bands  int
	step   int        // input floats from one band to the next
	active activation // between convolution and pooling, if its layer is not nil …
	kept   int        // … and its output as a slot, [band], which its derivative needs
}

var _ learner = (*streamed)(nil)

// addStreamed compiles the first layers as one stage if they are a convolution with maps that are
// not small, and pooling, with or without an activation in between. It returns the stage's output
// and the number of layers that it used. It uses none if the layers are different, or if they have
// problems, which are reported when the layers are compiled one by one.
func addStreamed(n *Net, in *value, layers []Layer) (out *value, taken int) {
	l, active, largest, ok := opening(layers)
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
	f.out = n.newValue(Shape{between.Channels, 2, between.Width}) // one band
	f.out.passing = true
	f.borders()
	f.step = 2 * l.Stride * in.row()
	f.pool = &pool{in: f.out, out: n.newValue(pooled), largest: largest}
	n.layers = append(n.layers, LayerInfo{Layer: l, Out: between, Params: f.size(), Forward: f.mulAdds,
		Weights: f.mulAdds})
	if active != nil {
		n.layers = append(n.layers, LayerInfo{Layer: active, Out: between})
	}
	if largest && (active == nil || active == (ReLU{})) {
		f.conv.pool = f.pool
	}
	f.rectified = active == (ReLU{})
	if f.rectified && largest { // the ReLU moves after the pooling, as in MaxPool.add
		f.pool.out.activated = true
		n.append(newActivation(f.pool.out, active))
	} else if active != nil {
		f.active = *newActivation(f.out, active)
	}
	n.layers = append(n.layers, LayerInfo{Layer: layers[len(n.layers)], Out: pooled})
	return f.pool.out, len(n.layers)
}

// opening reports whether the layers begin with a convolution that is followed by pooling, possibly
// with an activation in between. largest says whether it is max pooling.
func opening(layers []Layer) (l Conv, active Layer, largest, ok bool) {
	if len(layers) < 2 {
		return l, nil, false, false
	}
	l, ok = layers[0].(Conv)
	next := layers[1]
	if (next == (ReLU{}) || next == (Tanh{})) && len(layers) > 2 {
		active, next = next, layers[2]
	}
	largest = next == (MaxPool{})
	return l, active, largest, ok && (largest || next == (AvgPool{}))
}

func (f *streamed) place(n *Net) {
	f.conv.place(n)
	f.pool.place(n)
	f.lanes = f.conv.gradients.(*laneGradients)
	if f.active.layer != nil {
		f.kept = n.floats.reserve(f.bands*f.out.size(), n.chunk)
	}
}

func (f *streamed) forward(s *Scratch, from, to int) {
	w, bias := f.weights(s.params), f.biases(s.params)
	ahead := f.ahead.(*product)
	for b := from; b < to; b++ {
		x, y := s.float(f.in.act, b), s.float(f.pool.out.act, b)
		for i := range f.bands {
			between := f.band(s, b, i)
			ahead.tiles(w, bias, x[i*f.step:], between)
			if f.active.layer != nil {
				f.active.apply(between)
			}
			if y := y[f.pool.out.at(0, i, 0):]; f.pool.largest {
				f32.MaxPool(y, f.plane(), between, f.out.row(), f.origins(s, b, i))
			} else {
				f32.AvgPool(y, f.plane(), between, f.out.row())
			}
		}
	}
}

// norms is the whole backward pass.
func (f *streamed) norms(s *Scratch, from, to int) {
	// Max pooling only moves derivatives, so their sum stays the same.
	moved, halved := f.conv.pool != nil, f.lanes.halved()
	for b := from; b < to; b++ {
		x, between, dy, grad := s.float(f.in.act, b), s.float(f.out.delta, b), s.float(f.pool.out.delta,
			b), s.float(f.lanes.grad, b)
		for i := range f.bands {
			dy, x := dy[f.pool.out.at(0, i, 0):], x[i*f.step:]
			if halved {
				half, odd := s.float(f.lanes.half, 0), f.lanes.odds(s)
				f32.MaxPoolHalves(half, odd, dy, f.plane(), f.origins(s, b, i))
				f.lanes.weights(&f.lanes.halves, grad, x, half, odd, i > 0)
				continue
			}
			if f.pool.largest {
				f32.MaxPoolBack(between, f.out.row(), dy, f.plane(), f.origins(s, b, i))
			} else {
				f32.AvgPoolBack(between, f.out.row(), dy, f.plane())
			}
			if f.active.layer != nil {
				f.active.derive(between, f.band(s, b, i))
			}
			f.lanes.weights(&f.lanes.all, grad, x, between, nil, i > 0)
			if !moved {
				f.lanes.bias(s, between, i == 0)
			}
		}
		if moved {
			f.lanes.bias(s, dy, true)
		}
		f.lanes.close(s, b)
	}
}

// band returns a band of the convolution's output, or of the activation's output.
func (f *streamed) band(s *Scratch, b, band int) []float32 {
	if f.active.layer == nil {
		return s.float(f.out.act, b)
	}
	n := f.out.size()
	return s.float(f.kept, b)[band*n : (band+1)*n]
}

// plane is the shape of a pooled band: one row of every channel.
func (f *streamed) plane() f32.Plane {
	return f32.Plane{H: f.out.Channels, W: f.pool.out.Width, Row: f.pool.out.plane()}
}

// origins returns where the values of a band's maxima came from.
func (f *streamed) origins(s *Scratch, b, band int) []int32 {
	n := f.out.Channels * f.pool.out.Width * f32.Lanes
	return s.ints[f.pool.which].block(b)[band*n : (band+1)*n]
}
