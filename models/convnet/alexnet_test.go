package convnet

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"proactivedp/data"
	"proactivedp/internal/cpu"
	"proactivedp/internal/f32"
	"proactivedp/models"
	"proactivedp/models/modeltest"
	"proactivedp/nn"
	"proactivedp/rng"
)

// The whole contract, on the same layers with fewer channels: 4 and 64 times
// thinner is as thin as the paths of the full network allow.
func TestConform(t *testing.T) {
	if f32.Kernels() == cpu.Portable {
		t.Skip("takes a minute without vector instructions; package nn compares those kernels with a reference")
	}
	d := modeltest.Images(40, 3, 32, 32, 10)
	modeltest.Conform(t, modeltest.Case{Model: thin(), Data: d, GradTolerance: 5e-3})
}

// The same in bf16x3, whose products are off by more: the sensitivity of its sums holds
// all the same.
func TestConformInBF16x3(t *testing.T) {
	if !f32.Tiled() {
		t.Skipf("no matrix tiles (AMX) here: the class of kernels is %v", f32.Kernels())
	}
	m, err := thin().WithPrecision(nn.BF16x3)
	if err != nil {
		t.Fatal(err)
	}
	d := modeltest.Images(40, 3, 32, 32, 10)
	modeltest.Conform(t, modeltest.Case{Model: m, Data: d, GradTolerance: 5e-3})
}

// The contract in bfloat16, where the norm and the sum are of the same rounded numbers. It is that of the small
// network: package nn compares all layers in bfloat16 with a reference.
func TestConformInBF16(t *testing.T) {
	if !f32.BF16() {
		t.Skipf("no products of bfloat16 (AVX512-BF16) here: the class of kernels is %v", f32.Kernels())
	}
	exact := must(New(nn.Shape{Channels: 3, Height: 12, Width: 12}, 10))
	m, err := exact.WithPrecision(nn.BF16)
	if err != nil {
		t.Fatal(err)
	}
	d := modeltest.Images(40, 3, 12, 12, 10)
	modeltest.Conform(t, modeltest.Case{Model: m, Data: d, GradTolerance: 0.1, Exact: exact})
}

func TestGradientsMeanTheseBits(t *testing.T) {
	d := modeltest.Images(70, 3, 32, 32, 10)
	modeltest.Golden(t, thin(), d, "817b8c3a956169bf", "9fab7d975761bb76")
}

// The table in the package's description: 23,272,266 parameters.
func TestLayers(t *testing.T) {
	want := []struct {
		out             string
		params, forward int
	}{
		{"64×16×16", 1_792, 442_368}, {"192×8×8", 110_784, 7_077_888},
		{"384×4×4", 663_936, 10_616_832}, {"256×4×4", 884_992, 14_155_776}, {"256×4×4", 590_080, 9_437_184},
		{"4096", 4_198_400, 4_194_304}, {"4096", 16_781_312, 16_777_216}, {"10", 40_970, 40_960},
	}
	for _, m := range []*models.Network{AlexNet(), AlexNetDropout()} {
		i, params, pooled := 0, 0, nn.Shape{}
		for _, l := range m.Net().Layers() {
			if l.Layer == (nn.MaxPool{}) {
				pooled = l.Out
			}
			if l.Params == 0 {
				continue
			}
			if w := want[i]; l.Out.String() != w.out || l.Params != w.params || l.Forward != w.forward {
				t.Errorf("%s: %v: %v, %d parameters, %d multiplications, want %v", m.Name(), l.Layer, l.Out, l.Params,
					l.Forward, w)
			}
			i, params = i+1, params+l.Params
		}
		if i != len(want) || params != 23_272_266 || m.NumParams() != params {
			t.Errorf("%s: %d layers, %d parameters, want 8 and 23272266", m.Name(), i, m.NumParams())
		}
		if pooled.Size() != 1024 {
			t.Errorf("%s: the dense layers see %v, want 1024 features", m.Name(), pooled)
		}
	}
}

// One step at full size: a clipped gradient's norm is at most a thousandth below the bound,
// and dropout moves it only if there is a stream.
func TestFullSize(t *testing.T) {
	if testing.Short() || f32.Kernels() == cpu.Portable {
		t.Skip("23 million parameters")
	}
	m := AlexNetDropout()
	params, sum := make([]float32, m.NumParams()), make([]float32, m.NumParams())
	m.Init(params, rng.New(1).Stream(rng.Init, 0, 0))
	b := data.Batch{Data: modeltest.Images(3, 3, 32, 32, 10), Rows: []int32{2}}
	scratch := m.NewScratch()
	const clip = 0.025
	gradient := func(s *rng.Stream) []float32 {
		m.Draw(scratch, s)
		if err := m.ClippedGradSum(sum, params, b, clip, scratch); err != nil {
			t.Fatal(err)
		}
		norm := 0.0
		for _, v := range sum {
			norm += float64(v) * float64(v)
		}
		if norm = math.Sqrt(norm); norm > clip || norm < clip*(1-1e-3) {
			t.Errorf("norm %.9g, want just below %v", norm, clip)
		}
		return slices.Clone(sum[len(sum)-10:])
	}
	root := rng.New(2)
	plain, one, same, other := gradient(nil), gradient(root.Stream(rng.Noise, 0, 0)),
		gradient(root.Stream(rng.Noise, 0, 0)), gradient(root.Stream(rng.Noise, 0, 1))
	if slices.Equal(plain, one) || slices.Equal(one, other) || !slices.Equal(one, same) ||
		!slices.Equal(plain, gradient(nil)) {
		t.Error("dropout is not a function of its stream")
	}
	params[0] = float32(math.NaN())
	if err := m.ClippedGradSum(sum, params, b, math.Inf(1), scratch); !errors.Is(err, models.ErrDiverged) {
		t.Errorf("a NaN in the parameters: error %v", err)
	}
}

// BenchmarkDPStep is the private step.
func BenchmarkDPStep(b *testing.B) { benchmarkSteps(b, AlexNet()) }

// BenchmarkPrivacy is what privacy adds to a step.
func BenchmarkPrivacy(b *testing.B) {
	m, d := AlexNet(), modeltest.Images(500, 3, 32, 32, 10)
	for _, size := range sizes {
		b.Run(fmt.Sprintf("batch=%d", size), func(b *testing.B) { modeltest.BenchmarkPrivacy(b, m, d, size) })
	}
}

// BenchmarkBF16Step is the private step in bfloat16.
func BenchmarkBF16Step(b *testing.B) {
	if !f32.BF16() {
		b.Skipf("no products of bfloat16 (AVX512-BF16) here: the class of kernels is %v", f32.Kernels())
	}
	m, err := AlexNet().WithPrecision(nn.BF16)
	if err != nil {
		b.Fatal(err)
	}
	benchmarkSteps(b, m)
}

// BenchmarkBF16x3Step is the private step in bf16x3, on matrix tiles.
func BenchmarkBF16x3Step(b *testing.B) {
	if !f32.Tiled() {
		b.Skipf("no matrix tiles (AMX) here: the class of kernels is %v", f32.Kernels())
	}
	m, err := AlexNet().WithPrecision(nn.BF16x3)
	if err != nil {
		b.Fatal(err)
	}
	benchmarkSteps(b, m)
}

// sizes are the batches that are measured.
var sizes = []int{64, 256}

func benchmarkSteps(b *testing.B, m *models.Network) {
	d := modeltest.Images(500, 3, 32, 32, 10)
	for _, size := range sizes {
		b.Run(fmt.Sprintf("batch=%d", size), func(b *testing.B) {
			modeltest.BenchmarkStep(b, m, m.Net().FLOPs(), d, size)
		})
	}
}

// thin is AlexNet with narrow layers.
func thin() *models.Network { return must(buildAlexNet("thin", objects, 10, 4, 64)) }
