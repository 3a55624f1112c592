package nn

import (
	"errors"

	"proactivedp/internal/f32"
)

// activation applies a function to a value in place.
type activation struct {
	in     *value
	layer  Layer
	apply  func(x []float32)
	derive func(d, y []float32)
}

func (ReLU) add(n *Net, in *value) (*value, error) {
	if last := len(n.learners) - 1; last >= 0 {
		n.learners[last].parameters().rectified = true
	}
	return in, n.activate(newActivation(in, ReLU{}))
}

func (l Tanh) add(n *Net, in *value) (*value, error) { return in, n.activate(newActivation(in, l)) }

// newActivation returns a stage that applies a ReLU or a Tanh.
func newActivation(in *value, l Layer) *activation {
	if l == (ReLU{}) {
		return &activation{in: in, layer: l, apply: f32.Relu, derive: f32.ReluBack}
	}
	return &activation{in: in, layer: l, apply: f32.Tanh, derive: f32.TanhBack}
}

func (n *Net) activate(a *activation) error {
	if a.in.activated {
		return errors.New("must not follow another activation function")
	}
	a.in.activated = true
	n.append(a)
	return nil
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
