package nn_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"proactivedp/data"
	"proactivedp/internal/cpu"
	"proactivedp/internal/f32"
	"proactivedp/models/modeltest"
	"proactivedp/nn"
	"proactivedp/rng"
)

// sample is a network to test, with its layers for the reference.
type sample struct {
	name    string
	input   nn.Shape
	classes int
	layers  []nn.Layer
}

// bf16 reports whether the network's products are of bfloat16.
func (c sample) bf16() bool { return strings.HasSuffix(c.name, inBF16) }

const inBF16 = " in bf16"

// lenet returns LeNet-5's layers.
func lenet(activation, pool nn.Layer) []nn.Layer {
	return []nn.Layer{
		nn.Conv{Out: 6, Kernel: 5, Stride: 1, Pad: 2}, activation, pool,
		nn.Conv{Out: 16, Kernel: 5, Stride: 1}, activation, pool,
		nn.Dense{Out: 120}, activation, nn.Dense{Out: 84}, activation, nn.Dense{Out: 10},
	}
}

// samples returns the networks, and some of them in bfloat16: if this is slow here, only a small one.
func samples() []sample {
	all := allSamples()
	for _, c := range all {
		switch c.name {
		case "ghost norms", "matrix tiles", "dense alone":
			c.name += inBF16
			all = append(all, c)
		}
	}
	return slices.DeleteFunc(all, func(c sample) bool {
		return c.bf16() && !f32.BF16() && c.name != "dense alone"+inBF16
	})
}

func allSamples() []sample {
	digits := nn.Shape{Channels: 1, Height: 28, Width: 28}
	return []sample{
		{"lenet-relu", digits, 10, lenet(nn.ReLU{}, nn.MaxPool{})},
		{"lenet", digits, 10, lenet(nn.Tanh{}, nn.AvgPool{})},
		{"odd channels", nn.Shape{Channels: 3, Height: 9, Width: 11}, 4, []nn.Layer{
			nn.Conv{Out: 7, Kernel: 3, Stride: 2, Pad: 1}, nn.ReLU{},
			nn.Conv{Out: 11, Kernel: 2, Stride: 1}, nn.Tanh{}, // 4×5
			nn.Dense{Out: 4},
		}},
		{"stride 2 twice", nn.Shape{Channels: 2, Height: 12, Width: 10}, 3, []nn.Layer{
			nn.Conv{Out: 5, Kernel: 3, Stride: 1, Pad: 1}, nn.AvgPool{}, nn.Tanh{}, // 6×5
			nn.Conv{Out: 6, Kernel: 3, Stride: 2, Pad: 2}, nn.ReLU{}, // 4×4
			nn.MaxPool{}, nn.Dense{Out: 17}, nn.ReLU{}, nn.Dense{Out: 3},
		}},
		{"kernel 1", nn.Shape{Channels: 1, Height: 5, Width: 3}, 2, []nn.Layer{
			nn.Conv{Out: 2, Kernel: 3, Stride: 1}, nn.Conv{Out: 1, Kernel: 1, Stride: 1}, nn.Tanh{}, nn.Dense{Out: 2},
		}},
		{"holes", nn.Shape{Channels: 1, Height: 7, Width: 7}, 2, []nn.Layer{ // inputs that no tap reaches
			nn.Conv{Out: 3, Kernel: 2, Stride: 1}, nn.Conv{Out: 2, Kernel: 1, Stride: 3}, nn.ReLU{}, nn.Dense{Out: 2},
		}},
		{"ghost norms", nn.Shape{Channels: 3, Height: 8, Width: 12}, 3, []nn.Layer{
			nn.Conv{Out: 16, Kernel: 3, Stride: 1, Pad: 1}, nn.ReLU{}, nn.MaxPool{}, // 4×6
			nn.Conv{Out: 32, Kernel: 3, Stride: 1, Pad: 1}, nn.Tanh{}, nn.AvgPool{}, // 2×3
			nn.Conv{Out: 80, Kernel: 3, Stride: 1, Pad: 1},
			nn.Conv{Out: 9, Kernel: 3, Stride: 2, Pad: 1}, nn.ReLU{}, // 1×2
			nn.Dense{Out: 3},
		}},
		{"matrix tiles", nn.Shape{Channels: 3, Height: 8, Width: 8}, 3, []nn.Layer{
			nn.Conv{Out: 32, Kernel: 3, Stride: 1, Pad: 1}, nn.ReLU{}, nn.MaxPool{}, // 4×4
			nn.Conv{Out: 48, Kernel: 5, Stride: 1, Pad: 2}, nn.Tanh{},
			nn.Dense{Out: 64}, nn.ReLU{}, nn.Dense{Out: 3},
		}},
		{"matrix tiles of larger maps", nn.Shape{Channels: 1, Height: 8, Width: 16}, 3, []nn.Layer{
			nn.Conv{Out: 32, Kernel: 3, Stride: 1, Pad: 1}, nn.ReLU{}, nn.MaxPool{}, // 4×8
			nn.Conv{Out: 32, Kernel: 3, Stride: 1, Pad: 1}, nn.AvgPool{}, nn.Tanh{},
			nn.Dense{Out: 3},
		}},
		{"pairs" + inBF16, nn.Shape{Channels: 1, Height: 20, Width: 18}, 3, []nn.Layer{ // of channels in larger maps
			nn.Conv{Out: 16, Kernel: 3, Stride: 1}, nn.Tanh{}, nn.AvgPool{}, // 9×8
			nn.Conv{Out: 32, Kernel: 3, Stride: 1}, nn.ReLU{}, // 7×6
			nn.Conv{Out: 16, Kernel: 2, Stride: 1}, nn.Tanh{}, // 6×5
			nn.Conv{Out: 48, Kernel: 3, Stride: 1, Pad: 2}, nn.Tanh{}, // 8×7
			nn.Dense{Out: 3},
		}},
		{"dense alone", nn.Shape{Channels: 2, Height: 3, Width: 5}, 3,
			[]nn.Layer{nn.Dense{Out: 19}, nn.Tanh{}, nn.Dense{Out: 3}}},
		{"pool first", nn.Shape{Channels: 2, Height: 4, Width: 4}, 3, []nn.Layer{nn.MaxPool{}, nn.Dense{Out: 3}}},
	}
}

func (c sample) compile(t testing.TB) *nn.Net {
	t.Helper()
	net, err := nn.New(c.input, c.layers...)
	if err == nil && c.bf16() {
		net, err = net.WithPrecision(nn.BF16)
	}
	if err != nil {
		t.Fatal(err)
	}
	return net
}

// initial returns random parameters, biases too.
func initial(net *nn.Net) []float32 {
	p := make([]float32, net.NumParams())
	s := rng.New(11).Stream(rng.Init, 0, 0)
	net.Init(p, s)
	for i := range p {
		p[i] += float32(0.02 * s.Normal())
	}
	return p
}

func norm(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v * v
	}
	return math.Sqrt(sum)
}

// drawn is a set of images, with parameters of a network for them.
type drawn struct {
	set    *data.Dataset
	params []float32
}

func (c sample) drawn(net *nn.Net, images int) drawn {
	return drawn{modeltest.Images(images, c.input.Channels, c.input.Height, c.input.Width, c.classes), initial(net)}
}

// truth is what the reference says of a set of images. It takes far longer than the network.
type truth struct {
	drawn
	losses []float64
	norms  []float64
	grads  [][]float64
	labels []int32
	longer float64 // what a norm may be more, as a part of it: ghost norms are upper bounds
	off    float64 // what a norm may be less, and what sums and losses may be off by, as a part of them
}

func (c sample) truth(net *nn.Net, images int) truth {
	w := truth{drawn: c.drawn(net, images), longer: 3e-5, off: 1e-5}
	if _, sums, _ := net.TiledPaths(); sums > 0 { // of larger maps
		w.longer = 2e-4
	}
	if c.bf16() { // which may also choose another maximum
		w.longer, w.off = 0.1, 0.1
	}
	ref := reference{c.input, c.layers, w.params}
	for i := range images {
		loss, grad, logits := ref.example(w.set, i)
		w.losses, w.grads, w.norms = append(w.losses, loss), append(w.grads, grad), append(w.norms, norm(grad))
		w.labels = append(w.labels, int32(slices.Index(logits, slices.Max(logits))))
	}
	return w
}

// batch draws rows, with repetitions.
func (w drawn) batch(size int) data.Batch {
	b := data.Batch{Data: w.set}
	s := rng.New(5).Stream(rng.Sampling, 0, size)
	for range size {
		b.Rows = append(b.Rows, int32(s.IntN(w.set.Len())))
	}
	return b
}

// The sums, the norms they are clipped by, losses and labels, against the
// reference: for batches of all kinds of blocks and chunks, clipping norms that
// all, some and no examples exceed, and every class of kernels.
func TestAgainstReference(t *testing.T) {
	for _, c := range samples() {
		t.Run(c.name, func(t *testing.T) {
			net := c.compile(t)
			w := c.truth(net, 25)
			restored := f32.Kernels()
			for _, class := range f32.Classes() {
				restore, err := f32.Use(class)
				if err != nil {
					t.Fatal(err)
				}
				sizes := []int{1, 21}
				if c.bf16() && !f32.BF16() && net.FLOPs() > 300_000 {
					sizes = nil
				}
				if class == restored && class > cpu.Portable { // which is slow
					sizes = []int{1, 2, 15, 16, 17, 33, 64, 129, 370}
				}
				scratch := net.NewScratch()
				for _, size := range sizes {
					w.compare(t, net, w.batch(size), scratch)
				}
				restore()
			}
		})
	}
}

func (w truth) compare(t *testing.T, net *nn.Net, batch data.Batch, scratch *nn.Scratch) {
	t.Helper()
	id := fmt.Sprintf("%v, batch of %d", f32.Kernels(), batch.Len())
	for _, clip := range []float64{1e-6, w.norms[0], 1e6, math.Inf(1)} {
		seen := 0
		norms := slices.Clone(w.norms) // as they are seen: ghost norms are upper bounds
		inOrder := slices.Sorted(slices.Values(batch.Rows))
		factor := func(n float64) (float64, bool) {
			truth := w.norms[inOrder[seen]]
			if n < truth*(1-w.off) || n > truth*(1+w.longer) {
				t.Errorf("%s: the norm of example %d is %.9g, want %.9g", id, seen, n, truth)
			}
			norms[inOrder[seen]] = n
			seen++
			return min(1, clip/n), true
		}
		if math.IsInf(clip, 1) {
			factor = nil
		}
		got := make([]float64, net.NumParams())
		if err := net.GradSum(got, w.params, batch, factor, nil, scratch); err != nil {
			t.Fatal(err)
		}
		if factor != nil && seen != batch.Len() {
			t.Errorf("%s: %d norms", id, seen)
		}
		want := make([]float64, net.NumParams())
		times := make([]float64, w.set.Len())
		for _, r := range batch.Rows {
			times[r]++
		}
		for r, n := range times {
			for j, g := range w.grads[r] {
				want[j] += n * min(1, clip/norms[r]) * g
			}
		}
		diff := make([]float64, len(want))
		for j := range want {
			diff[j] = got[j] - want[j]
		}
		if norm(diff) > w.off*norm(want) {
			t.Errorf("%s, clip %.3g: the sum is off by %.3g, of norm %.3g", id, clip, norm(diff), norm(want))
		}
	}
	loss := 0.0
	for _, r := range batch.Rows {
		loss += w.losses[r] / float64(batch.Len())
	}
	if got := net.Loss(w.params, batch, scratch); math.Abs(got-loss) > w.off*loss {
		t.Errorf("%s: loss %.9g, want %.9g", id, got, loss)
	}
	labels := make([]int32, batch.Len())
	net.Predict(labels, w.params, batch, scratch)
	for i, r := range batch.Rows {
		if labels[i] != w.labels[r] && w.off < 1e-3 {
			t.Errorf("%s: example %d is of class %d, want %d", id, i, labels[i], w.labels[r])
		}
	}
}

// The order of a batch changes no bit of the sum, and neither do earlier uses of the scratch, even failed
// ones.
func TestOrderAndHistory(t *testing.T) {
	for _, c := range samples() {
		net := c.compile(t)
		w := c.truth(net, 8)
		factor := func(n float64) (float64, bool) { return min(1, w.norms[0]/n), n-n == 0 }
		sum := func(batch data.Batch, params []float32, s *nn.Scratch) ([]float64, error) {
			g := make([]float64, net.NumParams())
			err := net.GradSum(g, params, batch, factor, nil, s)
			return g, err
		}
		batch := w.batch(139)
		first, err := sum(batch, w.params, net.NewScratch())
		if err != nil {
			t.Fatal(err)
		}
		used, bad := net.NewScratch(), slices.Clone(w.params)
		for i := range bad {
			bad[i] = float32(math.NaN())
		}
		if _, err := sum(w.batch(200), bad, used); !errors.Is(err, nn.ErrNotFinite) {
			t.Errorf("%s: parameters of NaN: error %v", c.name, err)
		}
		if again, err := sum(batch, w.params, used); err != nil || !slices.Equal(first, again) {
			t.Errorf("%s: a used scratch shows (%v)", c.name, err)
		}
		slices.Reverse(batch.Rows)
		turned, err := sum(batch, w.params, used)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(first, turned) {
			t.Errorf("%s: the order of the batch shows", c.name)
		}
	}
}

// A parameter that is not finite, in any place, makes the gradient not finite, and there is an error and
// no sum. The same holds for a factor that is refused.
func TestNotFinite(t *testing.T) {
	for _, c := range samples() {
		net := c.compile(t)
		w := c.drawn(net, 3)
		batch, scratch := w.batch(20), net.NewScratch()
		sum := make([]float64, net.NumParams())
		first := 0
		for _, l := range net.Layers() {
			if l.Params == 0 {
				continue
			}
			first += l.Params
			params := slices.Clone(w.params)
			params[first-1] = float32(math.NaN()) // a bias: no zero can hide it
			for _, factor := range []nn.Factor{nil, func(n float64) (float64, bool) { return 1, n-n == 0 }} {
				if err := net.GradSum(sum, params, batch, factor, nil, scratch); !errors.Is(err, nn.ErrNotFinite) {
					t.Errorf("%s: NaN in %v: error %v", c.name, l.Layer, err)
				}
			}
		}
		if err := net.GradSum(sum, w.params, batch, func(float64) (float64, bool) { return 0, false }, nil,
			scratch); !errors.Is(err, nn.ErrNotFinite) {
			t.Errorf("%s: every norm refused: error %v", c.name, err)
		}
	}
}

func TestNoAllocation(t *testing.T) {
	for _, c := range samples() {
		net := c.compile(t)
		w := c.drawn(net, 1)
		batch, scratch, sum, labels := w.batch(37), net.NewScratch(), make([]float64, net.NumParams()), make([]int32,
			37)
		factor := func(n float64) (float64, bool) { return min(1, 0.1/n), true }
		step := func() {
			for _, f := range []nn.Factor{factor, nil} {
				if err := net.GradSum(sum, w.params, batch, f, nil, scratch); err != nil {
					t.Fatal(err)
				}
			}
			net.Loss(w.params, batch, scratch)
			net.Predict(labels, w.params, batch, scratch)
		}
		if n := testing.AllocsPerRun(2, step); n != 0 { // after one step that is not counted
			t.Errorf("%s: %v allocations a step, want 0", c.name, n)
		}
	}
}
