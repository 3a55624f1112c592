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

// Only known precisions are accepted, and only for models that matrix tiles can compute.
func TestPrecisionIsChecked(t *testing.T) {
	s := preciseSpec()
	for model, precisions := range map[string]map[string]string{
		ConvNet: {"": "", "bf16x3": "", "bf16": "", "bf16x2": `precision = "bf16x2", must be bf16 or bf16x3`,
			"float32": "must be bf16 or"},
		MLP:   {"bf16": ""},
		LeNet: {"": "", "bf16": "must not be given: it is only for", "bf16x3": "must not be given: it is only for alexnet, alexnet-dropout, convnet"},
		Ridge: {"bf16x3": "must not be given"},
	} {
		for precision, want := range precisions {
			s.Model, s.Precision = model, precision
			if err := s.Validate(); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%s, %q: %v, want %q", model, precision, err, want)
			}
		}
	}
}

// A precision is refused by kernels that have no instructions for it, by what it needs. With them it gives
// other bits than the usual one, in the same place again, and a checkpoint of the one is not resumed in the
// other.
func TestPrecisionIsAnotherTraining(t *testing.T) {
	d := modeltest.Images(60, 1, 8, 8, 3)
	d.Train = 40
	source := NewSource(d)
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
	a, from := trained(preciseSpec())
	for _, c := range []struct {
		precision nn.Precision
		has       bool
		refused   string
	}{
		{nn.BF16, f32.BF16(), "AVX512-BF16, which this machine or its kernels of class portable do not have"},
		{nn.BF16x3, f32.Tiled(), "kernels of class amx, but this machine uses those of class portable"},
	} {
		precise := preciseSpec()
		precise.Precision = string(c.precision)
		restore, err := f32.Use(cpu.Portable)
		if err != nil {
			t.Fatal(err)
		}
		_, err = NewSource(d).Prepare(precise)
		restore()
		if err == nil || !strings.Contains(err.Error(), c.refused) {
			t.Errorf("%s without its instructions: %v", c.precision, err)
		}
		if !c.has {
			t.Logf("no instructions for %s here: the class of kernels is %v", c.precision, f32.Kernels())
			continue
		}
		b, now := trained(precise)
		if again, _ := trained(precise); a == b || again != b {
			t.Errorf("parameters %s, of %s %s and %s", a, c.precision, b, again)
		}
		if err := now.goesOn(from); err == nil {
			t.Errorf("a checkpoint of the usual precision is resumed in %s", c.precision)
		}
	}
}
