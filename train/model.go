package train

import (
	"fmt"
	"strconv"
	"strings"

	"proactivedp/data"
	"proactivedp/internal/cpu"
	"proactivedp/internal/f32"
	"proactivedp/internal/message"
	"proactivedp/models"
	"proactivedp/models/convnet"
	"proactivedp/models/lenet"
	"proactivedp/models/logreg"
	"proactivedp/models/mlp"
	"proactivedp/models/softmax"
	"proactivedp/nn"
)

// These are the names of the models.
const (
	Ridge     = "logreg"       // logistic regression with a ridge penalty, see Spec.Lambda
	Plain     = "logreg-plain" // logistic regression without a penalty
	Softmax   = "softmax"      // softmax regression for any number of classes; not in the paper
	LeNet     = "lenet"        // LeNet-5 with tanh and average pooling
	LeNetReLU = "lenet-relu"   // LeNet-5 with ReLU and max pooling
	AlexNet   = "alexnet"      // AlexNet for 32×32 pixels
	ConvNet   = "convnet"      // a small convolutional network; not in the paper
	MLP       = mlp.Tanh       // a multi-layer perceptron, see mlp.Parse; not in the paper
	MLPReLU   = mlp.ReLU       // the same with ReLU instead of tanh

	AlexNetDropout = "alexnet-dropout" // AlexNet with dropout after its first two dense layers
)

// modelKind describes a model.
type modelKind struct {
	name, title string
	network     bool
	tiled       bool // whether matrix tiles (AMX) compute some of its sums
	// make returns the model with penalty λ for clients whose records are like those of d. It
	// returns an error if the model cannot be trained on such data.
	make func(d *data.Dataset, lambda float64) (models.Model, error)
}

// modelKinds lists the models in the order of the help text.
var modelKinds = []modelKind{
	{Ridge, "ridge logistic regression", false, false, func(d *data.Dataset, lambda float64) (models.Model, error) {
		if err := checkSparse(Ridge, d); err != nil {
			return nil, err
		}
		return logreg.NewRidge(d.Features, lambda)
	}},
	{Plain, "plain logistic regression", false, false, func(d *data.Dataset, _ float64) (models.Model, error) {
		if err := checkSparse(Plain, d); err != nil {
			return nil, err
		}
		return logreg.NewPlain(d.Features)
	}},
	{Softmax, "softmax regression", false, false, func(d *data.Dataset, _ float64) (models.Model, error) {
		return softmax.New(d.Features, d.Classes)
	}},
	{LeNet, "LeNet (tanh, average pooling)", true, false, network(lenet.New)},
	{LeNetReLU, "LeNet (ReLU, max pooling)", true, false, network(lenet.NewReLU)},
	{AlexNet, "AlexNet", true, true, network(convnet.AlexNet)},
	{AlexNetDropout, "AlexNet with dropout", true, true, network(convnet.AlexNetDropout)},
	{ConvNet, "small convolutional network", true, true, func(d *data.Dataset, _ float64) (models.Model, error) {
		p := d.Images
		if p == nil || p.Height%4 != 0 || p.Width%4 != 0 {
			return nil, mismatch(ConvNet, "images of sides that are multiples of 4", d)
		}
		return convnet.New(shapeOf(d), d.Classes)
	}},
	perceptron(MLP, mlp.Hidden{Widths: []int{mlp.DefaultWidth}}),
	perceptron(MLPReLU, mlp.Hidden{Widths: []int{mlp.DefaultWidth}, ReLU: true}),
}

// perceptron returns the kind of a perceptron. Matrix tiles compute some of its sums if widths and
// features are multiples of theirs.
func perceptron(name string, h mlp.Hidden) modelKind {
	activation, widths := "tanh", make([]string, len(h.Widths))
	if h.ReLU {
		activation = "ReLU"
	}
	for i, w := range h.Widths {
		widths[i] = strconv.Itoa(w)
	}
	title := fmt.Sprintf("multi-layer perceptron (%s, %s)", strings.Join(widths, "–"), activation)
	return modelKind{name, title, true, true, func(d *data.Dataset, _ float64) (models.Model, error) {
		m, err := mlp.New(shapeOf(d), d.Classes, h)
		if err != nil {
			return nil, fmt.Errorf("model on %s: %w", d.Name, err)
		}
		return m, nil
	}}
}

// shapeOf returns the shape of the data set's records, which are images or rows.
func shapeOf(d *data.Dataset) nn.Shape {
	if p := d.Images; p != nil {
		return nn.Shape{Channels: p.Channels, Height: p.Height, Width: p.Width}
	}
	return nn.Shape{Channels: d.Features, Height: 1, Width: 1}
}

// checkSparse returns an error if logistic regression cannot be trained on the data.
func checkSparse(model string, d *data.Dataset) error {
	if d.Images == nil && d.Classes == 2 {
		return nil
	}
	return fmt.Errorf("%w: model = %q takes other data", mismatch(model, "rows in 2 classes", d), Softmax)
}

// network returns a function that builds a network and checks that the data has its shape and
// classes.
func network(build func() *models.Network) func(*data.Dataset, float64) (models.Model, error) {
	return func(d *data.Dataset, _ float64) (models.Model, error) {
		m := build()
		in, classes := m.Net().Input(), m.Net().Classes()
		if p := d.Images; p == nil || p.Channels != in.Channels || p.Height != in.Height || p.Width != in.Width ||
			d.Classes != classes {
			return nil, mismatch(m.Name(), fmt.Sprintf("%v pixels in %d classes", in, classes), d)
		}
		return m, nil
	}
}

func mismatch(model, needs string, d *data.Dataset) error {
	return fmt.Errorf("model = %q needs %s, %s has %s in %d", model, needs, d.Name, d.Shape(), d.Classes)
}

// kindOf returns the kind of a model by its name. The name of a perceptron always has the widths of
// its hidden layers, even if they were left out.
func kindOf(name string) (modelKind, error) {
	if mlp.Named(name) {
		h, err := mlp.Parse(name)
		if err != nil {
			return modelKind{}, err
		}
		return perceptron(h.String(), h), nil
	}
	for _, k := range modelKinds {
		if k.name == name {
			return k, nil
		}
	}
	hint := ""
	base, _, _ := strings.Cut(name, ":")
	if like := message.Nearest(base, ModelNames()); like != "" {
		hint = ": did you mean " + like + "?"
	}
	return modelKind{}, fmt.Errorf("model = %q, must be one of %s%s", name, strings.Join(ModelNames(), ", "),
		hint)
}

// FullName returns a model's name with its default parts: mlp is mlp:32. It returns unknown names
// unchanged.
func FullName(name string) string {
	if k, err := kindOf(name); err == nil {
		return k.name
	}
	return name
}

// ModelNames lists the models. Perceptrons are listed without widths.
func ModelNames() []string {
	var names []string
	for _, k := range modelKinds {
		names = append(names, k.name)
	}
	return names
}

// IsNetwork reports whether a model is a neural network.
func IsNetwork(name string) bool {
	k, err := kindOf(name)
	return err == nil && k.network
}

// Kernels returns the class of the float32 kernels in use if the run's bits depend on it, and
// otherwise "". Two classes give other bits than the rest: the portable kernels, which round the
// products in a network's sums, and matrix tiles (AMX), which compute some sums of large networks
// from parts of numbers. All other kernels agree with each other.
func (s Spec) Kernels() string {
	k, err := kindOf(s.Model)
	class := f32.Kernels()
	if err == nil && (class == cpu.Portable && k.network || class == cpu.AMX && k.tiled) {
		return class.String()
	}
	return ""
}

// ModelTitle returns the name of a model in plots.
func ModelTitle(name string) string {
	k, err := kindOf(name)
	if err != nil {
		return name
	}
	return k.title
}
