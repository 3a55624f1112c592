package models

import (
	"errors"
	"fmt"
	"math"

	"proactivedp/data"
	"proactivedp/nn"
	"proactivedp/rng"
)

// Network is a neural network under softmax cross-entropy. Its batches must be of
// data sets of images of the network's shape, or of rows with as many features,
// [channel][y][x], with at most its number of classes; see Check. Others panic.
type Network struct {
	name string
	net  *nn.Net
}

var _ interface {
	Adder
	Checker
	Scorer
	Stochastic
} = (*Network)(nil)

// Stochastic is a Model with randomness in its gradient (dropout). The sum of
// clipped gradients is then that of a network drawn anew for each batch. What is
// drawn for an example depends on its place in the batch, so a record that leaves
// changes what others draw; but all draws are independent and alike, so those of
// neighbours can be paired example by example, and given the pairs the sums differ
// as a Bounded model says. The guarantee of the noise holds for every pair, and so,
// by joint convexity, for the mixture.
type Stochastic interface {
	Model
	// Draw makes the ClippedGradSums that follow with this scratch draw from
	// the stream, in order; nil makes them deterministic, as they are with a
	// new scratch.
	Draw(scratch Scratch, s *rng.Stream)
}

// NewNetwork gives a network the name it has on the command line.
func NewNetwork(name string, net *nn.Net) *Network { return &Network{name: name, net: net} }

// WithPrecision returns the network with products of the given numbers: see
// nn.Net.WithPrecision.
func (m *Network) WithPrecision(p nn.Precision) (*Network, error) {
	net, err := m.net.WithPrecision(p)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", m.name, err)
	}
	return NewNetwork(m.name, net), nil
}

// networkScratch is a Network's Scratch.
type networkScratch struct {
	nn      *nn.Scratch
	dropout *rng.Stream
	clip    float64   // what it clips to …
	factor  nn.Factor // … by this
	wide    []float64 // of ClippedGradSum; nil until it is needed
}

// whole returns the network's scratch for what no gradient is clipped in.
func (s *networkScratch) whole() *nn.Scratch {
	s.nn.WithoutTiles(false)
	return s.nn
}

// Name implements Model.
func (m *Network) Name() string { return m.name }

// NumParams implements Model.
func (m *Network) NumParams() int { return m.net.NumParams() }

// Check implements Checker.
func (m *Network) Check(d *data.Dataset) error {
	in, most := m.net.Input(), m.net.Classes()
	fits := d.Features == in.Size()
	if p := d.Images; p != nil {
		fits = nn.Shape{Channels: p.Channels, Height: p.Height, Width: p.Width} == in
	}
	if !fits || d.Classes > most {
		return fmt.Errorf("%s needs images of %v, or rows of %d features, in at most %d classes: %q has %s "+
			"in %d", m.name, in, in.Size(), most, d.Name, d.Shape(), d.Classes)
	}
	return nil
}

// Net returns the network: its layers, their sizes and their cost.
func (m *Network) Net() *nn.Net { return m.net }

// FLOPs returns the floating-point operations of one example's clipped gradient.
func (m *Network) FLOPs() int { return m.net.FLOPs() }

// Init implements Model: see nn.Net.Init.
func (m *Network) Init(params []float32, s *rng.Stream) { m.net.Init(params, s) }

// NewScratch implements Model.
func (m *Network) NewScratch() Scratch {
	s := &networkScratch{nn: m.net.NewScratch()}
	s.factor = func(norm float64) (float64, bool) { return ClipFactor(norm, s.clip) }
	return s
}

// Draw implements Stochastic.
func (m *Network) Draw(scratch Scratch, s *rng.Stream) { scratch.(*networkScratch).dropout = s }

// Shade implements Bounded: see nn.Rounding.
func (m *Network) Shade() float64 { return nn.Rounding }

// ClippedGradSum implements Model.
func (m *Network) ClippedGradSum(sum, params []float32, b data.Batch, clip float64, scratch Scratch) error {
	s := scratch.(*networkScratch)
	if s.wide == nil {
		s.wide = make([]float64, m.NumParams())
	}
	return Narrow(m, sum[:m.NumParams()], s.wide, params, b, clip, s)
}

// WideGradSum implements Bounded. Without clipping (clip = +Inf) no norms are
// computed. A finite clip must be at least nn.LeastNorm, and a sample have at most
// nn.MaxBatch records.
func (m *Network) WideGradSum(sum []float64, params []float32, b data.Batch, clip float64, scratch Scratch) error {
	s := scratch.(*networkScratch)
	factor, err := m.factor(b, clip, s)
	if err != nil {
		return err
	}
	return m.diverged(m.net.GradSum(sum, params, b, factor, s.dropout, s.nn))
}

// AddGradSum implements Adder.
func (m *Network) AddGradSum(u, params []float32, b data.Batch, clip float64, scratch Scratch) error {
	s := scratch.(*networkScratch)
	factor, err := m.factor(b, clip, s)
	if err != nil {
		return err
	}
	return m.diverged(m.net.AddGradSum(u, params, b, factor, s.dropout, s.nn))
}

// factor returns what clips, or nil.
func (m *Network) factor(b data.Batch, clip float64, s *networkScratch) (nn.Factor, error) {
	switch n := b.Len(); {
	case n > nn.MaxBatch:
		return nil, fmt.Errorf("%s: a sample of %d records, must be at most %d: the rounding of larger sums "+
			"is not bounded", m.name, n, nn.MaxBatch)
	case math.IsInf(clip, 1):
		s.whole()
		return nil, nil
	case !(clip >= nn.LeastNorm): // as a NaN is
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

// Loss implements Model.
func (m *Network) Loss(params []float32, b data.Batch, scratch Scratch) float64 {
	return m.net.Loss(params, b, scratch.(*networkScratch).whole())
}

// Predict implements Model: the class of the largest logit.
func (m *Network) Predict(labels []int32, params []float32, b data.Batch, scratch Scratch) {
	m.net.Predict(labels, params, b, scratch.(*networkScratch).whole())
}

// Scores implements Scorer, of two classes: the difference of the logits.
func (m *Network) Scores(scores []float64, params []float32, b data.Batch, scratch Scratch) {
	m.net.Margins(scores, params, b, scratch.(*networkScratch).whole())
}
