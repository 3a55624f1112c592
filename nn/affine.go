package nn

import (
	"math"

	"proactivedp/internal/f32"
	"proactivedp/rng"
)

// affine is the common part of convolutions and dense layers: weights [out][in], followed by biases
// [out], in the parameter vector.
type affine struct {
	out, in      int // number of outputs, and of inputs of each output (the fan-in)
	weight, bias int // offsets of weights and biases
	fanOut       int
	mulAdds      int // multiply-adds of the forward pass for one example
	rectified    bool
}

// newAffine reserves the next parameters of n.
func newAffine(n *Net, out, in, fanOut, positions int) affine {
	a := affine{out: out, in: in, weight: n.params, bias: n.params + out*in, fanOut: fanOut,
		mulAdds: out * in * positions}
	n.params = a.bias + out
	return a
}

func (a *affine) parameters() *affine { return a }

func (a *affine) size() int { return a.out * (a.in + 1) }

// weights and biases return the layer's parts of params.
func (a *affine) weights(params []float32) []float32 { return params[a.weight:a.bias] }
func (a *affine) weights64(sum []float64) []float64  { return sum[a.weight:a.bias] }
func (a *affine) biases(params []float32) []float32  { return params[a.bias : a.bias+a.out] }

// collect adds up the lanes in the slot, sets the clipped sum from parameter from on to the
// results, and also adds them to s.out (see release).
func (a *affine) collect(s *Scratch, from, slot int) {
	lanes := s.wide(slot)
	to := from + len(lanes)/f32.WideLanes
	f32.SumWideLanes(s.sum[from:to], lanes)
	a.release(s, from, to)
}

// release adds the parameters [from, to) of the clipped sum to s.out, unless s.out is nil.
func (a *affine) release(s *Scratch, from, to int) {
	if s.out != nil {
		f32.AddNarrow(s.out[from:to], s.sum[from:to])
	}
}

// deposit sets the clipped sum, from parameter from on, to x. If s.out is not nil, it adds x to
// s.out instead.
func (a *affine) deposit(s *Scratch, from int, x []float64) {
	if s.out != nil {
		f32.AddNarrow(s.out[from:from+len(x)], x)
		return
	}
	copy(s.sum[from:], x)
}

func (a *affine) init(params []float32, s *rng.Stream) {
	normal := math.Sqrt(2 / float64(a.in))
	uniform := math.Sqrt(6 / float64(a.in+a.fanOut))
	w := a.weights(params)
	for i := range w {
		if a.rectified {
			w[i] = float32(normal * s.Normal())
		} else {
			w[i] = float32(uniform * (2*s.Float64() - 1))
		}
	}
}
