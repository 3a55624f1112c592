package nn

import (
	"fmt"
	"slices"

	"proactivedp/internal/f32"
	"proactivedp/rng"
)

// Net is a network that [New] has made from its layers. It holds no parameters: its methods get the parameters as an
// argument, a vector whose length is the result of NumParams. A Net is immutable and safe for concurrent use.
// models.NewNetwork makes a model from it.
type Net struct {
	// values are the activations, from the input to the logits. Those before index flat are maps,
	// which are passed on within a group of blocks.
	values []*value
	flat   int

	// The stages up to the first dense layer work on maps. They process one group of blocks at a
	// time, because the maps must fit the cache. The other stages process a whole chunk, so that
	// their weights are read less often.
	input          input
	maps, features []stage
	learners       []learner // the stages that have parameters
	chunk, group   int       // numbers of blocks; group divides chunk

	layers []LayerInfo
	params int
	// weights multiplies the loss of an example, by class; nil means 1.
	weights []float64
	parts   int // number of parts into which matrix tiles split numbers
	tiled   bool
	bf16    bool // whether the precision is BF16

	floats slots // a scratch's memory of float32 …
	ints   slots // … of int32 …
	wides  slots // … of float64 …
	pairs  slots // … and of the factors of matrix tiles, if there are any
}

// A chunk has fewBlocks, so that what the backward pass needs stays in a second-level cache, or
// nearly. It has manyBlocks if the dense layers have more than manyWeights. These weights do not
// fit that cache, so reading them dominates the time.
const (
	fewBlocks   = 4
	manyBlocks  = 16
	manyWeights = 1 << 20
)

// stage is a step of the forward pass and its derivative. Both process the blocks [from, to) of a
// chunk.
type stage interface {
	forward(s *Scratch, from, to int)
	// backward computes the derivative by the input from the derivative by the output.
	backward(s *Scratch, from, to int)
	// place is called once, when all borders are known.
	place(n *Net)
}

// learner is a stage with parameters.
type learner interface {
	stage
	parameters() *affine
	// norms computes the blocks' gradients, or the parts of them that sums needs. If the call clips,
	// it adds the squared norms to those in the scratch. Each computed norm is, in spite of rounding,
	// at least the norm of the vector that sums adds.
	norms(s *Scratch, from, to int)
	// sums adds the blocks' gradients, each times its clip factor, to the layer's slots in the scratch
	// or to the sum.
	sums(s *Scratch, from, to int)
	// ready prepares the scratch for the parameters.
	ready(s *Scratch)
	// start prepares the scratch for the backward pass, and the parts of the sum to which sums
	// adds.
	start(s *Scratch)
	// finish moves the gradients that are still in the layer's slots to the sum.
	finish(s *Scratch)
}

// LayerInfo describes a layer of a network: its output, its number of parameters, and its cost for one example.
// [Net.Layers] returns them.
type LayerInfo struct {
	Layer  Layer
	Out    Shape // the layer's output for one example
	Params int   // number of weights and biases
	// Forward, Weights and Inputs count multiply-adds for one example: Forward those of the forward pass, Weights
	// those of the gradient with respect to the weights, and Inputs those of the gradient with respect to the
	// layer's input. They include multiplications by padding. For the first layer Inputs is 0, because the gradient
	// with respect to its input is not needed.
	Forward, Weights, Inputs int
}

// New returns a network for examples of the shape input with the given layers, in order. The last layer must be a
// Dense layer that outputs the logits, one for each class. The error names the first layer that is not valid by its
// number, from 1, and lists all problems of that layer.
func New(input Shape, layers ...Layer) (*Net, error) {
	return compile(input, Float32, layers)
}

// compile does the work of New, for the given precision.
func compile(input Shape, precision Precision, layers []Layer) (*Net, error) {
	var p problems
	p.need(input.Channels > 0, "channels", input.Channels, "at least 1")
	p.need(input.Height > 0, "height", input.Height, "at least 1")
	p.need(input.Width > 0, "width", input.Width, "at least 1")
	p.within(mostFeatures, "size", input.Channels, input.Height, input.Width)
	if err := p.join(); err != nil {
		return nil, fmt.Errorf("input: %w", err)
	}
	if i := slices.Index(layers, nil); i >= 0 {
		return nil, fmt.Errorf("layer %d is nil, must be a Layer", i+1)
	}
	n := &Net{group: 1, chunk: fewBlocks, parts: f32.ThreeParts, bf16: precision == BF16}
	if precision == BF16x3 {
		n.parts = f32.TwoParts
	}
	at := n.newValue(input)
	n.input.out = at
	at, taken := addStreamed(n, at, layers)
	for i, l := range layers[taken:] {
		params := n.params
		next, err := l.add(n, at)
		if err != nil {
			return nil, fmt.Errorf("layer %d (%v): %w", taken+i+1, l, err)
		}
		info := LayerInfo{Layer: l, Out: next.Shape, Params: n.params - params}
		if info.Params > 0 {
			a := n.learners[len(n.learners)-1].parameters()
			info.Forward = a.mulAdds
			info.Weights = a.mulAdds
			if at.derived {
				info.Inputs = a.mulAdds
			}
		}
		n.layers = append(n.layers, info)
		at = next
	}
	if len(n.features) == 0 {
		return nil, fmt.Errorf("%d layers, must end with a dense layer that outputs the logits", len(layers))
	}
	weights := 0
	for _, l := range n.learners {
		if d, ok := l.(*dense); ok {
			weights += d.size()
		}
	}
	if weights > manyWeights {
		n.chunk = manyBlocks
	}
	n.allot()
	return n, nil
}

// append adds a stage at the end. From the first dense stage on, stages work on features.
func (n *Net) append(s stage) {
	if l, ok := s.(learner); ok {
		n.learners = append(n.learners, l)
	}
	if _, ok := s.(*dense); ok && len(n.features) == 0 {
		n.flat = len(n.values) - 1
	} else if len(n.features) == 0 {
		n.maps = append(n.maps, s)
		return
	}
	n.features = append(n.features, s)
}

func (n *Net) newValue(shape Shape) *value {
	v := &value{layout: layout{Shape: shape}, derived: len(n.learners) > 0}
	n.values = append(n.values, v)
	return v
}

// Input returns the shape of one example.
func (n *Net) Input() Shape { return n.values[0].Shape }

// Classes returns the number of classes: the number of outputs (logits) of the last layer.
func (n *Net) Classes() int { return n.logits().Size() }

func (n *Net) logits() *value { return n.values[len(n.values)-1] }

// NumParams returns the number of parameters, the weights and biases of all layers.
func (n *Net) NumParams() int { return n.params }

// Tiled reports whether the network has matrix products for which machines with matrix tiles (the AMX instructions of
// some processors) use these tiles. The answer is the same on every machine. If it is true, the bits of the
// results on machines with matrix tiles differ from those on other machines.
func (n *Net) Tiled() bool { return n.tiled }

// Layers returns a description of each layer, in order, with the size of its output, and its cost as a number of
// multiply-adds for one example.
func (n *Net) Layers() []LayerInfo { return slices.Clone(n.layers) }

// FLOPs returns the number of floating-point operations for one example's clipped gradient: those of the forward
// pass, and of the gradients with respect to activations and weights. A multiply-add counts as two.
func (n *Net) FLOPs() int {
	sum := 0
	for _, l := range n.layers {
		sum += 2 * (l.Forward + l.Weights + l.Inputs)
	}
	return sum
}

// Init sets params, of length NumParams, to random weights, drawn from s, and zero biases. The weights of a layer
// that is followed by a ReLU are normal with variance 2/fan-in (K. He et al., "Delving Deep into Rectifiers", ICCV
// 2015, Eq. 10). Other weights are uniform with variance 2/(fan-in + fan-out) (X. Glorot and Y. Bengio,
// "Understanding the difficulty of training deep feedforward neural networks", AISTATS 2010, Eq. 16). Fan-in and
// fan-out are the numbers of inputs and outputs of a unit.
func (n *Net) Init(params []float32, s *rng.Stream) {
	params = params[:n.params]
	clear(params)
	for _, l := range n.learners {
		l.parameters().init(params, s)
	}
}
