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
// It differs from the network of 1998 as is usual today: the input is padded to 32×32, every map of
// the second convolution uses all six maps of the first, pooling has no weights, and the output is
// a softmax.
package lenet

import (
	"proactivedp/models"
	"proactivedp/nn"
)

// New returns "lenet", with the hyperbolic tangent and mean pooling, as in 1998.
func New() *models.Network { return build("lenet", nn.Tanh{}, nn.AvgPool{}) }

// NewReLU returns "lenet-relu", with ReLU and max pooling.
func NewReLU() *models.Network { return build("lenet-relu", nn.ReLU{}, nn.MaxPool{}) }

func build(name string, activation, pool nn.Layer) *models.Network {
	net, err := nn.New(nn.Shape{Channels: 1, Height: 28, Width: 28},
		nn.Conv{Out: 6, Kernel: 5, Stride: 1, Pad: 2}, activation, pool,
		nn.Conv{Out: 16, Kernel: 5, Stride: 1}, activation, pool,
		nn.Dense{Out: 120}, activation,
		nn.Dense{Out: 84}, activation,
		nn.Dense{Out: 10},
	)
	if err != nil {
		panic("lenet: " + err.Error()) // cannot happen: the layers above are valid
	}
	return models.NewNetwork(name, net)
}
