package train

import (
	"context"
	"strings"
	"testing"

	"proactivedp/internal/cpu"
	"proactivedp/internal/f32"
	"proactivedp/models/modeltest"
	"proactivedp/nn"
	"proactivedp/sim"
)

// preciseSpec is a short training of the smallest model that matrix tiles are for.
func preciseSpec() Spec {
	s := DefaultSpec()
	s.Model, s.Clients, s.GradComps, s.SampleSize, s.NoiseMultiplier = ConvNet, 2, 40, "20", 1
	return s
}

// A precision is one of those there are, and of a model that matrix tiles are for.
func TestPrecisionIsChecked(t *testing.T) {
	s := preciseSpec()
	for model, precisions := range map[string]map[string]string{
		ConvNet: {"": "", "bf16x3": "", "bf16": `precision = "bf16", must be bf16x3`, "float32": "must be bf16x3"},
		LeNet:   {"": "", "bf16x3": "must not be given: it is only for alexnet, alexnet-dropout, convnet"},
		Ridge:   {"bf16x3": "must not be given"},
	} {
		for precision, want := range precisions {
			s.Model, s.Precision = model, precision
			if err := s.Validate(); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%s, %q: %v, want %q", model, precision, err, want)
			}
		}
	}
}

// Without matrix tiles a precision is refused, by what it needs; with them it gives other
// bits than the usual one, in the same place again, and a checkpoint of the one is not
// resumed in the other.
func TestPrecisionIsAnotherTraining(t *testing.T) {
	d := modeltest.Images(60, 1, 8, 8, 3)
	d.Train = 40
	source := NewSource(d)
	usual, precise := preciseSpec(), preciseSpec()
	precise.Precision = string(nn.BF16x3)
	restore, err := f32.Use(cpu.Portable)
	if err != nil {
		t.Fatal(err)
	}
	_, err = NewSource(d).Prepare(precise)
	restore()
	if err == nil || !strings.Contains(err.Error(), "kernels of class amx, but this machine uses those of class portable") {
		t.Errorf("without matrix tiles: %v", err)
	}
	if !f32.Tiled() {
		t.Skipf("no matrix tiles (AMX) here: the class of kernels is %v", f32.Kernels())
	}
	trained := func(s Spec) (string, identity) {
		p, err := source.Prepare(s)
		if err != nil {
			t.Fatal(err)
		}
		r, err := p.Train(context.Background(), sim.Perf{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return r.ParamsSHA256, p.identity()
	}
	a, from := trained(usual)
	b, now := trained(precise)
	if again, _ := trained(precise); a == b || again != b {
		t.Errorf("parameters %s, of bf16x3 %s and %s", a, b, again)
	}
	if err := now.goesOn(from); err == nil {
		t.Error("a checkpoint of the usual precision is resumed in bf16x3")
	}
}
