package plots

import (
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"proactivedp/internal/report"
)

// Shares is a picture of histograms, one per column: s[x][y] is the share of column x that falls into row
// y. Larger shares are drawn darker.
type Shares [][]float64

func (s Shares) Plot(c draw.Canvas, plt *plot.Plot) {
	trX, trY := plt.Transforms(&c)
	style := (Style{}).text(8, color.Black)
	style.XAlign, style.YAlign = draw.XCenter, draw.YCenter
	for x, column := range s {
		for y, part := range column {
			if part == 0 {
				continue
			}
			left, right := trX(float64(x)-0.46), trX(float64(x)+0.46)
			low, high := trY(float64(y)-0.44), trY(float64(y)+0.44)
			c.FillPolygon(shade(part), rectangle(left, low, right, high))
			style.Color = color.Black
			if part > 0.5 {
				style.Color = color.White
			}
			c.FillText(style, vg.Point{X: trX(float64(x)), Y: trY(float64(y))}, report.Share(part))
		}
	}
}

// shade returns the first colour of the palette, thinned according to the share. A root makes small
// shares visible.
func shade(part float64) color.Color {
	full := Palette[0]
	thin := func(v uint8) uint8 { return uint8(255 - math.Round(float64(255-v)*math.Sqrt(part))) }
	return color.RGBA{thin(full.R), thin(full.G), thin(full.B), 255}
}

func rectangle(left, low, right, high vg.Length) []vg.Point {
	return []vg.Point{{X: left, Y: low}, {X: left, Y: high}, {X: right, Y: high}, {X: right, Y: low}}
}
