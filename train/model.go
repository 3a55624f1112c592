package train

import (
	"fmt"
	"strconv"
	"strings"

	"proactivedp/data"
	"proactivedp/data/hog"
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

// These are the values of Spec.Model: the names of the models. The paper is "Proactive DP: A Multiple Target
// Optimization Framework for DP-SGD".
const (
	Ridge     = "logreg"       // logistic regression with a ridge penalty, see Spec.Lambda
	Plain     = "logreg-plain" // logistic regression without a penalty
	Linear    = "linear"       // linear regression, for targets instead of classes; not in the paper
	Softmax   = "softmax"      // softmax regression for any number of classes; not in the paper
	LeNet     = "lenet"        // LeNet-5 with tanh and average pooling
	LeNetReLU = "lenet-relu"   // LeNet-5 with ReLU and max pooling
	AlexNet   = "alexnet"      // AlexNet for 32×32 pixels
	ConvNet   = "convnet"      // a small convolutional network; not in the paper
	MLP       = mlp.Tanh       // a multi-layer perceptron, see mlp.Parse; not in the paper
	MLPReLU   = mlp.ReLU       // a multi-layer perceptron with ReLU instead of tanh

	AlexNetDropout = "alexnet-dropout" // AlexNet with dropout after its first two dense layers
)

type modelKind struct {
	name, title string
	network     bool
	tiled       bool // whether matrix tiles (AMX) compute some of its sums
	// make returns the model with penalty λ for clients whose records are like those of d. It
	// returns an error if the model cannot be trained on such data.
	make func(d *data.Dataset, lambda float64) (models.Model, error)
}

// build returns the model for a data set, see make. Only linear regression learns targets, and it learns
// nothing else.
func (k modelKind) build(d *data.Dataset, lambda float64) (models.Model, error) {
	switch linear := k.name == Linear; {
	case linear && d.Targets == nil:
		return nil, mismatch(k.name, "real targets within public bounds (train --target-bounds)", d)
	case !linear && d.Targets != nil:
		return nil, mismatch(k.name, "classes", d)
	}
	return k.make(d, lambda)
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
	{Linear, "linear regression", false, false, func(d *data.Dataset, _ float64) (models.Model, error) {
		return logreg.NewLinear(d.Features)
	}},
	{Softmax, "softmax regression", false, false, func(d *data.Dataset, _ float64) (models.Model, error) {
		return softmax.New(d.Features, d.Classes)
	}},
	{LeNet, "LeNet (tanh, average pooling)", true, false, network(LeNet, sides4, lenet.For)},
	{LeNetReLU, "LeNet (ReLU, max pooling)", true, false, network(LeNetReLU, sides4, lenet.ForReLU)},
	{AlexNet, "AlexNet", true, true, network(AlexNet, sides16, convnet.AlexNetFor)},
	{AlexNetDropout, "AlexNet with dropout", true, true, network(AlexNetDropout, sides16, convnet.AlexNetDropoutFor)},
	{ConvNet, "small convolutional network", true, true, network(ConvNet, "images of sides that are multiples of 4",
		convnet.New)},
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
	return mismatch(model, "rows in 2 classes", d)
}

// What networks need.
const (
	sides4  = "images of sides that are multiples of 4, and at least 12"
	sides16 = "images of sides that are multiples of 16"
)

// network returns a function that builds a network for the shape and the classes of the data. needs says
// which images the network's layers allow.
func network(name, needs string, build func(nn.Shape, int) (*models.Network, error)) func(*data.Dataset, float64) (
	models.Model, error) {
	return func(d *data.Dataset, _ float64) (models.Model, error) {
		if d.Images == nil {
			return nil, mismatch(name, needs, d)
		}
		m, err := build(shapeOf(d), d.Classes)
		if err != nil {
			return nil, mismatch(name, needs+" ("+err.Error()+")", d)
		}
		return m, nil
	}
}

// mismatchError says that a model cannot be trained on a data set.
type mismatchError struct {
	model, needs string
	data         *data.Dataset
}

func mismatch(model, needs string, d *data.Dataset) error { return &mismatchError{model, needs, d} }

func (e *mismatchError) Error() string {
	d := e.data
	others := ""
	if names := takers(d); len(names) > 0 {
		others = ", which " + strings.Join(names, ", ") + " take"
	}
	if d.Targets != nil {
		return fmt.Sprintf("model = %q needs %s, %s has %s with targets, which only %s takes", e.model, e.needs, d.Name, d.Shape(),
			Linear)
	}
	return fmt.Sprintf("model = %q needs %s, %s has %s in %d classes%s", e.model, e.needs, d.Name, d.Shape(), d.Classes, others)
}

// takers lists the models that can be trained on a data set.
func takers(d *data.Dataset) []string {
	var names []string
	for _, k := range modelKinds {
		if _, err := k.build(d, 1); err == nil {
			names = append(names, strings.SplitN(k.name, ":", 2)[0])
		}
	}
	return names
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
	base, _, _ := strings.Cut(name, ":")
	return modelKind{}, fmt.Errorf("model = %q, must be one of %s%s", name, strings.Join(ModelNames(), ", "),
		message.Meant(base, ModelNames()))
}

// FullName returns a model's name with the defaults that the name leaves out. For example, FullName("mlp") returns
// "mlp:32", where 32 is the width of the hidden layer. It returns an unknown name unchanged. Two names mean the same
// model if their full names are equal.
func FullName(name string) string {
	if k, err := kindOf(name); err == nil {
		return k.name
	}
	return name
}

// ModelNames returns the names of all models that Spec.Model may have, for lists and help. Multi-layer perceptrons
// are listed as mlp and mlp-relu, without the widths of their hidden layers, which a name may add (see package
// models/mlp).
func ModelNames() []string {
	var names []string
	for _, k := range modelKinds {
		names = append(names, k.name)
	}
	return names
}

// IsRegression reports whether the named model predicts a real number (the target of a record) instead of a class.
func IsRegression(name string) bool { return name == Linear }

// IsNetwork reports whether the named model is a neural network, such as "lenet" or "mlp", and not a linear model.
func IsNetwork(name string) bool {
	k, err := kindOf(name)
	return err == nil && k.network
}

// Kernels returns the name of the float32 arithmetic code (kernels) that this machine uses, if the result of the spec
// depends on it, and otherwise "". Most kernels give the same bits. Two give other bits: the portable kernels (without
// special processor instructions), for networks and some image features, and the matrix tiles (AMX instructions), for
// large networks. Only for these, Kernels returns a name. Stored results and checkpoints contain it, so that a machine
// whose kernels would give other bits does not continue them.
func (s Spec) Kernels() string {
	k, err := kindOf(s.Model)
	class := f32.Kernels()
	mapped := s.FeatureMap != "" && !strings.HasPrefix(s.FeatureMap, hog.Prefix) // those are of whole numbers
	tiled := k.tiled && s.Precision != string(nn.BF16)
	if err == nil && (class == cpu.Portable && (k.network || mapped) || class == cpu.AMX && tiled) {
		return class.String()
	}
	return ""
}

// ModelTitle returns the title that plots show for the named model, such as "LeNet". It returns an unknown name
// unchanged.
func ModelTitle(name string) string {
	k, err := kindOf(name)
	if err != nil {
		return name
	}
	return k.title
}
