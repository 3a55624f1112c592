package nn

import (
	"errors"

	"proactivedp/internal/f32"
)

// activation applies a function to a value in place.
type activation struct {
	in     *value
	apply  func(x []float32)
	derive func(d, y []float32)
}

func (ReLU) add(n *Net, in *value) (*value, error) {
	if last := len(n.learners) - 1; last >= 0 {
		n.learners[last].parameters().rectified = true
	}
	return activate(n, in, f32.Relu, f32.ReluBack)
}

func (Tanh) add(n *Net, in *value) (*value, error) {
	return activate(n, in, f32.Tanh, f32.TanhBack)
}

func activate(n *Net, in *value, apply func(x []float32), derive func(d, y []float32)) (*value, error) {
	if in.activated {
		return nil, errors.New("it stands behind another activation function")
	}
	in.activated = true
	n.append(&activation{in: in, apply: apply, derive: derive})
	return in, nil
}

func (*activation) place(*Net) {}

func (a *activation) forward(s *Scratch, from, to int) {
	for b := from; b < to; b++ {
		y := s.float(a.in.act, b)
		a.in.runs(func(start, end int) { a.apply(y[start:end]) })
	}
}

func (a *activation) backward(s *Scratch, from, to int) {
	if !a.in.derived {
		return
	}
	for b := from; b < to; b++ {
		y, d := s.float(a.in.act, b), s.float(a.in.delta, b)
		a.in.runs(func(start, end int) { a.derive(d[start:end], y[start:end]) })
	}
}
