package nn

import "proactivedp/internal/f32"

type conv struct {
	affine
	Conv
	gradients
	in, out *value
	across  bool        // whether the maps are small, see across
	bf16    bool        // whether products are of bfloat16, in pairs of channels
	ahead   contraction // the forward pass
	back    contraction // the derivative by the input, or nil
	pool    *pool       // the max pooling that directly follows, or nil
}

// contraction is one of the two large sums of a convolution: the forward pass, or the derivative by the input.
// prepare gets the weights w first. run then computes the sum over the taps for all positions of the blocks [from,
// to).
type contraction interface {
	prepare(s *Scratch, w []float32)
	run(s *Scratch, w, bias []float32, from, to int)
}

var _ learner = (*conv)(nil)

// gradients computes a convolution's norms and clipped sum, see learner.
type gradients interface {
	start(s *Scratch)
	norms(s *Scratch, from, to int)
	sums(s *Scratch, from, to int)
	finish(s *Scratch)
}

func (l Conv) add(n *Net, in *value) (*value, error) {
	if err := l.check(n, in); err != nil {
		return nil, err
	}
	c, out := newConv(n, l, in), l.output(in.Shape)
	c.bf16 = n.bf16 && l.Stride == 1 && in.Channels%f32.Lanes == 0 && l.Out%f32.Lanes == 0
	n.append(c)
	c.out = n.newValue(out)
	if c.across = l.small(in.Shape, out); c.across {
		n.group = acrossBlocks
	}
	c.borders()
	return c.out, nil
}

// check returns the problems of the layer with input in.
func (l Conv) check(n *Net, in *value) error {
	var p problems
	p.need(l.Out > 0, "out", l.Out, "at least 1")
	p.need(l.Kernel > 0, "kernel", l.Kernel, "at least 1")
	p.need(l.Stride > 0, "stride", l.Stride, "at least 1")
	p.need(l.Pad >= 0 && l.Pad < max(l.Kernel, 1), "pad", l.Pad, "in [0, kernel)")
	p.need(min(in.Height, in.Width)+2*l.Pad >= l.Kernel, "kernel", l.Kernel,
		"at most the padded input's height and width")
	p.need(len(n.features) == 0, "position", "after a dense layer", "before all dense layers")
	p.within(mostWeights, "weights", l.Out, l.Kernel, l.Kernel, in.Channels)
	p.within(mostMap, "padded input", in.Channels, in.Height+2*l.Pad, in.Width+2*l.Pad)
	if l.Stride > 0 {
		out := l.output(in.Shape)
		p.within(mostMap, "padded output", out.Channels, out.Height+2, out.Width+2)
	}
	return p.join()
}

func (l Conv) output(in Shape) Shape {
	size := func(in int) int { return (in+2*l.Pad-l.Kernel)/l.Stride + 1 }
	return Shape{l.Out, size(in.Height), size(in.Width)}
}

// newConv reserves the parameters of a valid layer.
func newConv(n *Net, l Conv, in *value) *conv {
	taps, out := l.Kernel*l.Kernel, l.output(in.Shape)
	return &conv{Conv: l, in: in, affine: newAffine(n, l.Out, taps*in.Channels, taps*l.Out, out.Height*out.Width)}
}

// borders requests the zeros that the tiles and gradients read around the maps.
func (c *conv) borders() {
	if !c.across || !c.ghostly() {
		c.in.border = max(c.in.border, c.Pad)
	}
	if c.in.derived && !c.across && c.Kernel > 1 {
		c.out.border = 1 // backAxis reads it
	}
}

func (c *conv) place(n *Net) {
	if c.across {
		c.ahead = acrossAhead(n, c)
	} else {
		c.ahead = productAhead(n, c)
	}
	switch {
	case !c.in.derived:
	case c.across:
		c.back = acrossBack(n, c)
	default:
		c.back = productBack(n, c)
	}
	if c.ghostly() {
		c.gradients = newGhostGradients(n, c)
	} else {
		c.gradients = newLaneGradients(n, c)
	}
}

func (c *conv) forward(s *Scratch, from, to int) {
	c.ahead.run(s, c.weights(s.params), c.biases(s.params), from, to)
}

func (c *conv) backward(s *Scratch, from, to int) {
	if c.back != nil {
		c.back.run(s, c.weights(s.params), nil, from, to)
	}
}

func (c *conv) ready(s *Scratch) { c.ahead.prepare(s, c.weights(s.params)) }

func (c *conv) start(s *Scratch) {
	if c.back != nil {
		c.back.prepare(s, c.weights(s.params))
	}
	c.gradients.start(s)
}

// tap returns the offset of a tap's weight in its filter.
func (c *conv) tap(ky, kx, channel int) int { return (ky*c.Kernel+kx)*c.in.Channels + channel }
