// This file has AlexNet (A. Krizhevsky, I. Sutskever and G. Hinton, "ImageNet Classification with
// Deep Convolutional Neural Networks", NIPS 2012), reduced to colour images of 32×32 in ten
// classes, with 23,272,266 parameters:
//
//	layer                     output     parameters   multiplications
//	conv 3×3 stride 2 pad 1   64×16×16        1,792           442,368
//	max pool 2×2              64×8×8
//	conv 3×3 pad 1            192×8×8       110,784         7,077,888
//	max pool 2×2              192×4×4
//	conv 3×3 pad 1            384×4×4       663,936        10,616,832
//	conv 3×3 pad 1            256×4×4       884,992        14,155,776
//	conv 3×3 pad 1            256×4×4       590,080         9,437,184
//	max pool 2×2              256×2×2
//	dense                     4096        4,198,400         4,194,304
//	dense                     4096       16,781,312        16,777,216
//	dense                     10             40,970            40,960
//
// A ReLU follows every layer except the last.

package convnet

import (
	"fmt"

	"proactivedp/models"
	"proactivedp/nn"
)

// AlexNet returns the model "alexnet", for colour images of 32×32 pixels in ten classes, such as CIFAR-10. It has no
// dropout: see [AlexNetDropout]. For other images use [AlexNetFor].
func AlexNet() *models.Network { return must(AlexNetFor(objects, 10)) }

// AlexNetDropout returns the model "alexnet-dropout", for colour images of 32×32 pixels in ten classes. It is
// [AlexNet] with the dropout of the original network (A. Krizhevsky et al., NIPS 2012): after its first two dense
// layers, each unit is removed with probability ½ during training.
func AlexNetDropout() *models.Network { return must(AlexNetDropoutFor(objects, 10)) }

// AlexNetFor returns AlexNet for images of other sizes or numbers of channels (the shape in) and the given number of
// classes. It returns an error unless height and width are each a multiple of 16, or one less than a multiple of 16:
// the first convolution halves them, rounding up, and three pooling layers halve the result exactly.
func AlexNetFor(in nn.Shape, classes int) (*models.Network, error) {
	return buildAlexNet("alexnet", in, classes, 1, 1)
}

// AlexNetDropoutFor returns AlexNet with dropout, as [AlexNetDropout] does, for images of the shape in and the given
// number of classes. Height and width must be as [AlexNetFor] requires.
func AlexNetDropoutFor(in nn.Shape, classes int) (*models.Network, error) {
	return buildAlexNet("alexnet-dropout", in, classes, 1, 1, nn.Dropout{Rate: 0.5})
}

var objects = nn.Shape{Channels: 3, Height: 32, Width: 32}

// buildAlexNet returns AlexNet with the widths of the convolutions divided by thinner, and those of the dense layers
// by thinnerDense.
func buildAlexNet(name string, in nn.Shape, classes, thinner, thinnerDense int, dropout ...nn.Layer) (*models.Network,
	error) {
	var layers []nn.Layer
	conv := func(out, stride int, behind ...nn.Layer) {
		layers = append(layers, nn.Conv{Out: out / thinner, Kernel: 3, Stride: stride, Pad: 1}, nn.ReLU{})
		layers = append(layers, behind...)
	}
	dense := func(out int) {
		layers = append(layers, nn.Dense{Out: out / thinnerDense}, nn.ReLU{})
		layers = append(layers, dropout...)
	}
	conv(64, 2, nn.MaxPool{})
	conv(192, 1, nn.MaxPool{})
	conv(384, 1)
	conv(256, 1)
	conv(256, 1, nn.MaxPool{})
	dense(4096)
	dense(4096)
	net, err := nn.New(in, append(layers, nn.Dense{Out: classes})...)
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
