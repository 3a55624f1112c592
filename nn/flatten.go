package nn

// flatten copies maps without their border.
type flatten struct{ in, out *value }

// flat returns in, or a copy of it without a border.
func flat(n *Net, in *value) *value {
	if in.border == 0 {
		return in
	}
	in.passing = in.derived && !in.activated
	f := &flatten{in: in, out: n.newValue(in.Shape)}
	n.append(f)
	return f.out
}

func (*flatten) place(*Net) {}

func (f *flatten) forward(s *Scratch, from, to int) {
	for b := from; b < to; b++ {
		x, y := s.float(f.in.act, b), s.float(f.out.act, b)
		f.in.runs(func(start, end int) { y = y[copy(y, x[start:end]):] })
	}
}

func (f *flatten) backward(s *Scratch, from, to int) {
	if !f.in.derived {
		return
	}
	for b := from; b < to; b++ {
		dx, dy := s.float(f.in.delta, b), s.float(f.out.delta, b)
		f.in.runs(func(start, end int) { dy = dy[copy(dx[start:end], dy):] })
	}
}
