package softmax_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"proactivedp/data"
	"proactivedp/dp"
	"proactivedp/models"
	"proactivedp/models/modeltest"
	"proactivedp/models/softmax"
	"proactivedp/nn"
	"proactivedp/rng"
)

func newModel(t testing.TB, features, classes int) *softmax.Model {
	t.Helper()
	m, err := softmax.New(features, classes)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestConform(t *testing.T) {
	sparse, dense := modeltest.Rows(t, 400, 23, 4)
	two, _ := modeltest.Rows(t, 400, 23, 2)
	for _, c := range []struct {
		name string
		d    *data.Dataset
	}{
		{"sparse", sparse}, {"dense", dense}, {"two classes", two}, {"pixels", modeltest.Images(60, 2, 5, 4, 3)},
	} {
		t.Run(c.name, func(t *testing.T) {
			if err := c.d.Validate(); err != nil {
				t.Fatal(err)
			}
			m := newModel(t, c.d.Features, c.d.Classes)
			modeltest.Conform(t, modeltest.Case{Model: m, Data: c.d, GradTolerance: 5e-4})
		})
	}
}

func TestGradientsMeanTheseBits(t *testing.T) {
	_, dense := modeltest.Rows(t, 400, 23, 4)
	modeltest.Golden(t, newModel(t, 23, 4), dense, "c1d2a8fdd44b514d")
	modeltest.Golden(t, newModel(t, 40, 3), modeltest.Images(60, 2, 5, 4, 3), "dfb904175acd80c7")
}

// The gradient by hand: at w = 0 it is (1/k − 1) times the row for its own of k classes,
// and 1/k times it for the others.
func TestGradientAtZero(t *testing.T) {
	d, err := data.FromRows("one", [][]float32{{8, 0, -4}}, []int32{1})
	if err != nil {
		t.Fatal(err)
	}
	m, g := newModel(t, 3, 4), make([]float32, 16)
	one := data.Batch{Data: d, Rows: []int32{0}}
	if err := m.ClippedGradSum(g, make([]float32, 16), one, math.Inf(1), m.NewScratch()); err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprint(g), "[2 0 -1 -6 0 3 2 0 -1 2 0 -1 0.25 -0.75 0.25 0.25]"; got != want {
		t.Errorf("gradient %s, want %s", got, want)
	}
}

func sumOf(t testing.TB, m *softmax.Model, w []float32, b data.Batch, clip float64) []float64 {
	t.Helper()
	sum := make([]float64, m.NumParams())
	if err := m.WideGradSum(sum, w, b, clip, m.NewScratch()); err != nil {
		t.Fatal(err)
	}
	return sum
}

func all(d *data.Dataset) data.Batch { return d.All().All() }

func drawn(n int, scale float64) []float32 {
	s, w := rng.New(2).Stream(rng.Init, 0, 0), make([]float32, n)
	for i := range w {
		w[i] = float32(scale * s.Normal())
	}
	return w
}

// Sparse rows, dense ones and pixels are one model: what a network's input makes of
// pixels, as rows, gives the gradients of the pixels.
func TestRowsAndPixelsAreAlike(t *testing.T) {
	near := func(what string, x, y []float64) {
		t.Helper()
		for i := range x {
			if math.Abs(x[i]-y[i]) > 1e-5 {
				t.Fatalf("%s: coordinate %d is %v and %v", what, i, x[i], y[i])
			}
		}
	}
	sparse, dense := modeltest.Rows(t, 50, 23, 4)
	m := newModel(t, 23, 4)
	w := drawn(m.NumParams(), 1)
	near("sparse and dense rows", sumOf(t, m, w, all(sparse), 0.7), sumOf(t, m, w, all(dense), 0.7))

	images := modeltest.Images(50, 3, 4, 4, 5)
	pixels := make([]float32, 0, 50*48)
	for i := range 50 {
		for j, p := range images.Images.Image(i) {
			c := j / 16
			pixels = append(pixels, (float32(p)/255-images.Images.Mean[c])/images.Images.Std[c])
		}
	}
	m = newModel(t, 48, 5)
	w = drawn(m.NumParams(), 0.3)
	near("pixels and rows", sumOf(t, m, w, all(images), 0.7), sumOf(t, m, w, all(images.WithDense(48, pixels)), 0.7))

	net, err := nn.New(nn.Shape{Channels: 3, Height: 4, Width: 4}, nn.Dense{Out: 5})
	if err != nil {
		t.Fatal(err)
	}
	network := models.NewNetwork("linear", net)
	want := make([]float64, m.NumParams())
	if err := network.WideGradSum(want, w, all(images), math.Inf(1), network.NewScratch()); err != nil {
		t.Fatal(err)
	}
	got := sumOf(t, m, w, all(images), math.Inf(1))
	for i := range got { // unclipped: 50 gradients of about 10
		if math.Abs(got[i]-want[i]) > 1e-3 {
			t.Fatalf("coordinate %d of a network of one dense layer is %v, of softmax regression %v", i, want[i],
				got[i])
		}
	}
}

// The logits rank the examples of two classes.
func TestLogitsRankTwoClasses(t *testing.T) {
	d, err := data.FromRows("line", [][]float32{{-2}, {-1}, {1}, {3}}, []int32{0, 0, 1, 1})
	if err != nil {
		t.Fatal(err)
	}
	m, logits := newModel(t, 1, 2), make([]float64, 8)
	w := []float32{-1, 1, 0.25, 0} // w₀, w₁, b₀, b₁
	m.Logits(logits, w, all(d), m.NewScratch())
	if want := []float64{2.25, -2, 1.25, -1, -0.75, 1, -2.75, 3}; !slices.Equal(logits, want) {
		t.Errorf("logits %v, want %v", logits, want)
	}
	if area := models.Evaluate(m, w, all(d), m.NewScratch()).AUC; area == nil || *area != 1 {
		t.Errorf("AUC %v, want 1", area)
	}
}

// An example that is certain has a gradient of its own class's weights to float64's
// precision and not to that of 1 − p, which is 0.
func TestResidualOfACertainExample(t *testing.T) {
	d, err := data.FromRows("certain", [][]float32{{1}}, []int32{0})
	if err != nil {
		t.Fatal(err)
	}
	m := newModel(t, 1, 2)
	g := sumOf(t, m, []float32{50, 0, 0, 0}, all(d), math.Inf(1))
	if want := -math.Exp(-50); math.Abs(g[0]/want-1) > 1e-12 {
		t.Errorf("derivative %v, want %v", g[0], want)
	}
}

func TestBadArguments(t *testing.T) {
	for _, c := range [][2]int{{0, 2}, {-1, 2}, {3, 1}, {1 << 31, 2}, {math.MaxInt, 2}, {1, math.MaxInt}} {
		if _, err := softmax.New(c[0], c[1]); err == nil {
			t.Errorf("%d features in %d classes were accepted", c[0], c[1])
		}
	}
	sparse, _ := modeltest.Rows(t, 50, 23, 4)
	for _, m := range []*softmax.Model{newModel(t, 22, 4), newModel(t, 23, 3), newModel(t, 23, 5)} {
		if m.Check(sparse) == nil {
			t.Error("data with more features than the model, or other classes, passes")
		}
	}
	b := data.Batch{Data: sparse, Rows: make([]int32, models.MaxSample+1)}
	m := newModel(t, 23, 4)
	if err := m.WideGradSum(make([]float64, 96), make([]float32, 96), b, 1, m.NewScratch()); err == nil {
		t.Error("a sample of unbounded rounding was accepted")
	}
}

// The bound on rounding holds for rows as feature maps make them: thousands of features, norms near
// 70, and a clipping norm so small that every gradient is clipped. Without a record the sum moves by
// at most C, and by exactly what the record adds to none.
func TestSensitivityOfFeatureMaps(t *testing.T) {
	const features, classes, n, clip = 7776, 10, 40, 0.1
	s, value := rng.New(4).Stream(rng.Init, 0, 0), make([]float32, n*features)
	for i := range value {
		value[i] = float32(70 / math.Sqrt(features) * s.Normal())
	}
	d := &data.Dataset{Name: "features", Classes: classes, Label: make([]int32, n)}
	for i := range d.Label {
		d.Label[i] = int32(i % classes)
	}
	d = d.WithDense(features, value)
	m := newModel(t, features, classes)
	if m.Shade() > 1e-5 {
		t.Errorf("shade %v, want at most 1e-5", m.Shade())
	}
	w := drawn(m.NumParams(), 0.01)
	whole := sumOf(t, m, w, all(d), clip)
	for removed := 0; removed < n; removed += 7 {
		rows := slices.Delete(slices.Clone(all(d).Rows), removed, removed+1)
		without := sumOf(t, m, w, data.Batch{Data: d, Rows: rows}, clip)
		one := sumOf(t, m, w, data.Batch{Data: d, Rows: []int32{int32(removed)}}, clip)
		squares := 0.0
		for j, x := range whole {
			if x-without[j] != one[j] {
				t.Fatalf("record %d, coordinate %d: adds %v to none and %v to the others", removed, j, one[j], x-without[j])
			}
			squares += one[j] * one[j]
		}
		if moved := math.Sqrt(squares) / clip; moved > 1 || moved < 1-1e-5 {
			t.Errorf("without record %d the sum moves by %.9g·C, must be at most C and nearly C", removed, moved)
		}
	}
}

// FuzzSensitivity takes rows, parameters and a clipping norm from the fuzzer: without a
// record the sum moves by at most C, and by exactly what the record adds to none (a
// models.Grid), or the model says that it has diverged.
func FuzzSensitivity(f *testing.F) {
	f.Add([]byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}, 0.1, 1.0)
	f.Add([]byte{0xff, 0xff, 0x7f, 0x7f, 0, 0, 0x80, 0x3f, 1, 0, 0, 0, 0, 0, 0x80, 0x3f, 0, 0, 0x80, 0xbf}, 1e-30, 1e3)
	f.Fuzz(func(t *testing.T, text []byte, clip, scale float64) {
		const features, classes = 2, 3
		var value []float32
		for ; len(text) >= 4 && len(value) < 200; text = text[4:] {
			v := math.Float32frombits(binary.LittleEndian.Uint32(text))
			if v-v != 0 {
				t.Skip()
			}
			value = append(value, v)
		}
		n := len(value) / features
		if n < 1 || !(clip >= dp.MinScale && clip <= dp.MaxScale) || !(math.Abs(scale) <= 1e30) {
			t.Skip()
		}
		d := &data.Dataset{Name: "fuzzed", Classes: classes, Label: make([]int32, n)}
		for i := range d.Label {
			d.Label[i] = int32(i % classes)
		}
		d = d.WithDense(features, value[:n*features])
		m := newModel(t, features, classes)
		w := drawn(m.NumParams(), scale)
		sums := make([][]float64, 3) // of all, of all but one, of that one
		for i, rows := range [][]int32{all(d).Rows, all(d).Rows[1:], {0}} {
			sums[i] = make([]float64, m.NumParams())
			err := m.WideGradSum(sums[i], w, data.Batch{Data: d, Rows: rows}, clip, m.NewScratch())
			if errors.Is(err, models.ErrDiverged) {
				t.Skip()
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		squares := 0.0
		for j, x := range sums[0] {
			if x-sums[1][j] != sums[2][j] {
				t.Errorf("coordinate %d: the record adds %v to none and %v to the others", j, sums[2][j], x-sums[1][j])
			}
			squares += (x - sums[1][j]) * (x - sums[1][j])
		}
		if moved := math.Sqrt(squares); moved > clip {
			t.Errorf("without a record the sum moves by %v·C", moved/clip)
		}
	})
}

func BenchmarkGradSum(b *testing.B) {
	_, dense := modeltest.Rows(b, 2000, 392, 10)
	_, features := modeltest.Rows(b, 1000, 7776, 10)
	for _, c := range []struct {
		name string
		d    *data.Dataset
	}{{"dense", dense}, {"features", features}, {"pixels", modeltest.Images(2000, 1, 28, 28, 10)}} {
		b.Run(c.name, func(b *testing.B) {
			m := newModel(b, c.d.Features, c.d.Classes)
			modeltest.BenchmarkStep(b, m, 6*m.NumParams(), c.d, 370)
		})
	}
}
