package nn

import (
	"errors"
	"fmt"
	"strings"
)

// Layer is one layer of a network, as an argument of [New]: Conv, Dense, ReLU, Tanh, MaxPool, AvgPool or Dropout.
// Other types cannot implement it.
type Layer interface {
	fmt.Stringer
	// add compiles the layer with input in and returns its output.
	add(n *Net, in *value) (*value, error)
}

// Conv is a convolutional layer. It has Out filters (output channels) of Kernel×Kernel pixels, which move by Stride
// pixels in both directions. Each input channel is padded by Pad zeros on every side. The kernel is not flipped
// (cross-correlation), as in PyTorch. Its parameters are the weights [out][ky][kx][in], then the biases [out].
type Conv struct{ Out, Kernel, Stride, Pad int }

// Dense is a fully connected layer: an affine function from all inputs, in the order [channel][y][x], to Out
// features. Its parameters are the weights [out][in], then the biases [out].
type Dense struct{ Out int }

// ReLU is the activation max(x, 0).
type ReLU struct{}

// Tanh is the activation tanh(x), the hyperbolic tangent.
type Tanh struct{}

// MaxPool is a layer that halves the height and width of each channel, which must be even: it outputs the largest
// value of each 2×2 window, without overlap. If several values of a window are equal, the derivative goes only to the
// first one.
type MaxPool struct{}

// AvgPool is a layer that halves the height and width of each channel, which must be even: it outputs the mean of
// each 2×2 window, without overlap.
type AvgPool struct{}

// Dropout is a layer that sets each feature to 0 with probability Rate and divides the others by 1−Rate (N.
// Srivastava et al., "Dropout", JMLR 15, 2014). Rate must be a multiple of 2⁻¹⁶ in (0, 1), because 16 random bits
// decide about each feature. The layer must follow a dense layer. It acts only in [Net.GradSum] and [Net.AddGradSum],
// and only if they get a stream of random numbers. The division keeps the mean of a feature, so that predictions,
// which have no dropout, can use the same weights.
type Dropout struct{ Rate float64 }

func (l Conv) String() string {
	s := fmt.Sprintf("conv %d×%d", l.Kernel, l.Kernel)
	if l.Stride > 1 {
		s += fmt.Sprintf(" stride %d", l.Stride)
	}
	if l.Pad > 0 {
		s += fmt.Sprintf(" pad %d", l.Pad)
	}
	return s
}
func (l Dense) String() string   { return "dense" }
func (l ReLU) String() string    { return "relu" }
func (l Tanh) String() string    { return "tanh" }
func (l MaxPool) String() string { return "max pool" }
func (l AvgPool) String() string { return "average pool" }
func (l Dropout) String() string { return fmt.Sprintf("dropout %v", l.Rate) }

type problems []error

// need adds "what = value, must be …" unless ok.
func (p *problems) need(ok bool, what string, value any, must string) {
	if !ok {
		*p = append(*p, fmt.Errorf("%s = %v, must be %s", what, value, must))
	}
}

// Limits of a network. The terms of a product hold offsets of 31 bits, in the maps of four blocks
// and among the weights of a layer. The size of a dense layer is limited because of withinRange.
const (
	mostFeatures = 1 << 26
	mostDense    = 1 << 20
	mostMap      = 1 << 24 // numbers that a convolution reads or writes, with their border
	mostWeights  = 1<<31 - 1
)

// within adds "what = the factors, must be …" unless the product of the factors is at most most.
func (p *problems) within(most float64, what string, factors ...int) {
	product, text := 1.0, make([]string, len(factors))
	for i, f := range factors {
		product *= float64(f)
		text[i] = fmt.Sprint(f)
	}
	p.need(product <= most, what, strings.Join(text, "×"), fmt.Sprintf("at most %.0f", most))
}

func (p problems) join() error { return errors.Join(p...) }

// halved returns the shape after 2×2 pooling, or an error if height or width is odd.
func halved(in Shape) (Shape, error) {
	var p problems
	p.need(in.Height%2 == 0, "height", in.Height, "even")
	p.need(in.Width%2 == 0, "width", in.Width, "even")
	return Shape{in.Channels, in.Height / 2, in.Width / 2}, p.join()
}
