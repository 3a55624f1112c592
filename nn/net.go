package nn

import (
	"fmt"
	"slices"

	"proactivedp/internal/f32"
	"proactivedp/rng"
)

// Net is a network, compiled. It is immutable and safe for concurrent use.
type Net struct {
	// values are the activations, from the input to the logits; those before
	// flat are maps, passed on within a group of blocks.
	values []*value
	flat   int

	// The stages up to the first dense layer work on maps, a group of blocks at
	// a time, because their memory must fit the cache; the others on a whole
	// chunk, because their weights must not be read too often.
	input          input
	maps, features []stage
	learners       []learner // the stages that have parameters
	chunk, group   int       // counted in blocks; group divides chunk

	layers []LayerInfo
	params int
	parts  int // what matrix tiles take numbers apart into
	tiled  bool

	floats []slot // what a scratch holds of float32 …
	ints   []slot // … of int32 …
	wides  []slot // … of float64 …
	pairs  []slot // … and, where there are matrix tiles, of what they multiply
}

// A chunk is fewBlocks, so that what is kept for the way back stays in a
// second-level cache, or nearly; or manyBlocks if the dense layers have more than
// manyWeights, too many for that cache: then reading them is what counts.
const (
	fewBlocks   = 4
	manyBlocks  = 16
	manyWeights = 1 << 20
)

// stage is a step of the forward pass and its derivative. Both work on the
// blocks [from, to) of a chunk.
type stage interface {
	forward(s *Scratch, from, to int)
	// backward takes the derivative by the output to that by the input.
	backward(s *Scratch, from, to int)
	// place is called once, when all borders are known.
	place(n *Net)
}

// learner is a stage with parameters.
type learner interface {
	stage
	parameters() *affine
	// norms makes the blocks' gradients, or what is needed of them, and adds
	// their squared norms to the scratch's if it wants them: upper bounds, where
	// they are rounded, of what sums adds.
	norms(s *Scratch, from, to int)
	// sums adds the blocks' gradients, each times its clip factor, to what the
	// scratch collects, or to the sum.
	sums(s *Scratch, from, to int)
	// ready readies the scratch for the parameters.
	ready(s *Scratch)
	// start readies the scratch for the way back, and what sums adds to of the sum.
	start(s *Scratch)
	// finish sets the rest of the sum to what was collected.
	finish(s *Scratch)
}

// LayerInfo describes a layer for one example.
type LayerInfo struct {
	Layer  Layer
	Out    Shape
	Params int
	// Forward, Weights and Inputs count multiplications with an addition, those with
	// padding included: of the forward pass, of the weights' gradient, and of the
	// derivative by the layer's input, which the first layer does not have.
	Forward, Weights, Inputs int
}

// New compiles a network for inputs of the given shape. Its last layer must put
// out the logits, one feature a class. Errors name the layer by its place, from
// 1, and all that is wrong with it.
func New(input Shape, layers ...Layer) (*Net, error) {
	return compile(input, f32.ThreeParts, layers)
}

// compile is New for matrix tiles that take numbers apart into so many parts.
func compile(input Shape, parts int, layers []Layer) (*Net, error) {
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
	n := &Net{group: 1, chunk: fewBlocks, parts: parts}
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
		return nil, fmt.Errorf("%d layers without a dense one, which must give the logits", len(layers))
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

// append adds a stage behind the others; from the first dense one on they work
// on features.
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

// newValue adds a value behind the others.
func (n *Net) newValue(shape Shape) *value {
	v := &value{layout: layout{Shape: shape}, derived: len(n.learners) > 0}
	n.values = append(n.values, v)
	return v
}

// Input returns the shape of one example.
func (n *Net) Input() Shape { return n.values[0].Shape }

// Classes returns the number of logits.
func (n *Net) Classes() int { return n.logits().Size() }

func (n *Net) logits() *value { return n.values[len(n.values)-1] }

// NumParams returns the number of parameters.
func (n *Net) NumParams() int { return n.params }

// Tiled reports whether matrix tiles (AMX), where the machine has them, make some of the
// network's products: its bits are then those of that class of kernels.
func (n *Net) Tiled() bool { return n.tiled }

// Layers describes the layers.
func (n *Net) Layers() []LayerInfo { return slices.Clone(n.layers) }

// FLOPs returns the floating-point operations of one example in a step of
// private training, two for each multiplication with an addition: the forward
// pass, the derivatives by the activations, and the weights' gradients.
func (n *Net) FLOPs() int {
	sum := 0
	for _, l := range n.layers {
		sum += 2 * (l.Forward + l.Weights + l.Inputs)
	}
	return sum
}

// Init sets params, of length NumParams, to random weights and biases of 0. The
// weights of a layer with a ReLU behind it are normal with variance 2/fan-in (K.
// He et al., "Delving Deep into Rectifiers", ICCV 2015, Eq. 10); those of others
// uniform with variance 2/(fan-in + fan-out) (X. Glorot and Y. Bengio,
// "Understanding the difficulty of training deep feedforward neural networks",
// AISTATS 2010, Eq. 16).
func (n *Net) Init(params []float32, s *rng.Stream) {
	params = params[:n.params]
	clear(params)
	for _, l := range n.learners {
		l.parameters().init(params, s)
	}
}
