package convnet_test

import (
	"fmt"
	"strings"
	"testing"

	"proactivedp/internal/cpu"
	"proactivedp/internal/f32"
	"proactivedp/models"
	"proactivedp/models/convnet"
	"proactivedp/models/modeltest"
	"proactivedp/nn"
)

var (
	colour = nn.Shape{Channels: 3, Height: 32, Width: 32}
	grey   = nn.Shape{Channels: 1, Height: 28, Width: 28}
)

func newNet(t testing.TB, in nn.Shape) *models.Network {
	t.Helper()
	m, err := convnet.New(in, 10)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestConform(t *testing.T) {
	if f32.Kernels() == cpu.Portable {
		t.Skip("takes a minute without vector instructions; package nn compares those kernels with a reference")
	}
	// The layers are the same on small images, where the largest of the test's parameters leave
	// gradients that are not all but 0.
	m := newNet(t, nn.Shape{Channels: 3, Height: 12, Width: 12})
	modeltest.Conform(t, modeltest.Case{Model: m, Data: modeltest.Images(40, 3, 12, 12, 10), GradTolerance: 2e-3})
}

func TestGradientsMeanTheseBits(t *testing.T) {
	modeltest.Golden(t, newNet(t, colour), modeltest.Images(100, 3, 32, 32, 10), "20ddbc546683291a", "2db21d8494a3f1a4")
	modeltest.Golden(t, newNet(t, grey), modeltest.Images(100, 1, 28, 28, 10), "7dcf19f09dc84f8b", "06462fa71952cfe6")
}

// The table in the package's description.
func TestLayers(t *testing.T) {
	want := []string{
		"16×32×32 448 442368", "16×16×16 0 0", "32×16×16 4640 1179648", "32×8×8 0 0", "64×8×8 18496 1179648",
		"10 40970 40960",
	}
	m := newNet(t, colour)
	for _, l := range m.Net().Layers() {
		if l.Layer.String() == "tanh" {
			continue // an activation changes no shape
		}
		if got := fmt.Sprintf("%v %d %d", l.Out, l.Params, l.Forward); got != want[0] {
			t.Errorf("%v: %s, want %s", l.Layer, got, want[0])
		}
		want = want[1:]
	}
	if m.NumParams() != 64_554 || newNet(t, grey).NumParams() != 54_666 {
		t.Errorf("%d parameters, and %d for grey images", m.NumParams(), newNet(t, grey).NumParams())
	}
}

func TestShapesThatDoNotHalveTwice(t *testing.T) {
	_, err := convnet.New(nn.Shape{Channels: 1, Height: 30, Width: 32}, 10)
	if err == nil || !strings.Contains(err.Error(), "layer 6 (average pool)") {
		t.Errorf("error %v, want one that names the layer", err)
	}
}

// BenchmarkDPStep is a step of private training.
func BenchmarkDPStep(b *testing.B) {
	m, d := newNet(b, colour), modeltest.Images(2000, 3, 32, 32, 10)
	for _, size := range []int{43, 689} {
		b.Run(fmt.Sprintf("batch=%d", size), func(b *testing.B) {
			modeltest.BenchmarkStep(b, m, m.Net().FLOPs(), d, size)
		})
	}
}
