package models_test

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"proactivedp/data"
	"proactivedp/models"
	"proactivedp/models/modeltest"
	"proactivedp/models/softmax"
	"proactivedp/nn"
	"proactivedp/rng"
)

// A network with dropout meets the contract of models if no stream is given. With a stream, the gradient
// is a function of the stream.
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
	for _, classes := range []int{2, 4} { // the logits of the data's classes would not be those of the model's
		if m.Check(modeltest.Images(40, 1, 6, 6, classes)) == nil {
			t.Errorf("data of %d classes pass, the network has 3", classes)
		}
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

// An invalid clipping norm is refused with an error that names it. It does not count as divergence of the
// training.
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

// A network with two classes ranks examples as it labels them: it predicts class 1 if the score is above
// 0. The test has several blocks of examples and a part of one.
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
	b := all(d)
	e, loss := models.EvaluateLoss(m, params, b, scratch)
	if e.AUC == nil || !(*e.AUC > 0 && *e.AUC < 1) {
		t.Errorf("AUC %v", e.AUC)
	}
	if want := m.Loss(params, b, scratch); loss != want {
		t.Errorf("loss %v in one pass, want %v", loss, want)
	}
	if want := models.EvaluateLogits(logits, labels, b); !reflect.DeepEqual(e, want) {
		t.Errorf("%+v in one pass, want %+v", e, want)
	}
	if n := testing.AllocsPerRun(5, func() { m.Logits(logits, params, b, scratch) }); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}

// Plain loops over the tensors, in the order and with the shapes that Layers gives, compute the logits. So
// a reader of exported weights may rely on them.
func TestLayersDescribeTheParameters(t *testing.T) {
	net, err := nn.New(nn.Shape{Channels: 2, Height: 4, Width: 4}, nn.Conv{Out: 2, Kernel: 3, Stride: 1}, nn.Dense{Out: 3})
	if err != nil {
		t.Fatal(err)
	}
	m, d := models.NewNetwork("small", net), modeltest.Images(4, 2, 4, 4, 3)
	params := make([]float32, m.NumParams())
	m.Init(params, rng.New(1).Stream(rng.Init, 0, 0))
	for i := range params {
		params[i] += float32(i%7) / 10 // biases begin at 0
	}
	var tensors [][]float64 // weight, bias, weight, bias
	var shapes [][]int
	rest := params
	for _, l := range m.Layers() {
		for _, tensor := range []*models.Tensor{l.Weight, l.Bias} {
			if tensor == nil {
				continue
			}
			var values []float64
			for _, v := range rest[:tensor.Size()] {
				values = append(values, float64(v))
			}
			tensors, shapes, rest = append(tensors, values), append(shapes, tensor.Shape), rest[tensor.Size():]
		}
	}
	if got, want := fmt.Sprint(shapes), "[[2 3 3 2] [2] [3 8] [3]]"; got != want || len(rest) != 0 {
		t.Fatalf("shapes %v, want %v; %d parameters without a tensor", got, want, len(rest))
	}
	logits := make([]float64, 3*4)
	m.Logits(logits, params, data.Batch{Data: d, Rows: []int32{0, 1, 2, 3}}, m.NewScratch())
	for i := range 4 {
		pixel := func(c, y, x int) float64 {
			scale, shift := d.Images.Scaling(c)
			return float64(float32(d.Images.Image(i)[c*16+y*4+x])*scale + shift)
		}
		var features []float64 // [out][y][x]
		for out := range 2 {
			for y := range 2 {
				for x := range 2 {
					sum := tensors[1][out]
					for k := range 18 { // [y][x][in]
						sum += tensors[0][out*18+k] * pixel(k%2, y+k/6, x+k/2%3)
					}
					features = append(features, sum)
				}
			}
		}
		for class := range 3 {
			want := tensors[3][class]
			for j, f := range features {
				want += tensors[2][class*8+j] * f
			}
			if got := logits[i*3+class]; math.Abs(got-want) > 1e-4*(1+math.Abs(want)) {
				t.Errorf("image %d, class %d: %v, want %v", i, class, got, want)
			}
		}
	}
}
