package data

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

func TestParsePixelGrid(t *testing.T) {
	for text, want := range map[string]PixelGrid{
		"28x28":     {1, 28, 28, false},
		"28x28x1":   {1, 28, 28, false},
		"1x28x28":   {1, 28, 28, true},
		"32x32x3":   {3, 32, 32, false},
		"3x32x48":   {3, 32, 48, true},
		"64x48x3":   {3, 64, 48, false},
		"4096x2x1":  {1, 4096, 2, false},
		"28x28x4":   {},
		"3x3x3":     {}, // the channels could come first or last
		"28":        {},
		"0x28x1":    {},
		"5000x2x1":  {},
		"28x28x1x1": {},
		"28X28":     {},
		"":          {},
		"-2x28":     {},
	} {
		if got, err := ParsePixelGrid(text); got != want || (err == nil) != (want != PixelGrid{}) {
			t.Errorf("%q is %+v, %v, want %+v", text, got, err, want)
		}
	}
	for text, ok := range map[string]bool{"0,1": true, "-1, 1": true, "0,255": true, "0,65535": true, "1,0": false,
		"0,0": false, "0": false, "NaN,1": false, "0,Inf": false, "": false} {
		if low, high, err := ParseBounds(text); (err == nil) != ok {
			t.Errorf("%q is %v, %v, %v", text, low, high, err)
		}
	}
}

// Rows of every kind become images: dense and sparse ones, with the channels first or last.
func TestPictures(t *testing.T) {
	dense := (&Dataset{Name: "d", Classes: 2, Label: []int32{0, 1}}).WithDense(6, []float32{0, 1, 2, 3, 4, 5, 10, 0, 0, 0, 0, 255})
	sparse := &Dataset{Name: "s", Classes: 2, Features: 6, Label: []int32{0, 1}, Start: []int{0, 5, 7},
		Index: []int32{1, 2, 3, 4, 5, 0, 5}, Value: []float32{1, 2, 3, 4, 5, 10, 255}}
	levels := PixelRange{High: 255}
	for _, d := range []*Dataset{dense, sparse} {
		for _, c := range []struct {
			grid PixelGrid
			want []byte
		}{
			{PixelGrid{1, 2, 3, false}, []byte{0, 1, 2, 3, 4, 5, 10, 0, 0, 0, 0, 255}},
			{PixelGrid{3, 2, 1, true}, []byte{0, 1, 2, 3, 4, 5, 10, 0, 0, 0, 0, 255}},
			{PixelGrid{3, 2, 1, false}, []byte{0, 3, 1, 4, 2, 5, 10, 0, 0, 0, 0, 255}},
		} {
			got, err := d.Pictures(c.grid, levels)
			if err != nil || !slices.Equal(got.Images.Pixels, c.want) || got.Validate() != nil {
				t.Errorf("%s as %+v: %v, %v, want %v", d.Name, c.grid, got, err, c.want)
			}
		}
		if _, err := d.Pictures(PixelGrid{1, 2, 2, false}, levels); err == nil || !strings.Contains(err.Error(), "6 features, must be 4") {
			t.Errorf("too few pixels: %v", err)
		}
		_, err := d.Pictures(PixelGrid{1, 2, 3, false}, PixelRange{High: 100})
		if !errors.Is(err, ErrPixel) || !strings.Contains(err.Error(), "image 2") || strings.Contains(err.Error(), "255") {
			t.Errorf("a number of 255 in [0, 100]: %v", err)
		}
		if got, err := d.Pictures(PixelGrid{1, 2, 3, false}, PixelRange{High: 100, Clamp: true}); err != nil ||
			got.Images.Pixels[11] != 255 {
			t.Errorf("clamped: %v, %v", got, err)
		}
		// Where a sparse row has nothing, it has 0, which need not be level 0.
		if got, err := d.Pictures(PixelGrid{1, 2, 3, false}, PixelRange{Low: -255, High: 255}); err != nil ||
			!slices.Equal(got.Images.Pixels[6:], []byte{133, 128, 128, 128, 128, 255}) {
			t.Errorf("%s from -255 to 255: %v, %v", d.Name, got.Images.Pixels, err)
		}
	}
	if _, err := sparse.Pictures(PixelGrid{1, 2, 3, false}, PixelRange{Low: 1, High: 255}); !errors.Is(err, ErrPixel) {
		t.Errorf("0 in [1, 255]: %v", err)
	}
}

// Numbers in [0, 1] are refused as whole pixels. If they were read as levels up to 255, the images would
// be black.
func TestWholePixels(t *testing.T) {
	r := PixelRange{High: 255, Whole: true}
	if p, ok := r.Pixel(17); p != 17 || !ok {
		t.Errorf("17 is %v, %v", p, ok)
	}
	if _, ok := r.Pixel(0.5); ok {
		t.Error("0.5 is a whole pixel")
	}
	if err := r.Fault(3); !strings.Contains(err.Error(), "image 3") || !strings.Contains(err.Error(), "a whole number in [0, 255]") {
		t.Errorf("error %v", err)
	}
}
