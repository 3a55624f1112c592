package models_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"proactivedp/data"
	"proactivedp/models"
	"proactivedp/models/modeltest"
	"proactivedp/models/softmax"
	"proactivedp/nn"
	"proactivedp/rng"
)

// A network with dropout: the contract holds without a stream, and with one the
// gradient is a function of it.
func TestNetwork(t *testing.T) {
	net, err := nn.New(nn.Shape{Channels: 1, Height: 6, Width: 6},
		nn.Conv{Out: 4, Kernel: 3, Stride: 1}, nn.Tanh{}, nn.Dense{Out: 12}, nn.Tanh{}, nn.Dropout{Rate: 0.5},
		nn.Dense{Out: 3})
	if err != nil {
		t.Fatal(err)
	}
	m := models.NewNetwork("small", net)
	d := modeltest.Images(40, 1, 6, 6, 3)
	modeltest.Conform(t, modeltest.Case{Model: m, Data: d, GradTolerance: 1e-3})
	if m.Name() != "small" || m.Net() != net {
		t.Errorf("name %q, another network", m.Name())
	}

	params, scratch := make([]float32, m.NumParams()), m.NewScratch()
	m.Init(params, rng.New(1).Stream(rng.Init, 0, 0))
	gradient := func(s *rng.Stream) float32 {
		g := make([]float32, m.NumParams())
		m.Draw(scratch, s)
		if err := m.ClippedGradSum(g, params, data.Batch{Data: d, Rows: []int32{1, 2, 3}}, 1, scratch); err != nil {
			t.Fatal(err)
		}
		return g[0]
	}
	root := rng.New(2)
	plain, one, two := gradient(nil), gradient(root.Stream(rng.Noise, 0, 0)), gradient(root.Stream(rng.Noise, 0, 1))
	if plain == one || one == two || one != gradient(root.Stream(rng.Noise, 0, 0)) || plain != gradient(nil) {
		t.Error("the gradient is not a function of the stream")
	}

	params[len(params)-1] = float32(math.Inf(1))
	err = m.ClippedGradSum(make([]float32, m.NumParams()), params, data.Batch{Data: d, Rows: []int32{0}}, 1, scratch)
	if !errors.Is(err, models.ErrDiverged) || !errors.Is(err, nn.ErrNotFinite) {
		t.Errorf("infinite parameter: error %v", err)
	}
}

// A clipping norm that is none is refused as such, and is no divergence of the training.
func TestClippingNormIsNamed(t *testing.T) {
	net, err := nn.New(nn.Shape{Channels: 4, Height: 1, Width: 1}, nn.Dense{Out: 3})
	if err != nil {
		t.Fatal(err)
	}
	linear, err := softmax.New(4, 3)
	if err != nil {
		t.Fatal(err)
	}
	d := modeltest.Images(5, 1, 2, 2, 3)
	d.Images.Channels, d.Images.Height, d.Images.Width = 4, 1, 1
	d.Images.Mean, d.Images.Std = make([]float32, 4), []float32{1, 1, 1, 1}
	b := data.Batch{Data: d, Rows: []int32{1, 2}}
	for _, m := range []models.Bounded{models.NewNetwork("linear", net), linear} {
		params, sum, scratch := make([]float32, m.NumParams()), make([]float64, m.NumParams()), m.NewScratch()
		for _, clip := range []float64{0, -1, math.NaN(), math.Inf(-1)} {
			err := m.WideGradSum(sum, params, b, clip, scratch)
			if err == nil || errors.Is(err, models.ErrDiverged) ||
				!strings.Contains(err.Error(), fmt.Sprintf("clipping norm = %v, must be", clip)) {
				t.Errorf("%s: clipping norm %v: error %v", m.Name(), clip, err)
			}
		}
	}
}

// A network of two classes ranks examples as it labels them: class 1 is what is scored above
// 0, over several blocks and a part of one.
func TestNetworkScoresAsItPredicts(t *testing.T) {
	net, err := nn.New(nn.Shape{Channels: 1, Height: 6, Width: 6}, nn.Dense{Out: 5}, nn.Tanh{}, nn.Dense{Out: 2})
	if err != nil {
		t.Fatal(err)
	}
	m, d := models.NewNetwork("small", net), modeltest.Images(100, 1, 6, 6, 2)
	params, scratch := make([]float32, m.NumParams()), m.NewScratch()
	m.Init(params, rng.New(1).Stream(rng.Init, 0, 0))
	labels, logits, scores := make([]int32, d.Len()), make([]float64, 2*d.Len()), make([]float64, d.Len())
	m.Predict(labels, params, all(d), scratch)
	m.Logits(logits, params, all(d), scratch)
	for i := range scores {
		scores[i] = logits[2*i+1] - logits[2*i]
	}
	seen := map[bool]int{}
	for i, s := range scores {
		// One example by itself has the loss ln(1 + e^∓s).
		own := data.Batch{Data: d, Rows: []int32{int32(i)}}
		sign := float64(1 - 2*d.Label[i])
		want := math.Log1p(math.Exp(sign * s))
		if loss := m.Loss(params, own, scratch); math.Abs(loss-want) > 1e-6 {
			t.Errorf("example %d of class %d: score %v, and a loss of %v, want %v", i, d.Label[i], s, loss, want)
		}
		if s > 0 != (labels[i] == 1) {
			t.Errorf("example %d: score %v, class %d", i, s, labels[i])
		}
		seen[s > 0]++
	}
	if len(seen) < 2 {
		t.Errorf("all examples are labelled alike: %v", seen)
	}
	if area := models.Evaluate(m, params, all(d), scratch).AUC; area == nil || !(*area > 0 && *area < 1) {
		t.Errorf("AUC %v", area)
	}
	b := all(d)
	if n := testing.AllocsPerRun(5, func() { m.Logits(logits, params, b, scratch) }); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}
