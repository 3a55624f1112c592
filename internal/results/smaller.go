package results

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"maps"
	"slices"
)

// fewColours returns the picture as a PNG file with a palette, which has about a quarter of the bytes. The
// palette has the most frequent colours that differ from each other by more than alike; any other colour becomes
// the nearest one. So the colours of lines are kept, and some shades at the edges of letters are not.
func fewColours(picture image.Image) ([]byte, error) {
	const alike = 16 // of 255, in each of red, green and blue
	bounds := picture.Bounds()
	rgba := image.NewRGBA(bounds)
	draw.Draw(rgba, bounds, picture, bounds.Min, draw.Src)
	count := map[color.RGBA]int{}
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			count[rgba.RGBAAt(x, y)]++
		}
	}
	byCount := slices.SortedFunc(maps.Keys(count), func(a, b color.RGBA) int {
		return cmp.Or(cmp.Compare(count[b], count[a]), bytes.Compare([]byte{a.R, a.G, a.B, a.A}, []byte{b.R, b.G, b.B, b.A}))
	})
	var palette color.Palette
	for _, c := range byCount {
		known := slices.ContainsFunc(palette, func(p color.Color) bool {
			q := p.(color.RGBA)
			return near(c.R, q.R, alike) && near(c.G, q.G, alike) && near(c.B, q.B, alike) && near(c.A, q.A, alike)
		})
		if !known {
			palette = append(palette, c)
		}
		if len(palette) == 256 { // as many as a PNG palette has
			break
		}
	}
	small := image.NewPaletted(bounds, palette)
	nearest := map[color.RGBA]uint8{}
	for _, c := range byCount {
		nearest[c] = uint8(palette.Index(c))
	}
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			small.SetColorIndex(x, y, nearest[rgba.RGBAAt(x, y)])
		}
	}
	var out bytes.Buffer
	err := png.Encode(&out, small)
	return out.Bytes(), err
}

// near reports whether two values differ by no more than the limit most.
func near(a, b uint8, most int) bool { return max(a, b)-min(a, b) <= uint8(most) }

func compressed(content []byte) ([]byte, error) {
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(content); err != nil {
		return nil, err
	}
	err = w.Close()
	return out.Bytes(), err
}
