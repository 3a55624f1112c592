package results

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"testing"
)

// The colours of lines are kept, however thin the lines are; shades that differ a little are not.
func TestFewColoursKeepThoseOfLines(t *testing.T) {
	full := image.NewRGBA(image.Rect(0, 0, 300, 300))
	for x := range 300 {
		for y := range 300 {
			full.Set(x, y, color.RGBA{255, uint8(250 - y%6), uint8(250 - x%6), 255})
		}
	}
	lines := []color.RGBA{{230, 159, 0, 255}, {213, 94, 0, 255}, {0, 114, 178, 255}, {255, 247, 0, 255}, {0, 247, 250, 255},
		{255, 0, 250, 255}} // the last three differ from the ground in one channel
	for i, c := range lines {
		full.Set(7*i, 3, c)
	}
	text, err := fewColours(full)
	if err != nil {
		t.Fatal(err)
	}
	small, err := png.Decode(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range lines {
		if got := color.RGBAModel.Convert(small.At(7*i, 3)); got != c {
			t.Errorf("%v became %v", c, got)
		}
	}
	if palette := small.(*image.Paletted).Palette; len(palette) != 7 {
		t.Errorf("%d colours, want 6 lines and the ground", len(palette))
	}
}
