package models

import (
	"errors"
	"fmt"
	"math"

	"proactivedp/data"
	"proactivedp/nn"
	"proactivedp/rng"
)

// Network is a neural network with softmax cross-entropy as its loss, as a Model. It takes batches of images of the
// network's shape, or of rows with as many features, in the order [channel][y][x]. The data set must have the
// network's number of classes. Check returns an error for other data sets; the other methods may panic with them.
type Network struct {
	name      string
	net       *nn.Net
	automatic bool // see AutomaticClipper
}

var _ interface {
	Adder
	AutomaticClipper
	Checker
	Layered
	Scorer
	Stochastic
} = (*Network)(nil)

// Stochastic is a Model whose gradient is random even for given records, because it has dropout: each gradient is
// that of the network without some random units. The caller must give such a model a source of random numbers with
// Draw.
//
// This does not weaken privacy. The random numbers for an example depend on its place in the batch, so if a record is
// removed, those of other examples change. But all of them are independent and identically distributed, so those of
// two neighbouring data sets can be chosen equal for each example that both data sets have. Then the two sums differ
// by at most the bound of a Bounded model, so the (ε, δ) guarantee of the noise holds for each choice of the random
// numbers. It then also holds if they are drawn at random: the two outputs are mixtures over the same choices, and a
// mixture satisfies the inequality of (ε, δ) if each of its parts does.
type Stochastic interface {
	Model
	// Draw says that later sums of gradients with this scratch take their random numbers from s, in order. After
	// Draw(scratch, nil), and for a new scratch, nothing is random: no unit is removed, and the gradients are those
	// of the whole network.
	Draw(scratch Scratch, s *rng.Stream)
}

// NewNetwork returns net as a [Model], so that it can be trained (see package sim). name is the model's name: the
// method Name returns it, and errors and reports contain it.
func NewNetwork(name string, net *nn.Net) *Network { return &Network{name: name, net: net} }

// WithAutomaticClipping returns a network like m that scales every gradient to about the clipping norm, also a short
// one: see [AutomaticClipper]. The bound [nn.Rounding] on rounding errors still holds, because its proof needs only
// that a scaled gradient is not longer than the clipping norm C. [AutomaticFactor], the factor of the scaling,
// ensures this in spite of rounding.
func (m *Network) WithAutomaticClipping() Model { return &Network{m.name, m.net, true} }

// ClipsAutomatically reports whether m came from [Network.WithAutomaticClipping].
func (m *Network) ClipsAutomatically() bool { return m.automatic }

// WithPrecision returns a network like m that multiplies numbers with precision p, such as nn.BF16, which is faster
// than float32 on some processors but less exact: see [nn.Precision]. It returns an error if p is unknown. It also
// does so if p is nn.BF16x3, which represents each number by two bfloat16, and [nn.Net.Tiled] is false: BF16x3 changes
// only matrix products that are computed with matrix tiles (AMX instructions), and such a network has none.
func (m *Network) WithPrecision(p nn.Precision) (*Network, error) {
	net, err := m.net.WithPrecision(p)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", m.name, err)
	}
	return &Network{m.name, net, m.automatic}, nil
}

type networkScratch struct {
	nn      *nn.Scratch
	dropout *rng.Stream
	clip    float64   // the clipping norm …
	factor  nn.Factor // … and the function that clips to it
	wide    []float64 // for ClippedGradSum; nil until it is needed
}

// whole returns the nn.Scratch, prepared for methods that clip no gradients.
func (s *networkScratch) whole() *nn.Scratch {
	s.nn.WithoutTiles(false)
	return s.nn
}

// Name returns the name that was given to [NewNetwork], which is also the model's name on the command line.
func (m *Network) Name() string { return m.name }

// NumParams returns the number d of the network's parameters: the weights and biases of all layers.
func (m *Network) NumParams() int { return m.net.NumParams() }

// Check returns nil if the network can be trained on d, and otherwise an error that says what it needs: images of the
// network's shape, or rows with as many features, and exactly as many classes as the network. See [Checker].
func (m *Network) Check(d *data.Dataset) error {
	in, classes := m.net.Input(), m.net.Classes()
	fits := d.Features == in.Size()
	if p := d.Images; p != nil {
		fits = nn.Shape{Channels: p.Channels, Height: p.Height, Width: p.Width} == in
	}
	if d.Targets != nil {
		return fmt.Errorf("%s needs classes, %q has targets", m.name, d.Name)
	}
	if !fits || d.Classes != classes {
		return fmt.Errorf("%s needs images of %v, or rows of %d features, in %d classes: %q has %s "+
			"in %d", m.name, in, in.Size(), classes, d.Name, d.Shape(), d.Classes)
	}
	return nil
}

// Net returns the network of package nn that m evaluates. Its methods describe the layers, their sizes and their
// cost.
func (m *Network) Net() *nn.Net { return m.net }

// FLOPs returns the number of floating-point operations for the clipped gradient of one example. A multiply-add counts
// as two.
func (m *Network) FLOPs() int { return m.net.FLOPs() }

// Init sets params to the initial parameters, drawn from s: random weights, whose variance depends on the size of the
// layer, and zero biases. See [nn.Net.Init].
func (m *Network) Init(params []float32, s *rng.Stream) { m.net.Init(params, s) }

// NewScratch returns working memory for the methods of the network. Each goroutine needs its own.
func (m *Network) NewScratch() Scratch {
	s := &networkScratch{nn: m.net.NewScratch()}
	s.factor = func(norm float64) (float64, bool) { return ClipFactor(norm, s.clip) }
	if m.automatic {
		s.factor = func(norm float64) (float64, bool) { return AutomaticFactor(norm, s.clip) }
	}
	return s
}

// Draw sets s as the source of random numbers for dropout in later sums of gradients with the working memory scratch:
// see [Stochastic]. nil turns dropout off, as for evaluation. A network without dropout layers ignores it.
func (m *Network) Draw(scratch Scratch, s *rng.Stream) { scratch.(*networkScratch).dropout = s }

// Shade returns [nn.Rounding], a bound on the rounding errors of a sum of clipped gradients, as a fraction of the
// clipping norm. Gradients are clipped to a norm that is smaller by this fraction, see [Bounded].
func (m *Network) Shade() float64 { return nn.Rounding }

// ClippedGradSum sets sum, of length d, to the sum of the gradients of the examples in b at params, each clipped to
// the norm clip, in float32: see [Model]. scratch is working memory from NewScratch.
func (m *Network) ClippedGradSum(sum, params []float32, b data.Batch, clip float64, scratch Scratch) error {
	s := scratch.(*networkScratch)
	if s.wide == nil {
		s.wide = make([]float64, m.NumParams())
	}
	return Narrow(m, sum[:m.NumParams()], s.wide, params, b, clip, s)
}

// WideGradSum does the same as [Network.ClippedGradSum] with these arguments, but returns the sum in float64, with a
// proven bound on its rounding errors, as a release needs it: see [Bounded]. With clip = +Inf it does not clip, and
// computes no norms. It returns an error if a finite clip is below nn.LeastNorm, or if the batch has more than
// nn.MaxBatch records, because the bound is not proved for these.
func (m *Network) WideGradSum(sum []float64, params []float32, b data.Batch, clip float64, scratch Scratch) error {
	s := scratch.(*networkScratch)
	factor, err := m.factor(b, clip, s)
	if err != nil {
		return err
	}
	return m.diverged(m.net.GradSum(sum, params, b, factor, s.dropout, s.nn))
}

// AddGradSum adds the sum that [Network.WideGradSum] computes from the other arguments to u, of length d, which
// usually holds the noise of a training step. This is faster than to compute the sum and add it: see [Adder].
func (m *Network) AddGradSum(u, params []float32, b data.Batch, clip float64, scratch Scratch) error {
	s := scratch.(*networkScratch)
	factor, err := m.factor(b, clip, s)
	if err != nil {
		return err
	}
	return m.diverged(m.net.AddGradSum(u, params, b, factor, s.dropout, s.nn))
}

// factor returns the function that clips gradients to the norm clip. It returns nil if clip is
// +Inf.
func (m *Network) factor(b data.Batch, clip float64, s *networkScratch) (nn.Factor, error) {
	switch n := b.Len(); {
	case n > nn.MaxBatch:
		return nil, fmt.Errorf("%s: a sample of %d records, must be at most %d: the rounding of larger sums "+
			"is not bounded", m.name, n, nn.MaxBatch)
	case math.IsInf(clip, 1):
		s.whole()
		return nil, nil
	case !(clip >= nn.LeastNorm): // includes NaN
		return nil, fmt.Errorf("%s: clipping norm = %v, must be at least %v for a network", m.name, clip,
			nn.LeastNorm)
	}
	s.nn.WithoutTiles(clip < nn.LeastTiledNorm)
	s.clip = clip / (1 + m.Shade())
	return s.factor, nil
}

func (m *Network) diverged(err error) error {
	if errors.Is(err, nn.ErrNotFinite) {
		return fmt.Errorf("%s: %w: %w", m.name, err, ErrDiverged)
	}
	return err
}

// Loss returns the mean cross-entropy of the examples in b at params, each multiplied by the weight of its class if
// there are class weights. scratch is working memory from NewScratch.
func (m *Network) Loss(params []float32, b data.Batch, scratch Scratch) float64 {
	return m.net.Loss(params, b, scratch.(*networkScratch).whole())
}

// Predict sets labels[i] to the class with the largest logit (score before softmax) for example i of b, with the
// parameters params. scratch is working memory from NewScratch.
func (m *Network) Predict(labels []int32, params []float32, b data.Batch, scratch Scratch) {
	m.net.Predict(labels, params, b, scratch.(*networkScratch).whole())
}

// Logits sets z[i·K+k] to the logit of class k (its score before softmax) for example i of b, with the parameters
// params. K is the network's number of classes, which must be that of the data set. scratch is working memory from
// NewScratch.
func (m *Network) Logits(z []float64, params []float32, b data.Batch, scratch Scratch) {
	m.net.Logits(z, params, b, scratch.(*networkScratch).whole())
}
