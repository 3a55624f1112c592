// Package mlp has the multi-layer perceptron: dense layers with an activation function after each
// but the last, for rows of features, sparse or dense, and for pixels. It can learn what linear
// models cannot, for example that two columns matter only together. But it has more parameters, and
// each of them gets noise. It is not a model of the paper.
//
//	hidden, err := mlp.Parse("mlp:64:32")
//	…
//	model, err := mlp.New(nn.Shape{Channels: features, Height: 1, Width: 1}, classes, hidden)
//
// The activation is ReLU or the hyperbolic tangent, which does better under clipping and noise (N.
// Papernot, A. Thakurta, S. Song, S. Chien and Ú. Erlingsson, "Tempered Sigmoid Activations for
// Deep Learning with Differential Privacy", AAAI 2021, arXiv 2007.14191).
package mlp

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"proactivedp/models"
	"proactivedp/nn"
)

// Tanh and ReLU are the names of multi-layer perceptrons with the activation tanh or ReLU. The widths of the hidden
// layers may follow, as in "mlp:64:32".
const (
	Tanh = "mlp"
	ReLU = "mlp-relu"
)

// DefaultWidth is the number of units in the only hidden layer if a name, such as "mlp", has no widths.
const DefaultWidth = 32

// MaxLayers is the largest number of hidden layers of a perceptron. MaxWidth is the largest number of units in a
// layer, and MaxParams the largest number of parameters.
const (
	MaxLayers = 8
	MaxWidth  = 4096
	MaxParams = 1 << 26
)

// Hidden describes the hidden layers of a perceptron: their number of units and their activation.
type Hidden struct {
	Widths []int // the number of units of each hidden layer, in [1, MaxWidth], from the input on; 1 to MaxLayers layers
	ReLU   bool  // whether the activation is ReLU instead of tanh
}

// String returns the name of the perceptron in the form that [Parse] reads: mlp:WIDTH:WIDTH… or
// mlp-relu:WIDTH:WIDTH…, where WIDTH is the number of units of a hidden layer.
func (h Hidden) String() string {
	text := Tanh
	if h.ReLU {
		text = ReLU
	}
	for _, w := range h.Widths {
		text += ":" + strconv.Itoa(w)
	}
	return text
}

// Named reports whether name has the form of a multi-layer perceptron's name, such as "mlp" or "mlp-relu:64:32"
// (hidden layers of 64 and 32 units).
func Named(name string) bool {
	base, _, _ := strings.Cut(name, ":")
	return base == Tanh || base == ReLU
}

// Parse reads the name of a multi-layer perceptron: "mlp" or "mlp-relu", and then a colon and the number of units for
// each hidden layer, as in "mlp:64:32". Without numbers there is one hidden layer of DefaultWidth units. The error
// lists every problem.
func Parse(name string) (Hidden, error) {
	base, widths, given := strings.Cut(name, ":")
	h := Hidden{Widths: []int{DefaultWidth}, ReLU: base == ReLU}
	if !Named(name) {
		return Hidden{}, fmt.Errorf("model = %q, must be %s:WIDTH:WIDTH… or %s:WIDTH:WIDTH…, such as "+
			"mlp:64:32", name, Tanh, ReLU)
	}
	if !given {
		return h, nil
	}
	if n := 1 + strings.Count(widths, ":"); n > MaxLayers {
		return Hidden{}, fmt.Errorf("%d hidden layers in model = %.100q, must be at most %d", n, name, MaxLayers)
	}
	h.Widths = nil
	var errs []error
	for i, text := range strings.Split(widths, ":") {
		w, err := strconv.Atoi(text)
		if err != nil || w < 1 || w > MaxWidth || strconv.Itoa(w) != text {
			errs = append(errs, fmt.Errorf("width of hidden layer %d = %.100q in model = %.100q, must be a whole "+
				"number in [1, %d], as in mlp:64:32", i+1, text, name, MaxWidth))
		}
		h.Widths = append(h.Widths, w)
	}
	if err := errors.Join(errs...); err != nil {
		return Hidden{}, err
	}
	return h, nil
}

// Validate returns an error that lists every width outside [1, MaxWidth]. It is also an error if the number of layers
// is outside [1, MaxLayers].
func (h Hidden) Validate() error {
	if n := len(h.Widths); n < 1 || n > MaxLayers {
		return fmt.Errorf("%d hidden layers, must be 1 to %d", n, MaxLayers)
	}
	var errs []error
	for i, w := range h.Widths {
		if w < 1 || w > MaxWidth {
			errs = append(errs, fmt.Errorf("width of hidden layer %d = %d, must be in [1, %d]", i+1, w, MaxWidth))
		}
	}
	return errors.Join(errs...)
}

// New returns the perceptron with the hidden layers h, for examples of the shape in, in at least 2 classes. Rows of n
// features have the shape n×1×1. It returns an error if the perceptron would have more than MaxParams parameters. The
// parameters are those of the layers, in order: weights [out][in], then biases [out].
func New(in nn.Shape, classes int, h Hidden) (*models.Network, error) {
	if err := h.Validate(); err != nil {
		return nil, err
	}
	if classes < 2 {
		return nil, fmt.Errorf("classes = %d, must be at least 2", classes)
	}
	features := float64(in.Channels) * float64(in.Height) * float64(in.Width)
	if n := params(features, classes, h); n > MaxParams {
		return nil, fmt.Errorf("parameters of %v for %.0f features in %d classes = %.0f, must be at most %d: "+
			"use narrower layers or fewer features", h, features, classes, n, MaxParams)
	}
	var layers []nn.Layer
	for _, w := range h.Widths {
		layers = append(layers, nn.Dense{Out: w}, h.activation())
	}
	net, err := nn.New(in, append(layers, nn.Dense{Out: classes})...)
	if err != nil {
		return nil, err
	}
	return models.NewNetwork(h.String(), net), nil
}

func (h Hidden) activation() nn.Layer {
	if h.ReLU {
		return nn.ReLU{}
	}
	return nn.Tanh{}
}

// params counts the parameters in float64, which does not overflow.
func params(in float64, classes int, h Hidden) float64 {
	total := 0.0
	for _, w := range h.Widths {
		total += (in + 1) * float64(w)
		in = float64(w)
	}
	return total + (in+1)*float64(classes)
}
