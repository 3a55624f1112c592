package nn_test

import (
	"math"
	"testing"

	"proactivedp/data"
	"proactivedp/internal/cpu"
	"proactivedp/internal/f32"
	"proactivedp/nn"
)

// An example whose convolution's derivatives cancel over the positions has no gradient
// there, but sums by matrix tiles are rounded to what they grow to on the way: so it is
// clipped as if it were M/24 long, M = Σ_p ‖δ_p‖‖(x_p, 1)‖, and in the other classes as it
// is. Here all of the gradient is that of the last layer's bias, ½ and −½.
func TestCancellingExampleIsClippedByWhatTilesAdd(t *testing.T) {
	const channels, size, m24, value = 64, 4, 10.0, 0.5
	net, err := nn.New(nn.Shape{Channels: 1, Height: size, Width: size}, nn.Conv{Out: channels, Kernel: 1, Stride: 1},
		nn.Conv{Out: channels, Kernel: 3, Stride: 1, Pad: 1}, nn.Dense{Out: 2})
	if err != nil {
		t.Fatal(err)
	}
	if _, sums, _ := net.TiledPaths(); sums != 1 {
		t.Fatalf("%d sums by matrix tiles, want 1", sums)
	}
	// The first layer copies the only number of the record to all channels; the second
	// has no weights; the third reads its rows 1 and 2 with opposite signs, under which
	// every tap of the second sees the same.
	params := make([]float32, net.NumParams())
	copies, _ := nn.Learner(net, 0, params)
	for i := range copies {
		copies[i] = 1
	}
	bound := 0.0 // M for δ of 1
	for x := range size {
		taps := 9
		if x == 0 || x == size-1 {
			taps = 6
		}
		bound += 2 * math.Sqrt(channels) * math.Sqrt(float64(channels*taps)*value*value+1)
	}
	delta := 24 * m24 / bound
	signs, _ := nn.Learner(net, 2, params)
	for i := range channels * size {
		at := i / size * size * size // of a channel of the second output
		signs[channels*size*size+at+size+i%size] = float32(2 * delta)
		signs[channels*size*size+at+2*size+i%size] = float32(-2 * delta)
	}
	d := &data.Dataset{Name: "constant", Features: size * size, Classes: 2, Label: []int32{1},
		Start: []int{0, size * size}}
	for i := range size * size {
		d.Index, d.Value = append(d.Index, int32(i)), append(d.Value, value)
	}
	b := data.Batch{Data: d, Rows: []int32{0}}
	for _, precision := range []nn.Precision{nn.Float32, nn.BF16x3} {
		net, err := net.WithPrecision(precision)
		if err != nil {
			t.Fatal(err)
		}
		for _, class := range f32.Classes() {
			restore, err := f32.Use(class)
			if err != nil {
				t.Fatal(err)
			}
			least, most := math.Sqrt(0.5), 2.0 // what Gram matrices may be off by is some thousandth of M
			if class == cpu.AMX {
				least = math.Hypot(least, m24)
				most = least * (1 + 5e-3)
			}
			const clip = 0.25
			seen := 0.0
			sum := gradSum(t, net, params, b, func(norm float64) (float64, bool) {
				seen = norm
				return min(1, clip/norm), true
			}, net.NewScratch())
			restore()
			if !(seen >= least*(1-1e-6) && seen <= most) {
				t.Errorf("precision %q, %v: the norm that is clipped is %.8g, must be in [%.8g, %.8g]", precision,
					class, seen, least, most)
			}
			_, bias := nn.Learner(net, 2, sum)
			want := 0.5 * clip / seen
			if math.Abs(bias[0]-want) > 1e-6*want || math.Abs(bias[1]+want) > 1e-6*want {
				t.Errorf("precision %q, %v: the bias gets %v, want ±%v", precision, class, bias, want)
			}
			if rest := norm(sum); rest > clip*(1+1e-6) {
				t.Errorf("precision %q, %v: a sum of norm %v, clipped to %v", precision, class, rest, clip)
			}
		}
	}
}

// In bfloat16, derivatives that cancel over the positions need not cancel when they are rounded: of
// 1 + 2^-8 + 2^-12, -(1 + 2^-8 - 2^-12) and -2^-11, the first becomes 1 + 2^-7 and the second -1. What is
// clipped is what is added: the rounded ones. Their sum is longer than what Gram matrices may be off by.
func TestCancellingExampleIsClippedAsRounded(t *testing.T) {
	const channels, size, scale, clip = 16, 4, 1024, 0.25
	net, err := nn.New(nn.Shape{Channels: 1, Height: size, Width: size}, nn.Conv{Out: channels, Kernel: 1, Stride: 1},
		nn.Conv{Out: channels, Kernel: 3, Stride: 1, Pad: 1}, nn.Dense{Out: 2})
	if err == nil {
		net, err = net.WithPrecision(nn.BF16)
	}
	if err != nil {
		t.Fatal(err)
	}
	// As above: the first layer copies, the second has no weights. Its positions in the middle, which
	// all taps of the kernel reach, get the derivatives as differences of two weights of the third.
	params := make([]float32, net.NumParams())
	copies, _ := nn.Learner(net, 0, params)
	for i := range copies {
		copies[i] = 1
	}
	weights, _ := nn.Learner(net, 2, params)
	first, second := weights[:len(weights)/2], weights[len(weights)/2:]
	for c := range channels {
		at := c*size*size + size + 1
		first[at], second[at] = scale, -scale*(0x1p-8+0x1p-12)
		first[at+size], second[at+size] = -scale, scale*(0x1p-8-0x1p-12)
		first[at+1] = -scale * 0x1p-11
	}
	d := &data.Dataset{Name: "constant", Features: size * size, Classes: 2, Label: []int32{0},
		Start: []int{0, size * size}}
	for i := range size * size {
		d.Index, d.Value = append(d.Index, int32(i)), append(d.Value, 1)
	}
	b := data.Batch{Data: d, Rows: []int32{0}}
	for _, class := range f32.Classes() {
		restore, err := f32.Use(class)
		if err != nil {
			t.Fatal(err)
		}
		sum := norm(gradSum(t, net, params, b, clipTo(clip), net.NewScratch()))
		restore()
		if sum > clip*(1+1e-6) || sum < 0.8*clip {
			t.Errorf("%v: a sum of norm %v, clipped to %v", class, sum, clip)
		}
	}
}

// Only the factors of products are rounded to bfloat16. The derivative of a tanh y is 1 - y², with y in float32. At
// 3.65625, this is 2^-8.6. It would be 0 if y, which is above 1 - 2^-9, were first rounded to 1.
func TestSaturatedTanhKeepsItsDerivative(t *testing.T) {
	const z, channels, size = 3.65625, 16, 4
	for _, layers := range [][]nn.Layer{
		{nn.Dense{Out: channels}, nn.Tanh{}, nn.Dense{Out: 2}},
		{nn.Conv{Out: channels, Kernel: 1, Stride: 1}, nn.Tanh{}, nn.Conv{Out: channels, Kernel: 3, Stride: 1, Pad: 1},
			nn.Dense{Out: 2}},
	} {
		net, err := nn.New(nn.Shape{Channels: 1, Height: size, Width: size}, layers...)
		if err != nil {
			t.Fatal(err)
		}
		bf16, err := net.WithPrecision(nn.BF16)
		if err != nil {
			t.Fatal(err)
		}
		params := make([]float32, net.NumParams())
		for i := range params {
			params[i] = 0x1p-6
		}
		weights, _ := nn.Learner(net, 0, params)
		for i := range weights {
			weights[i] = z * channels / float32(len(weights))
		}
		weights, _ = nn.Learner(net, len(layers)-2, params)
		for i := range weights[:len(weights)/2] {
			weights[i] *= -1
		}
		d := &data.Dataset{Name: "constant", Features: size * size, Classes: 2, Label: []int32{0},
			Start: []int{0, size * size}}
		for i := range size * size {
			d.Index, d.Value = append(d.Index, int32(i)), append(d.Value, 1)
		}
		b := data.Batch{Data: d, Rows: []int32{0}}
		want, _ := nn.Learner(net, 0, gradSum(t, net, params, b, nil, net.NewScratch()))
		got, _ := nn.Learner(bf16, 0, gradSum(t, bf16, params, b, nil, bf16.NewScratch()))
		if off := norm(minus(got, want)); off > 0.03*norm(want) {
			t.Errorf("%v: the first gradient is off by %.3g, of %.3g", layers, off, norm(want))
		}
	}
}
