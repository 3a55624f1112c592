package lenet_test

import (
	"fmt"
	"testing"

	"proactivedp/data"
	"proactivedp/internal/cpu"
	"proactivedp/internal/f32"
	"proactivedp/models"
	"proactivedp/models/lenet"
	"proactivedp/models/modeltest"
)

func both() []*models.Network { return []*models.Network{lenet.New(), lenet.NewReLU()} }

func TestConform(t *testing.T) {
	if f32.Kernels() == cpu.Portable {
		t.Skip("takes a minute without vector instructions; package nn compares those kernels with a reference")
	}
	d := modeltest.Images(40, 1, 28, 28, 10)
	for _, m := range both() {
		t.Run(m.Name(), func(t *testing.T) {
			modeltest.Conform(t, modeltest.Case{Model: m, Data: d, GradTolerance: 2e-3})
		})
	}
}

func TestGradientsMeanTheseBits(t *testing.T) {
	d := modeltest.Images(100, 1, 28, 28, 10)
	modeltest.Golden(t, lenet.New(), d, "fd5f6da1fbc800ee")
	modeltest.Golden(t, lenet.NewReLU(), d, "a27b56fbb02a2d91")
}

// The table in the package's description, and what is known of LeNet-5: 61,706
// parameters.
func TestLayers(t *testing.T) {
	want := []struct {
		out             string
		params, forward int
	}{
		{"6×28×28", 156, 117_600}, {"6×14×14", 0, 0},
		{"16×10×10", 2_416, 240_000}, {"16×5×5", 0, 0},
		{"120", 48_120, 48_000}, {"84", 10_164, 10_080}, {"10", 850, 840},
	}
	for _, m := range both() {
		var forward, inputs, params, j int
		for _, l := range m.Net().Layers() {
			if l.Params == 0 && l.Layer.String() != "max pool" && l.Layer.String() != "average pool" {
				continue // an activation changes no shape
			}
			w := want[j]
			if l.Out.String() != w.out || l.Params != w.params || l.Forward != w.forward || l.Weights != w.forward {
				t.Errorf("%s: %v: %v, %d parameters, %d multiplications, want %v", m.Name(), l.Layer, l.Out, l.Params,
					l.Forward, w)
			}
			j++
			forward, inputs, params = forward+l.Forward, inputs+l.Inputs, params+l.Params
		}
		if params != 61_706 || m.NumParams() != params {
			t.Errorf("%s: %d parameters, of the layers %d, want 61706", m.Name(), m.NumParams(), params)
		}
		// The first convolution needs no derivative by its input.
		if forward != 416_520 || inputs != 416_520-117_600 || m.Net().FLOPs() != 2*(2*forward+inputs) {
			t.Errorf("%s: %d multiplications forward, %d for the inputs, %d FLOPs a step", m.Name(), forward, inputs,
				m.Net().FLOPs())
		}
	}
}

// BenchmarkDPStep is a step of private training of "lenet-relu", and as a variant
// of "lenet".
func BenchmarkDPStep(b *testing.B) {
	benchmarkSteps(b, func(b *testing.B, m *models.Network, d *data.Dataset, size int) {
		modeltest.BenchmarkStep(b, m, m.Net().FLOPs(), d, size)
	})
}

// BenchmarkPrivacy is what privacy adds to those steps.
func BenchmarkPrivacy(b *testing.B) {
	benchmarkSteps(b, func(b *testing.B, m *models.Network, d *data.Dataset, size int) {
		modeltest.BenchmarkPrivacy(b, m, d, size)
	})
}

func benchmarkSteps(b *testing.B, run func(b *testing.B, m *models.Network, d *data.Dataset, size int)) {
	d := modeltest.Images(2000, 1, 28, 28, 10)
	for _, c := range []struct {
		variant string
		m       *models.Network
	}{{"", lenet.NewReLU()}, {"variant=classic/", lenet.New()}} {
		for _, size := range []int{26, 370, 1409} {
			b.Run(fmt.Sprintf("%sbatch=%d", c.variant, size), func(b *testing.B) { run(b, c.m, d, size) })
		}
	}
}
