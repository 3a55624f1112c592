package models

import (
	"fmt"

	"proactivedp/nn"
)

// Layered is a Model that can describe its layers, and where their weights are in the parameter vector. Exports of
// models to other file formats need this.
type Layered interface {
	Model
	// Layers returns the layers in the order in which an example passes them. The parameter vector has
	// their tensors one after the other, for each layer first Weight, then Bias, each in row-major order.
	Layers() []Layer
}

// Layer describes a layer of a model.
type Layer struct {
	// Name is the kind of the layer, as package nn names it, such as "dense", "tanh" or "conv 5×5 pad 2".
	Name string `json:"layer"`
	// Weight describes the weights: [out][in], or for a convolution [out][y][x][in]. It is nil if the layer has no
	// parameters.
	Weight *Tensor `json:"weight,omitempty"`
	// Bias describes the biases, one for each output. It is nil if the layer has no parameters.
	Bias *Tensor `json:"bias,omitempty"`
}

// Tensor describes a part of the parameter vector, such as the weights of a layer: its name and the sizes of its
// dimensions. The name, such as "0.weight", begins with the number of the layer, from 0, as in a Sequential of
// PyTorch.
type Tensor struct {
	Name  string `json:"name"`
	Shape []int  `json:"shape"`
}

// Size returns the number of parameters of the tensor.
func (t Tensor) Size() int {
	size := 1
	for _, n := range t.Shape {
		size *= n
	}
	return size
}

// NewLayer returns the description of layer number i, from 0, of the kind name. shape is the shape of its weights:
// first the number of outputs, which is also the length of its bias. The tensors are named "i.weight" and "i.bias".
// For a layer without parameters use Layer{Name: name}.
func NewLayer(i int, name string, shape ...int) Layer {
	return Layer{name, &Tensor{fmt.Sprintf("%d.weight", i), shape}, &Tensor{fmt.Sprintf("%d.bias", i), shape[:1]}}
}

// Layers returns a description of each layer, and of where its weights are in the parameter vector, for exports to
// other file formats: see [Layered].
func (m *Network) Layers() []Layer {
	var layers []Layer
	for i, l := range m.net.Layers() {
		layer := Layer{Name: l.Layer.String()}
		switch of := l.Layer.(type) {
		case nn.Dense:
			layer = NewLayer(i, layer.Name, of.Out, l.Params/of.Out-1)
		case nn.Conv:
			in := (l.Params/of.Out - 1) / (of.Kernel * of.Kernel)
			layer = NewLayer(i, layer.Name, of.Out, of.Kernel, of.Kernel, in)
		}
		layers = append(layers, layer)
	}
	return layers
}
