package nn

import "proactivedp/internal/f32"

// pool takes the maximum or the mean of each 2×2 window.
type pool struct {
	in, out *value
	largest bool
	which   int // slot: where each maximum came from
}

// add moves a preceding ReLU after the max pooling. The two commute, and the ReLU then has a
// quarter of the work.
func (MaxPool) add(n *Net, in *value) (*value, error) {
	last := len(n.maps) - 1
	if last < 0 {
		return addPool(n, in, true)
	}
	a, ok := n.maps[last].(*activation)
	if !ok || a.in != in || a.layer != (ReLU{}) {
		return addPool(n, in, true)
	}
	n.maps, in.activated = n.maps[:last], false
	out, err := addPool(n, in, true)
	if err != nil {
		return nil, err
	}
	a.in = out
	return out, n.activate(a)
}

func (AvgPool) add(n *Net, in *value) (*value, error) { return addPool(n, in, false) }

func addPool(n *Net, in *value, largest bool) (*value, error) {
	shape, err := halved(in.Shape)
	if err != nil {
		return nil, err
	}
	in.passing = in.derived && !in.activated
	p := &pool{in: in, out: n.newValue(shape), largest: largest}
	if last := len(n.maps) - 1; largest && last >= 0 {
		if c, ok := n.maps[last].(*conv); ok {
			c.pool = p
		}
	}
	n.append(p)
	return p.out, nil
}

func (p *pool) place(n *Net) {
	if p.largest {
		p.which = n.ints.reserve(p.out.Size()*f32.Lanes, n.chunk)
	}
}

func (p *pool) forward(s *Scratch, from, to int) {
	plane, windows := p.out.inside(), p.out.Height*p.out.Width*f32.Lanes
	for b := from; b < to; b++ {
		x, y := s.float(p.in.act, b), s.float(p.out.act, b)
		for c := range p.out.Channels {
			x, y := x[p.in.at(c, 0, 0):], y[p.out.at(c, 0, 0):]
			if p.largest {
				f32.MaxPool(y, plane, x, p.in.row(), s.ints[p.which].block(b)[c*windows:])
			} else {
				f32.AvgPool(y, plane, x, p.in.row())
			}
		}
	}
}

func (p *pool) backward(s *Scratch, from, to int) {
	if !p.in.derived {
		return
	}
	plane, windows := p.out.inside(), p.out.Height*p.out.Width*f32.Lanes
	for b := from; b < to; b++ {
		dx, dy := s.float(p.in.delta, b), s.float(p.out.delta, b)
		for c := range p.out.Channels {
			dx, dy := dx[p.in.at(c, 0, 0):], dy[p.out.at(c, 0, 0):]
			if p.largest {
				f32.MaxPoolBack(dx, p.in.row(), dy, plane, s.ints[p.which].block(b)[c*windows:])
			} else {
				f32.AvgPoolBack(dx, p.in.row(), dy, plane)
			}
		}
	}
}

// halve is the backward pass of a block by f32.MaxPoolHalves, for all channels.
func (p *pool) halve(s *Scratch, b int, half []float32, odd []int32) {
	d, which, windows := s.float(p.out.delta, b), s.ints[p.which].block(b), p.out.Height*p.out.Width
	for c := range p.out.Channels {
		n := c * windows
		f32.MaxPoolHalves(half[2*n*f32.Lanes:], odd[2*n:], d[p.out.at(c, 0, 0):], p.out.inside(),
			which[n*f32.Lanes:])
	}
}
