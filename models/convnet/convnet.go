// Package convnet has AlexNet and a small convolutional network ("convnet") for images such as those of 32×32 or
// 28×28 pixels. The small network is designed for small privacy budgets. It has few parameters, because each of them
// gets noise. It uses mean pooling, and the hyperbolic tangent, which keeps gradients bounded and does better than
// ReLU under clipping and noise (N. Papernot, A. Thakurta, S. Song, S. Chien and Ú. Erlingsson, "Tempered Sigmoid
// Activations for Deep Learning with Differential Privacy", AAAI 2021, arXiv 2007.14191). It is not a model of the
// paper. For colour images of 32×32 in ten classes it has 64,554 parameters:
//
//	layer              output     parameters   multiplications
//	conv 3×3 pad 1     16×32×32          448           442,368
//	mean pool 2×2      16×16×16
//	conv 3×3 pad 1     32×16×16        4,640         1,179,648
//	mean pool 2×2      32×8×8
//	conv 3×3 pad 1     64×8×8         18,496         1,179,648
//	dense              10             40,970            40,960
//
// A tanh follows every convolution. For grey images of 28×28 it has 54,666 parameters.
package convnet

import (
	"proactivedp/models"
	"proactivedp/nn"
)

// New returns the small network "convnet" for images of shape in (channels, height and width) and the given number of
// classes. It returns an error unless height and width are multiples of 4, because two pooling layers each halve them.
func New(in nn.Shape, classes int) (*models.Network, error) {
	var layers []nn.Layer
	conv := func(out int, behind ...nn.Layer) {
		layers = append(layers, nn.Conv{Out: out, Kernel: 3, Stride: 1, Pad: 1}, nn.Tanh{})
		layers = append(layers, behind...)
	}
	conv(16, nn.AvgPool{})
	conv(32, nn.AvgPool{})
	conv(64)
	net, err := nn.New(in, append(layers, nn.Dense{Out: classes})...)
	if err != nil {
		return nil, err
	}
	return models.NewNetwork("convnet", net), nil
}
