package mlp_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"proactivedp/data"
	"proactivedp/internal/f32"
	"proactivedp/models"
	"proactivedp/models/mlp"
	"proactivedp/models/modeltest"
	"proactivedp/nn"
)

// rows returns the shape of rows of so many features.
func rows(features int) nn.Shape { return nn.Shape{Channels: features, Height: 1, Width: 1} }

func newModel(t testing.TB, name string, in nn.Shape, classes int) *models.Network {
	t.Helper()
	h, err := mlp.Parse(name)
	if err != nil {
		t.Fatal(err)
	}
	m, err := mlp.New(in, classes, h)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// drawn draws rows, sparse and dense: of small numbers, so that the largest of the contract's
// parameters leave gradients that are not all but 0.
func drawn(t testing.TB, n, features, classes int) (sparse, dense *data.Dataset) {
	t.Helper()
	sparse, dense = modeltest.Rows(t, n, features, classes)
	var all [2]*data.Dataset
	for i, d := range []*data.Dataset{sparse, dense} {
		var err error
		if all[i], err = d.Scaled(1. / 8); err != nil {
			t.Fatal(err)
		}
	}
	return all[0], all[1]
}

// The contract holds in every class of kernels, for rows and pixels, one hidden layer and
// more, widths that fill no vector, and those of which matrix tiles make the sums. ReLU has
// few units here, as differences across its kinks are no derivatives.
func TestConform(t *testing.T) {
	sparse, dense := drawn(t, 80, 23, 4)
	tiled, _ := drawn(t, 60, 32, 2)
	for _, c := range []struct {
		name, model string
		in          nn.Shape
		d           *data.Dataset
	}{
		{"sparse", "mlp:7", rows(23), sparse},
		{"dense", "mlp:16:5", rows(23), dense},
		{"tiled", "mlp:32", rows(32), tiled},
		{"pixels", "mlp-relu:2", nn.Shape{Channels: 2, Height: 5, Width: 4}, modeltest.Images(60, 2, 5, 4, 3)},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newModel(t, c.model, c.in, c.d.Classes)
			if tiled := m.Net().Tiled(); tiled != (c.name == "tiled") {
				t.Errorf("tiled: %v", tiled)
			}
			if err := m.Check(c.d); err != nil {
				t.Fatal(err)
			}
			modeltest.Conform(t, modeltest.Case{Model: m, Data: c.d, GradTolerance: 2e-3})
		})
	}
}

// In bfloat16, too, on rows as large as a file may have them.
func TestConformInBF16(t *testing.T) {
	if !f32.BF16() {
		t.Skipf("no products of bfloat16 (AVX512-BF16) here: the class of kernels is %v", f32.Kernels())
	}
	sparse, _ := drawn(t, 60, 23, 3)
	exact := newModel(t, "mlp:16:5", rows(23), 3)
	m, err := exact.WithPrecision(nn.BF16)
	if err != nil {
		t.Fatal(err)
	}
	modeltest.Conform(t, modeltest.Case{Model: m, Data: sparse, GradTolerance: 0.05, Exact: exact})
}

// With numbers of two parts, too, on rows as large as a file may have them.
func TestConformInBF16x3(t *testing.T) {
	if !f32.Tiled() {
		t.Skipf("no matrix tiles (AMX) here: the class of kernels is %v", f32.Kernels())
	}
	d, _ := drawn(t, 60, 32, 2)
	m, err := newModel(t, "mlp:32", rows(32), 2).WithPrecision(nn.BF16x3)
	if err != nil {
		t.Fatal(err)
	}
	modeltest.Conform(t, modeltest.Case{Model: m, Data: d, GradTolerance: 2e-3})
}

func TestGradientsMeanTheseBits(t *testing.T) {
	sparse, dense := drawn(t, 100, 23, 4)
	for _, d := range []*data.Dataset{sparse, dense} { // however the rows are kept
		modeltest.Golden(t, newModel(t, "mlp", rows(23), 4), d, "2c8cc13c6f6c52c2")
		modeltest.Golden(t, newModel(t, "mlp-relu:64:32", rows(23), 4), d, "d36369fb853d8618",
			"360762c6fe5944bb")
	}
	modeltest.Golden(t, newModel(t, "mlp:12", nn.Shape{Channels: 2, Height: 5, Width: 4}, 3),
		modeltest.Images(60, 2, 5, 4, 3), "72c43964d85e11e6")
}

// What a name says is what is built, and every name is written in one way only.
func TestNames(t *testing.T) {
	for name, want := range map[string]mlp.Hidden{
		"mlp":               {Widths: []int{mlp.DefaultWidth}},
		"mlp-relu":          {Widths: []int{mlp.DefaultWidth}, ReLU: true},
		"mlp:1":             {Widths: []int{1}},
		"mlp-relu:4096:7:8": {Widths: []int{4096, 7, 8}, ReLU: true},
	} {
		h, err := mlp.Parse(name)
		if err != nil || !reflect.DeepEqual(h, want) || h.Validate() != nil {
			t.Errorf("%s: %+v, %v; want %+v", name, h, err, want)
		}
		if again, err := mlp.Parse(h.String()); err != nil || !reflect.DeepEqual(again, h) {
			t.Errorf("%s is written as %s, which is read as %+v, %v", name, h, again, err)
		}
		if !mlp.Named(name) {
			t.Errorf("%s is no perceptron's name", name)
		}
	}
	for name, want := range map[string]string{
		"mlp:":                                `width of hidden layer 1 = "" in model = "mlp:", must be a whole`,
		"mlp:0":                               `hidden layer 1 = "0"`,
		"mlp:8:4097":                          `hidden layer 2 = "4097"`,
		"mlp:-8":                              `hidden layer 1 = "-8"`,
		"mlp:64,32":                           `= "64,32" in model = "mlp:64,32", must be`,
		"mlp:064":                             `= "064"`,
		"mlp-relu:8:x":                        `hidden layer 2 = "x"`,
		"mlp: 8":                              `= " 8"`,
		"mlp:99999999999999999999":            `= "99999999999999999999"`,
		"mlp:1:1:1:1:1:1:1:1:1":               "9 hidden layers",
		"mlp" + strings.Repeat(":1", 100_000): "100000 hidden layers",
		"MLP:8":                               `model = "MLP:8", must be mlp:WIDTH`,
		"mlps":                                `model = "mlps"`,
		"":                                    `model = ""`,
	} {
		h, err := mlp.Parse(name)
		if err == nil || !strings.Contains(err.Error(), want) || !reflect.DeepEqual(h, mlp.Hidden{}) {
			t.Errorf("%.40q: %+v, %v; want an error with %q", name, h, err, want)
		}
		if err != nil && len(err.Error()) > 1000 {
			t.Errorf("%.40q: an error of %d bytes", name, len(err.Error()))
		}
	}
	// All that is wrong is said at once.
	if _, err := mlp.Parse("mlp:0:8:x"); err == nil || !strings.Contains(err.Error(), "layer 1") ||
		!strings.Contains(err.Error(), "layer 3") {
		t.Errorf("two wrong widths: %v", err)
	}
}

// Whatever a name is, it is refused or comes back, within the bounds.
func FuzzParse(f *testing.F) {
	for _, name := range []string{"mlp", "mlp:64:32", "mlp-relu:1", "mlp:", "mlp:1:", "lenet", "mlp:+1", "mlp:1e3"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		h, err := mlp.Parse(name)
		if err != nil {
			return
		}
		if text := h.String(); h.Validate() != nil || text != name && text != name+":32" {
			t.Errorf("%q is read as %v, which is %v", name, h, h.Validate())
		}
	})
}

// A table of 100,000 features is within the bounds, and what is beyond them is named.
func TestBounds(t *testing.T) {
	if m := newModel(t, "mlp", rows(100_000), 2); m.NumParams() != 100_001*32+33*2 {
		t.Errorf("%d parameters", m.NumParams())
	}
	one := mlp.Hidden{Widths: []int{32}}
	for _, c := range []struct {
		in      nn.Shape
		classes int
		hidden  mlp.Hidden
		want    string
	}{
		{rows(3_000_000), 2, one, "parameters of mlp:32 for 3000000 features in 2 classes = 96000098, must be at " +
			"most 67108864: use narrower layers or fewer features"},
		{rows(1 << 62), 2, one, "for 4611686018427387904 features"},
		{nn.Shape{Channels: 1 << 40, Height: 1 << 40, Width: 1 << 40}, 2, one, "must be at most 67108864"},
		{rows(100), 1 << 30, one, "in 1073741824 classes"},
		{rows(0), 2, one, "channels = 0, must be at least 1"},
		{rows(-5), 2, one, "channels = -5, must be at least 1"},
		{rows(5), 1, one, "classes = 1, must be at least 2"},
		{rows(5), 2, mlp.Hidden{}, "0 hidden layers, must be 1 to 8"},
		{rows(5), 2, mlp.Hidden{Widths: make([]int, 9)}, "9 hidden layers"},
		{rows(5), 2, mlp.Hidden{Widths: []int{3, 0, 5000}}, "hidden layer 2 = 0, must be in [1, 4096]\nwidth of " +
			"hidden layer 3 = 5000, must be"},
	} {
		m, err := mlp.New(c.in, c.classes, c.hidden)
		if m != nil || err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v in %d classes, %v: error %v, want %q", c.in, c.classes, c.hidden, err, c.want)
		}
	}
}

// A caller's widths are read and not kept: what is done to them later changes nothing.
func TestWidthsAreNotKept(t *testing.T) {
	widths := make([]int, 2, 3)
	widths[0], widths[1] = 6, 5
	h := mlp.Hidden{Widths: widths}
	m, err := mlp.New(rows(4), 3, h)
	if err != nil {
		t.Fatal(err)
	}
	if spare := widths[:3][2]; spare != 0 {
		t.Errorf("behind the widths stands %d", spare)
	}
	widths[0] = 9
	if m.Name() != "mlp:6:5" || m.NumParams() != 5*6+7*5+6*3 {
		t.Errorf("%s has %d parameters", m.Name(), m.NumParams())
	}
}

// A data set of other features or of more classes is refused before the run.
func TestOtherDataAreRefused(t *testing.T) {
	m := newModel(t, "mlp", rows(23), 3)
	for _, c := range []struct{ features, classes int }{{22, 3}, {24, 3}, {23, 4}} {
		d, _ := drawn(t, 20, c.features, c.classes)
		if err := m.Check(d); err == nil || !strings.Contains(err.Error(), "mlp:32 needs") {
			t.Errorf("%d features in %d classes: %v", c.features, c.classes, err)
		}
	}
}

// BenchmarkDPStep is a step of private training on a table as wide as phishing.
func BenchmarkDPStep(b *testing.B) {
	m := newModel(b, "mlp", rows(68), 2)
	d, _ := drawn(b, 2000, 68, 2)
	for _, size := range []int{16, 160, 1600} {
		b.Run(fmt.Sprintf("batch=%d", size), func(b *testing.B) {
			modeltest.BenchmarkStep(b, m, m.Net().FLOPs(), d, size)
		})
	}
}
