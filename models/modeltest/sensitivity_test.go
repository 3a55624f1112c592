package modeltest

import (
	"errors"
	"math"
	"testing"

	"proactivedp/data"
	"proactivedp/models"
	"proactivedp/rng"
)

// planted is a model whose gradients are the rows, turned by the label, with a way to
// add them that may be wrong.
type planted struct {
	features int
	add      func(sum []float64, gradients [][]float64, clip float64)
}

func (m planted) Name() string                         { return "planted" }
func (m planted) NumParams() int                       { return m.features }
func (m planted) Init(params []float32, _ *rng.Stream) { clear(params) }
func (m planted) NewScratch() models.Scratch           { return nil }
func (m planted) Shade() float64                       { return 0 }

func (m planted) Loss([]float32, data.Batch, models.Scratch) float64     { return 0 }
func (m planted) Predict([]int32, []float32, data.Batch, models.Scratch) {}
func (m planted) ClippedGradSum(_, _ []float32, _ data.Batch, _ float64, _ models.Scratch) error {
	return errors.New("not used")
}

func (m planted) WideGradSum(sum []float64, _ []float32, b data.Batch, clip float64, _ models.Scratch) error {
	clear(sum)
	var gradients [][]float64
	for i := range b.Rows {
		row, label := b.Example(i)
		g, norm2 := make([]float64, m.features), 0.0
		for j, c := range row.Index {
			g[c] = float64(row.Value[j]) * float64(1-2*label)
			norm2 += g[c] * g[c]
		}
		factor, ok := models.ClipFactor(math.Sqrt(norm2), clip)
		if !ok {
			return models.ErrDiverged
		}
		for j := range g {
			g[j] *= factor
		}
		gradients = append(gradients, g)
	}
	m.add(sum, gradients, clip)
	return nil
}

// The attack finds sums in float32, and by one or by blocks of ranks, gradients that are
// clipped too little, and such that depend on the others; and nothing in sums in float64.
func TestAttackFindsFaults(t *testing.T) {
	inFloat64 := func(sum []float64, gradients [][]float64, _ float64) {
		for _, g := range gradients {
			for j, v := range g {
				sum[j] += v
			}
		}
	}
	inFloat32 := func(sum []float64, gradients [][]float64, _ float64) {
		narrow := make([]float32, len(sum))
		for _, g := range gradients {
			for j, v := range g {
				narrow[j] += float32(v)
			}
		}
		for j, v := range narrow {
			sum[j] += float64(v)
		}
	}
	for _, c := range []struct {
		name  string
		add   func(sum []float64, gradients [][]float64, clip float64)
		found bool
	}{
		{"float64", inFloat64, false},
		{"float32", inFloat32, true},
		{"float32 by ranks", func(sum []float64, gradients [][]float64, clip float64) {
			for ; len(gradients) > 0; gradients = gradients[min(64, len(gradients)):] {
				inFloat32(sum, gradients[:min(64, len(gradients))], clip)
			}
		}, true},
		{"a millionth above C", func(sum []float64, gradients [][]float64, clip float64) {
			inFloat64(sum, gradients, clip)
			for j := range sum {
				sum[j] *= 1 + 1e-6
			}
		}, true},
		{"by the batch's size", func(sum []float64, gradients [][]float64, clip float64) {
			inFloat64(sum, gradients, clip)
			for j := range sum {
				sum[j] *= 1 + 0.1/float64(len(gradients))
			}
		}, true},
	} {
		d := drawn(100, 23)
		k := Case{Model: planted{d.Features, c.add}, Data: d}
		worst, err := k.worstChange(k.Model.(models.Bounded))
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %.9f·C removed, %.9f·C replaced", c.name, worst.removed.by, worst.replaced.by)
		if found := worst.removed.by > 1 || worst.replaced.by > 2; found != c.found {
			t.Errorf("%s: a record moves the sum by %.9f·C (%s), a replaced one by %.9f·C", c.name, worst.removed.by,
				worst.removed.where, worst.replaced.by)
		}
	}
}

// drawn is a data set of sparse rows.
func drawn(n, features int) *data.Dataset {
	s := rng.New(1).Stream(rng.Synthetic, 0, 0)
	d := &data.Dataset{Name: "drawn", Features: features, Classes: 2, Start: []int{0}}
	for range n {
		for c := range features {
			if s.IntN(3) == 0 {
				d.Index, d.Value = append(d.Index, int32(c)), append(d.Value, float32(s.Normal()))
			}
		}
		d.Start, d.Label = append(d.Start, len(d.Index)), append(d.Label, int32(s.IntN(2)))
	}
	return d
}

// Drawn images are valid, of however many channels, each normalised in its own way.
func TestImagesAreValid(t *testing.T) {
	for _, channels := range []int{1, 3, 15, 16, 64} {
		d := Images(40, channels, 2, 3, 4)
		if err := d.Validate(); err != nil {
			t.Errorf("%d channels: %v", channels, err)
		}
		seen := map[[2]float32]bool{}
		for c, mean := range d.Images.Mean {
			seen[[2]float32{mean, d.Images.Std[c]}] = true
		}
		if len(seen) != channels {
			t.Errorf("%d channels are normalised in %d ways", channels, len(seen))
		}
	}
}
