package nn_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"proactivedp/data"
	"proactivedp/models/modeltest"
	"proactivedp/nn"
	"proactivedp/rng"
)

func TestNewSaysWhatIsWrong(t *testing.T) {
	image := nn.Shape{1, 8, 7}
	for _, c := range []struct {
		input  nn.Shape
		layers []nn.Layer
		want   []string
	}{
		{nn.Shape{0, -1, 3}, nil, []string{"input: channels = 0, must be at least 1",
			"height = -1, must be at least 1"}},
		{image, nil, []string{"0 layers, must end with a dense layer"}},
		// Sizes whose products are beyond 64 bits, or 32.
		{nn.Shape{1 << 62, 4, 1}, []nn.Layer{nn.Dense{10}}, []string{
			"input: size = 4611686018427387904×4×1, must be at most 67108864"}},
		{nn.Shape{1 << 26, 1, 2}, []nn.Layer{nn.Dense{10}}, []string{"must be at most 67108864"}},
		{image, []nn.Layer{nn.Dense{1 << 58}}, []string{
			"layer 1 (dense): weights = 288230376151711744×56, must be at most 2147483647"}},
		{image, []nn.Layer{nn.Dense{1<<20 + 1}}, []string{"layer 1 (dense): out = 1048577, must be at most 1048576"}},
		{image, []nn.Layer{nn.Dense{1 << 20}, nn.Dense{1 << 11}}, []string{"layer 2 (dense): weights = 2048×1048576"}},
		{image, []nn.Layer{nn.Conv{Out: 1 << 30, Kernel: 3, Stride: 1}}, []string{
			"layer 1 (conv 3×3): weights = 1073741824×3×3×1, must be at most 2147483647",
			"padded output = 1073741824×8×7, must be at most 16777216"}},
		{image, []nn.Layer{nn.Conv{Out: 1, Kernel: 1 << 40, Stride: 1, Pad: 1<<40 - 1}}, []string{
			"weights = 1×1099511627776×1099511627776×1",
			"padded input = 1×2199023255558×2199023255557, must be at most 16777216"}},
		{image, []nn.Layer{nn.Conv{Out: 1, Kernel: 1 << 62, Stride: 1, Pad: 1<<62 - 1}}, []string{"weights = "}},
		{image, []nn.Layer{nn.Conv{Out: 0, Kernel: 9, Stride: 0, Pad: 9}}, []string{
			"layer 1 (conv 9×9 pad 9): out = 0", "stride = 0, must be at least 1",
			"pad = 9, must be in [0, kernel)",
		}},
		{image, []nn.Layer{nn.Conv{Out: 1, Kernel: 9, Stride: 1}},
			[]string{"kernel = 9, must be at most the padded input's"}},
		{image, []nn.Layer{nn.Dense{2}, nn.Conv{Out: 1, Kernel: 1, Stride: 1}},
			[]string{"layer 2 (conv 1×1): position"}},
		{image, []nn.Layer{nn.ReLU{}, nil}, []string{"layer 2 is nil"}},
		{image, []nn.Layer{nn.MaxPool{}}, []string{"layer 1 (max pool): width = 7, must be even"}},
		{image, []nn.Layer{nn.Dense{-3}}, []string{"layer 1 (dense): out = -3, must be at least 1"}},
		{image, []nn.Layer{nn.ReLU{}, nn.Tanh{}}, []string{"layer 2 (tanh): must not follow another activation"}},
		{image, []nn.Layer{nn.Dropout{0.5}}, []string{"layer 1 (dropout 0.5): must follow a dense layer"}},
		{image, []nn.Layer{nn.Dense{2}, nn.Dropout{1}},
			[]string{"layer 2 (dropout 1): rate = 1, must be a multiple of 2^-16 in (0, 1)"}},
		{image, []nn.Layer{nn.Dense{2}, nn.Dropout{0.1}}, []string{"rate = 0.1"}},
		{image, []nn.Layer{nn.Dense{2}, nn.Dropout{math.NaN()}}, []string{"rate = NaN"}},
	} {
		_, err := nn.New(c.input, c.layers...)
		if err == nil {
			t.Errorf("%v %v was accepted", c.input, c.layers)
			continue
		}
		for _, want := range c.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%v %v: error %q lacks %q", c.input, c.layers, err, want)
			}
		}
	}
}

// small has every kind of layer, both ways to a convolution's gradients and both
// kinds of tiles.
func small(t *testing.T) *nn.Net {
	t.Helper()
	net, err := nn.New(nn.Shape{3, 12, 12},
		nn.Conv{Out: 16, Kernel: 3, Stride: 1}, nn.Tanh{}, nn.AvgPool{}, // 5×5
		nn.Conv{Out: 32, Kernel: 2, Stride: 1, Pad: 1}, nn.ReLU{}, nn.MaxPool{}, // 3×3
		nn.Conv{Out: 5, Kernel: 3, Stride: 1, Pad: 1},
		nn.Dense{7}, nn.ReLU{}, nn.Dropout{0.25}, nn.Dense{4})
	if err != nil {
		t.Fatal(err)
	}
	return net
}

func TestSmallHasAllPaths(t *testing.T) {
	across, positions, lanes, ghosts := small(t).Paths()
	if across == 0 || positions == 0 || ghosts == 0 || lanes == 0 {
		t.Errorf("%d convolutions across blocks, %d by positions; %d ghosts, %d in lanes: want some of each", across,
			positions, ghosts, lanes)
	}
}

// A scratch uses as much memory as ScratchBytes says.
func TestScratchBytes(t *testing.T) {
	net := small(t)
	params, sum := make([]float32, net.NumParams()), make([]float64, net.NumParams())
	d := modeltest.Images(20, 3, 12, 12, 4)
	for _, size := range []int{1, 16, 17, 100, 2000} {
		s := net.NewScratch()
		if err := net.GradSum(sum, params, data.Batch{Data: d, Rows: make([]int32, size)}, nil, nil, s); err != nil {
			t.Fatal(err)
		}
		if got := net.ScratchBytes(size); got != s.Held() {
			t.Errorf("batch of %d: %d bytes said, %d held", size, got, s.Held())
		}
	}
	if net.ScratchBytes(2000) != net.ScratchBytes(100_000) {
		t.Error("scratch grows with the batch beyond a chunk")
	}
}

// Init: biases 0; He's normal weights before a ReLU, Glorot's uniform elsewhere.
// Variances of n weights are off by at most six standard deviations, √(2/n) of a
// normal and √(4/5n) of a uniform one: false-alarm rate below 1e-8.
func TestInit(t *testing.T) {
	net, err := nn.New(nn.Shape{2, 10, 10},
		nn.Conv{Out: 40, Kernel: 5, Stride: 1}, nn.ReLU{}, nn.MaxPool{}, // 3×3
		nn.Conv{Out: 30, Kernel: 3, Stride: 1}, nn.Tanh{}, // 1×1
		nn.Dense{200}, nn.ReLU{}, nn.Dense{50})
	if err != nil {
		t.Fatal(err)
	}
	p := make([]float32, net.NumParams())
	net.Init(p, rng.New(1).Stream(rng.Init, 0, 0))
	for i, want := range []struct {
		variance, spread float64
		bounded          bool
	}{
		{2.0 / (25 * 2), 2, false},
		{2.0 / (9*40 + 9*30), 0.8, true},
		{2.0 / 30, 2, false},
		{2.0 / (200 + 50), 0.8, true},
	} {
		weights, biases := nn.Learner(net, i, p)
		var squares, largest float64
		for _, w := range weights {
			squares += float64(w) * float64(w)
			largest = max(largest, math.Abs(float64(w)))
		}
		n := float64(len(weights))
		if v := squares / n; math.Abs(v/want.variance-1) > 6*math.Sqrt(want.spread/n) {
			t.Errorf("layer %d: variance %.4g of %v weights, want %.4g", i, v, n, want.variance)
		}
		if bound := math.Sqrt(3 * want.variance); want.bounded != (largest <= bound*(1+1e-6)) {
			t.Errorf("layer %d: largest weight %.4g, the uniform bound is %.4g", i, largest, bound)
		}
		if slices.ContainsFunc(biases, func(b float32) bool { return b != 0 }) {
			t.Errorf("layer %d: a bias that is not 0", i)
		}
	}
}

// The norm by Gram matrices bounds what is added, rounding included, even where the terms of the sum
// nearly cancel: on a constant image all inputs of a position inside are equal,
// so that the gradient is close to (Σ δ)·x.
func TestGhostNormBoundsTheSum(t *testing.T) {
	net := small(t)
	d := modeltest.Images(40, 3, 12, 12, 4)
	for i := range d.Len() {
		image := d.Images.Image(i)
		for j := range image {
			image[j] = byte(6 * i)
		}
	}
	params, sum, scratch := make([]float32, net.NumParams()), make([]float64, net.NumParams()), net.NewScratch()
	for seed := range 20 {
		net.Init(params, rng.New(uint64(seed)).Stream(rng.Init, 0, 0))
		for i := range d.Len() {
			var claimed float64
			factor := func(norm float64) (float64, bool) { claimed = norm; return 1, true }
			if err := net.GradSum(sum, params, data.Batch{Data: d, Rows: []int32{int32(i)}}, factor, nil,
				scratch); err != nil {
				t.Fatal(err)
			}
			squares := 0.0
			for _, v := range sum {
				squares += v * v
			}
			if norm := math.Sqrt(squares); norm > claimed || norm < claimed*(1-3e-5) {
				t.Fatalf("seed %d, image %d: norm %.9g of what is added, %.9g by the Gram matrices", seed, i, norm,
					claimed)
			}
		}
	}
}

// Dropout keeps 1−rate of the features, scales them so that the mean stays, and
// takes the same ones on the way back. The number kept is binomial; six
// standard deviations give a false-alarm rate below 1e-8.
func TestDropout(t *testing.T) {
	const rate, width, size = 0.25, 64, 50
	net, err := nn.New(nn.Shape{1, 4, 4}, nn.Dense{width}, nn.Dropout{rate}, nn.Dense{2})
	if err != nil {
		t.Fatal(err)
	}
	// Weights 0 and biases 1 make all features 1 before dropout; equal weights
	// of one class bring them all the same derivative.
	params, sum := make([]float32, net.NumParams()), make([]float64, net.NumParams())
	_, features := nn.Learner(net, 0, params)
	weights, _ := nn.Learner(net, 1, params)
	for i := range width {
		features[i], weights[i] = 1, 1.0/width
	}
	_, back := nn.Learner(net, 0, sum)
	products, deltas := nn.Learner(net, 1, sum)
	d := modeltest.Images(size, 1, 4, 4, 2)
	scratch, stream := net.NewScratch(), rng.New(3).Stream(rng.Noise, 0, 0)
	kept := 0
	for i := range size {
		b := data.Batch{Data: d, Rows: []int32{int32(i)}}
		if err := net.GradSum(sum, params, b, nil, stream, scratch); err != nil {
			t.Fatal(err)
		}
		// The output layer's gradient is δ times the features; that of the
		// first biases is the derivative by the features before dropout.
		delta := deltas[0]
		for j, g := range products[:width] {
			switch feature, derivative := g/delta, width*back[j]/delta; {
			case feature == 0 && derivative == 0:
			case math.Abs(feature-1/(1-rate)) < 1e-6 && math.Abs(derivative-1/(1-rate)) < 1e-6:
				kept++
			default:
				t.Fatalf("image %d, feature %d: %v, its derivative %v", i, j, feature, derivative)
			}
		}
	}
	const n = width * size
	if limit := 6 * math.Sqrt(n*rate*(1-rate)); math.Abs(float64(kept)-n*(1-rate)) > limit {
		t.Errorf("%d of %d features kept, expected %v ± %.0f", kept, n, n*(1-rate), limit)
	}
	if net.Loss(params, data.Batch{Data: d, Rows: []int32{0, 1}}, scratch) != net.Loss(params,
		data.Batch{Data: d, Rows: []int32{0, 1}}, net.NewScratch()) {
		t.Error("dropout is on in Loss")
	}
}

func TestPredictTakesTheFirstOfEquals(t *testing.T) {
	net := small(t)
	d := modeltest.Images(20, 3, 12, 12, 4)
	labels := make([]int32, d.Len())
	for i := range labels {
		labels[i] = -1
	}
	params := make([]float32, net.NumParams())
	_, biases := nn.Learner(net, 4, params)
	biases[1], biases[3] = 1, 1
	net.Predict(labels, params, d.All().All(), net.NewScratch())
	for i, l := range labels {
		if l != 1 {
			t.Errorf("example %d: class %d, want 1", i, l)
		}
	}
}

func TestOtherDataPanics(t *testing.T) {
	net := small(t)
	for name, d := range map[string]*data.Dataset{
		"other images": modeltest.Images(2, 1, 12, 12, 4),
		"other rows":   {Features: 431, Classes: 4, Label: []int32{0}, Start: []int{0, 0}},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s were accepted", name)
				}
			}()
			net.Loss(make([]float32, net.NumParams()), data.Batch{Data: d, Rows: []int32{0}}, net.NewScratch())
		}()
	}
}

// Rows give the same results as images of the same numbers, whichever zeros the rows do not store.
func TestRowsAreImages(t *testing.T) {
	net, err := nn.New(nn.Shape{Channels: 2, Height: 3, Width: 5},
		nn.Conv{Out: 3, Kernel: 2, Stride: 1}, nn.Tanh{}, nn.Dense{Out: 7}, nn.ReLU{}, nn.Dense{Out: 4})
	if err != nil {
		t.Fatal(err)
	}
	images := modeltest.Images(37, 2, 3, 5, 4)
	for c := range images.Images.Mean { // what a network sees of a pixel p is p/255
		images.Images.Mean[c], images.Images.Std[c] = 0, 1
	}
	rows := &data.Dataset{Features: 30, Classes: 4, Label: images.Label, Start: []int{0}}
	for i, p := range images.Images.Pixels {
		if p = p / 128 * p; p != 0 { // half of them are 0
			rows.Index, rows.Value = append(rows.Index, int32(i%30)), append(rows.Value, float32(p)*float32(1.0/255))
		}
		images.Images.Pixels[i] = p
		if i%30 == 29 {
			rows.Start = append(rows.Start, len(rows.Index))
		}
	}
	if err := rows.Validate(); err != nil {
		t.Fatal(err)
	}
	params := make([]float32, net.NumParams())
	net.Init(params, rng.New(1).Stream(rng.Init, 0, 0))
	scratch := net.NewScratch()
	var sums [2][]float64
	for k, d := range []*data.Dataset{images, rows} {
		sums[k] = make([]float64, len(params))
		if err := net.GradSum(sums[k], params, d.All().All(),
			func(norm float64) (float64, bool) { return 1 / (1 + norm), true }, nil, scratch); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(sums[0], sums[1]) {
		t.Errorf("the sum of images is %v, that of rows %v", sums[0], sums[1])
	}
}

// The network that tests matrix tiles uses every kind of product that tiles compute.
func TestMatrixTilesHaveAllPaths(t *testing.T) {
	for _, c := range samples() {
		net := c.compile(t)
		passes, sums, dense := net.TiledPaths()
		if c.name == "matrix tiles" && min(passes, sums, dense) == 0 {
			t.Errorf("%d passes, %d sums of convolutions and %d dense layers by matrix tiles: want some of each",
				passes, sums, dense)
		}
		if (passes+sums+dense > 0) != net.Tiled() {
			t.Errorf("%s: %d, %d, %d, tiled: %v", c.name, passes, sums, dense, net.Tiled())
		}
	}
}

// Matrix tiles compute nothing of a network in bfloat16, not even a convolution that remains in float32, so all
// machines that have its instructions give the same bits.
func TestNoTilesInBF16(t *testing.T) {
	net, err := nn.New(nn.Shape{Channels: 32, Height: 5, Width: 5}, nn.Conv{Out: 64, Kernel: 3, Stride: 2, Pad: 1},
		nn.ReLU{}, nn.Conv{Out: 64, Kernel: 3, Stride: 1, Pad: 1}, nn.Dense{Out: 32}, nn.Dense{Out: 3})
	if err != nil || !net.Tiled() {
		t.Fatalf("%v: the network has nothing for matrix tiles", err)
	}
	if net, err = net.WithPrecision(nn.BF16); err != nil || net.Tiled() {
		t.Errorf("%v: matrix tiles compute some of the products in bfloat16", err)
	}
}
