package data

import (
	"math"
	"slices"
	"strings"
	"testing"
)

// Scaled multiplies the features that a model sees, of rows and of pixels, and changes nothing else.
func TestScaled(t *testing.T) {
	sparse := tiny(10)
	dense := sparse.WithDense(2, []float32{1, -2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20})
	images := imagesOf(t)
	for _, d := range []*Dataset{sparse, dense, images} {
		if err := d.Validate(); err != nil {
			t.Fatal(err)
		}
		before := d.Hash()
		half, err := d.Scaled(0.5)
		if err != nil {
			t.Fatal(err)
		}
		if err := half.Validate(); err != nil {
			t.Fatal(err)
		}
		for i, v := range half.Value {
			if v != d.Value[i]/2 {
				t.Errorf("%s: value %v of %v", d.Name, v, d.Value[i])
			}
		}
		if d.Images != nil {
			for c, std := range half.Images.Std {
				if std != 2*d.Images.Std[c] || half.Images.Mean[c] != d.Images.Mean[c] {
					t.Errorf("channel %d: mean %v, deviation %v", c, half.Images.Mean[c], std)
				}
			}
			if &half.Images.Pixels[0] != &d.Images.Pixels[0] {
				t.Error("pixels were copied")
			}
		}
		if d.Hash() != before || half.Name != d.Name || !slices.Equal(half.Label, d.Label) {
			t.Errorf("%s: more than the inputs has changed", d.Name)
		}
		for _, x := range []float64{0, -1, 1e-7, 1e7, math.NaN(), math.Inf(1)} {
			if _, err := d.Scaled(x); err == nil {
				t.Errorf("input scale %v was accepted", x)
			}
		}
	}
	if err := images.ScaleRows(2); err == nil || !strings.Contains(err.Error(), "images has images, must have rows") {
		t.Errorf("images scaled as rows: %v", err)
	}
	huge := tiny(3).WithDense(1, []float32{1, 2, 1e38})
	if _, err := huge.Scaled(1e6); err == nil {
		t.Error("a product that is not finite was accepted")
	}
}

func imagesOf(t *testing.T) *Dataset {
	t.Helper()
	return &Dataset{Name: "images", Features: 8, Classes: 2, Label: []int32{0, 1}, Images: &Images{
		Channels: 2, Height: 2, Width: 2, Pixels: make([]byte, 16), Mean: []float32{0.25, 0.5},
		Std: []float32{0.125, 0.375},
	}}
}

// Dense rows contain every column. If they break the rules in the documentation, the error says how.
func TestDenseRows(t *testing.T) {
	d := tiny(3).WithDense(2, []float32{1, 0, 3, 4, 5, 6})
	if err := d.Validate(); err != nil || !d.Dense() || tiny(3).Dense() || imagesOf(t).Dense() {
		t.Fatal(err, d.Dense())
	}
	if r := d.Row(1); !slices.Equal(r.Index, []int32{0, 1}) || !slices.Equal(r.Value, []float32{3, 4}) {
		t.Errorf("row 1 is %v", r)
	}
	sparse, err := FromRows("rows", [][]float32{{1, 9}, {3, 4}, {5, 6}}, d.Label)
	if err != nil {
		t.Fatal(err)
	}
	if same := tiny(3).WithDense(2, []float32{1, 9, 3, 4, 5, 6}); same.Hash() != sparse.Hash() {
		t.Error("the same rows, dense and sparse, hash differently")
	}
	for name, breakIt := range map[string]func(d *Dataset){
		"a value too few":   func(d *Dataset) { d.Value = d.Value[1:] },
		"a row too many":    func(d *Dataset) { d.Value = append(d.Value, 1, 2) },
		"a column too few":  func(d *Dataset) { d.Index = d.Index[1:] },
		"columns exchanged": func(d *Dataset) { d.Index = []int32{1, 0} },
		"no features":       func(d *Dataset) { d.Features, d.Index, d.Value = 0, nil, nil },
		"not a number":      func(d *Dataset) { d.Value = []float32{1, 0, float32(math.NaN()), 4, 5, 6} },
	} {
		bad := *d
		if breakIt(&bad); bad.Validate() == nil {
			t.Errorf("%s was accepted", name)
		}
	}
}

// Both ends of the range of the input scale are allowed.
func TestRangeOfTheInputScale(t *testing.T) {
	for x, good := range map[float64]bool{
		MinInputScale: true, MaxInputScale: true, math.Nextafter(MinInputScale, 0): false,
		math.Nextafter(MaxInputScale, math.Inf(1)): false,
	} {
		if _, err := tiny(3).Scaled(x); (err == nil) != good {
			t.Errorf("input scale %v: error %v, must be accepted: %v", x, err, good)
		}
	}
}
