// Package lenet has LeNet-5 for images of 28×28 in ten classes (Y. LeCun, L. Bottou, Y. Bengio and
// P. Haffner, "Gradient-Based Learning Applied to Document Recognition", Proc. IEEE 86, 1998), with
// 61,706 parameters:
//
//	layer                 output    parameters   multiplications
//	conv 5×5 pad 2        6×28×28          156           117,600
//	pool 2×2              6×14×14
//	conv 5×5              16×10×10       2,416           240,000
//	pool 2×2              16×5×5
//	dense                 120           48,120            48,000
//	dense                 84            10,164            10,080
//	dense                 10               850               840
//
// As is usual today, it differs from the network of 1998 in four points: the input is padded to 32×32, every channel
// of the second convolution uses all six channels of the first, pooling has no weights, and the output is a softmax.
package lenet

import (
	"fmt"

	"proactivedp/models"
	"proactivedp/nn"
)

// New returns the model "lenet" for grey images of 28×28 pixels in ten classes, such as MNIST: LeNet-5 with the
// hyperbolic tangent and mean pooling, as in 1998. For other images use [For].
func New() *models.Network { return must(For(digits, 10)) }

// NewReLU returns the model "lenet-relu" for grey images of 28×28 pixels in ten classes: LeNet-5 with ReLU and max
// pooling instead of the hyperbolic tangent and mean pooling of [New].
func NewReLU() *models.Network { return must(ForReLU(digits, 10)) }

// For returns LeNet-5 with the hyperbolic tangent and mean pooling, as [New] does, but for images of the shape in
// (channels, height and width) and the given number of classes. It returns an error unless height and width are
// multiples of 4, because two pooling layers halve them exactly, and at least 12, because smaller images leave the
// second convolution too few pixels.
func For(in nn.Shape, classes int) (*models.Network, error) {
	return build("lenet", in, classes, nn.Tanh{}, nn.AvgPool{})
}

// ForReLU returns LeNet-5 with ReLU and max pooling, as [NewReLU] does, but for images of the shape in (channels,
// height and width) and the given number of classes. Height and width must be as [For] requires.
func ForReLU(in nn.Shape, classes int) (*models.Network, error) {
	return build("lenet-relu", in, classes, nn.ReLU{}, nn.MaxPool{})
}

var digits = nn.Shape{Channels: 1, Height: 28, Width: 28}

func build(name string, in nn.Shape, classes int, activation, pool nn.Layer) (*models.Network, error) {
	net, err := nn.New(in,
		nn.Conv{Out: 6, Kernel: 5, Stride: 1, Pad: 2}, activation, pool,
		nn.Conv{Out: 16, Kernel: 5, Stride: 1}, activation, pool,
		nn.Dense{Out: 120}, activation,
		nn.Dense{Out: 84}, activation,
		nn.Dense{Out: classes},
	)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return models.NewNetwork(name, net), nil
}

// must returns a network whose layers are known to be valid.
func must(m *models.Network, err error) *models.Network {
	if err != nil {
		panic(err)
	}
	return m
}
