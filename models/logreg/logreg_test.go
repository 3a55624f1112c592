package logreg_test

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"testing"

	"proactivedp/data"
	"proactivedp/internal/f32"
	"proactivedp/models"
	"proactivedp/models/logreg"
	"proactivedp/models/modeltest"
	"proactivedp/rng"
)

// rows draws a sparse data set of two classes.
func rows(n, features int) *data.Dataset {
	s := rng.New(1).Stream(rng.Synthetic, 0, 0)
	d := &data.Dataset{Name: "drawn", Features: features, Classes: 2, Start: []int{0}}
	for range n {
		for c := range features {
			if s.IntN(3) == 0 {
				d.Index = append(d.Index, int32(c))
				d.Value = append(d.Value, float32(s.Normal()))
			}
		}
		d.Start = append(d.Start, len(d.Index))
		d.Label = append(d.Label, int32(s.IntN(2)))
	}
	return d
}

func both(t *testing.T, features int) []*logreg.Model {
	t.Helper()
	ridge, err := logreg.NewRidge(features, 0.01)
	if err != nil {
		t.Fatal(err)
	}
	plain, err := logreg.NewPlain(features)
	if err != nil {
		t.Fatal(err)
	}
	return []*logreg.Model{ridge, plain}
}

func TestConform(t *testing.T) {
	d := rows(400, 23)
	if err := d.Validate(); err != nil {
		t.Fatal(err)
	}
	for _, m := range both(t, d.Features) {
		t.Run(m.Name(), func(t *testing.T) {
			modeltest.Conform(t, modeltest.Case{Model: m, Data: d, GradTolerance: 2e-4})
		})
	}
}

// The gradient by hand: at w̄ = 0 it is (1/2 - y)·x̄, the ridge term vanishes.
func TestGradientAtZero(t *testing.T) {
	d := &data.Dataset{
		Features: 3, Classes: 2, Label: []int32{1, 0}, Start: []int{0, 2, 3},
		Index: []int32{0, 2, 1}, Value: []float32{2, -4, 6},
	}
	for _, m := range both(t, 3) {
		g := make([]float32, 4)
		all := data.Batch{Data: d, Rows: []int32{0, 1}}
		if err := m.ClippedGradSum(g, make([]float32, 4), all, math.Inf(1), nil); err != nil {
			t.Fatal(err)
		}
		if got, want := fmt.Sprint(g), "[-1 3 2 0]"; got != want {
			t.Errorf("%s: gradient %s, want %s", m.Name(), got, want)
		}
	}
}

// λw̄ is part of each example's gradient, bias included, inside the clip.
func TestRidgeIsInsideTheClip(t *testing.T) {
	d := &data.Dataset{Features: 1, Classes: 2, Label: []int32{1}, Start: []int{0, 1}, Index: []int32{0},
		Value: []float32{0}}
	m, err := logreg.NewRidge(1, 0.5)
	if err != nil {
		t.Fatal(err)
	}
	g := make([]float32, 2)
	w := []float32{8, 40} // p ≈ 1 = y, so the gradient is λw̄ alone
	b := data.Batch{Data: d, Rows: []int32{0}}
	if err := m.ClippedGradSum(g, w, b, math.Inf(1), nil); err != nil {
		t.Fatal(err)
	}
	if g[0] != 4 || g[1] != 20 {
		t.Errorf("unclipped gradient %v, want λw̄ = [4 20]", g)
	}
	if err := m.ClippedGradSum(g, w, b, 0.1, nil); err != nil {
		t.Fatal(err)
	}
	if n := math.Hypot(float64(g[0]), float64(g[1])); n > 0.1 || n < 0.0999 {
		t.Errorf("clipped norm %v, want just below 0.1", n)
	}
}

// Golden: sums of gradients are these bits in every class of kernels, of rows that are
// kept dense and of sparse ones. Where a change moves them, raise train.Spec.CodeVersion.
func TestKernelsGiveTheseBits(t *testing.T) {
	for _, c := range []struct {
		features int
		want     string
	}{{68, "af412c7e02cb3db2"}, {500, "82b662413eef4c21"}} {
		d := rows(300, 23)
		d.Features = c.features
		hash := sha256.New()
		for _, class := range f32.Classes() {
			restore, err := f32.Use(class)
			if err != nil {
				t.Fatal(err)
			}
			hash.Reset()
			for _, m := range both(t, c.features) {
				w := make([]float32, m.NumParams())
				for i := range w {
					w[i] = float32(i%11)/8 - 0.5
				}
				for _, clip := range []float64{1e-3, 1, math.Inf(1)} {
					if err := binary.Write(hash, binary.LittleEndian, sumOf(t, m, w, d, clip, -1)); err != nil {
						t.Fatal(err)
					}
				}
			}
			restore()
			if got := hex.EncodeToString(hash.Sum(nil)[:8]); got != c.want {
				t.Errorf("%d features, %v: the sums hash to %s, want %s", c.features, class, got, c.want)
			}
		}
	}
}

// σ(z) − y does not lose its digits where σ(z) is near y, and Loss and Predict agree
// with it at the ends.
func TestResidualKeepsItsDigits(t *testing.T) {
	m, err := logreg.NewPlain(1)
	if err != nil {
		t.Fatal(err)
	}
	for _, z := range []float64{-700, -40, -1e-9, 0, 1e-9, 2, 40, 700, 1e9} {
		for label := range int32(2) {
			d := &data.Dataset{Features: 1, Classes: 2, Label: []int32{label}, Start: []int{0, 1}, Index: []int32{0},
				Value: []float32{1}}
			sum, w := make([]float64, 2), []float32{float32(z), 0}
			if err := m.WideGradSum(sum, w, data.Batch{Data: d, Rows: []int32{0}}, math.Inf(1), nil); err != nil {
				t.Fatal(err)
			}
			x := float64(w[0])
			want := 1 / (1 + math.Exp(-x))
			if label == 1 {
				want = -1 / (1 + math.Exp(x))
			}
			if math.Abs(sum[0]-want) > 1e-15*math.Abs(want) && math.Abs(x) < 708 || sum[1] != sum[0] {
				t.Errorf("z = %v, y = %d: %v, want %v", z, label, sum, want)
			}
		}
	}
}

// Parameters that are not finite are found though no row meets them.
func TestParametersThatAreNotFinite(t *testing.T) {
	d := &data.Dataset{Features: 2, Classes: 2, Label: []int32{1}, Start: []int{0, 1}, Index: []int32{0},
		Value: []float32{1}}
	b := data.Batch{Data: d, Rows: []int32{0}}
	for _, m := range both(t, 2) {
		for _, v := range []float64{math.NaN(), math.Inf(1)} {
			err := m.WideGradSum(make([]float64, 3), []float32{0, float32(v), 0}, b, 1, nil)
			if !errors.Is(err, models.ErrDiverged) {
				t.Errorf("%s, a parameter of %v: error %v, want ErrDiverged", m.Name(), v, err)
			}
		}
	}
}

func TestBadArguments(t *testing.T) {
	d := rows(3, 3)
	for _, m := range both(t, 3) {
		for _, clip := range []float64{0, -1, math.NaN()} {
			b := data.Batch{Data: d, Rows: []int32{0}}
			if err := m.WideGradSum(make([]float64, 4), make([]float32, 4), b, clip, nil); err == nil {
				t.Errorf("%s: a clipping norm of %v was accepted", m.Name(), clip)
			}
		}
	}
	for _, lambda := range []float64{0, -1, math.NaN(), math.Inf(1)} {
		if _, err := logreg.NewRidge(3, lambda); err == nil {
			t.Errorf("λ = %v was accepted", lambda)
		}
	}
	for _, features := range []int{-1, 0, 1 << 32, math.MaxInt} {
		if m, err := logreg.NewPlain(features); err == nil {
			t.Errorf("%d features were accepted, with a shade of %v", features, m.Shade())
		}
	}
}

func BenchmarkGradSum(b *testing.B) {
	d := rows(5000, 68)
	m, err := logreg.NewRidge(68, 1e-4)
	if err != nil {
		b.Fatal(err)
	}
	for _, size := range []int{1, 26} {
		b.Run(fmt.Sprintf("s=%d", size), func(b *testing.B) {
			b.ReportAllocs()
			batch := data.Batch{Data: d, Rows: make([]int32, size)}
			s := rng.New(1).Stream(rng.Sampling, 0, 0)
			for i := range batch.Rows {
				batch.Rows[i] = int32(s.IntN(d.Len()))
			}
			var model models.Bounded = m
			sum, w, scratch := make([]float64, 69), make([]float32, 69), m.NewScratch()
			for b.Loop() {
				if err := model.WideGradSum(sum, w, batch, 0.1, scratch); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
