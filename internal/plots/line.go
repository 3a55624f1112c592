package plots

import (
	"image/color"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Dashes and marks distinguish lines without colours.
var (
	dashes = [][]vg.Length{nil, {6, 2}, {2, 2}, {8, 2, 2, 2}, {12, 3}, {4, 2, 1, 2, 1, 2}, {1, 3}}
	glyphs = []draw.GlyphDrawer{draw.CircleGlyph{}, draw.BoxGlyph{}, draw.PyramidGlyph{}, draw.PlusGlyph{},
		draw.CrossGlyph{}, draw.RingGlyph{}, draw.TriangleGlyph{}, draw.SquareGlyph{}}
	// reference has the dashes of a reference line.
	reference = []vg.Length{4, 3}
)

// fewPoints is the largest number of points of a line whose points are all marked. someMarks is the
// number of marks of longer lines. A line of at most fewBars points has error bars instead of a band.
const (
	fewBars   = 2
	fewPoints = 15
	someMarks = 6
)

// drawn holds the parts of a line.
type drawn struct {
	band, curve []plot.Plotter
	key         []plot.Thumbnailer // its entry in the legend
}

// draw returns the parts of line number i of a plot. stroke is a factor for stroke widths.
func (l Line) draw(i int, stroke vg.Length) (drawn, error) {
	if l.Like > 0 {
		i = l.Like - 1
	}
	col := Palette[i%len(Palette)]
	if l.Emphasise {
		col = color.RGBA{40, 40, 40, 255}
	}
	if l.Colour != (color.RGBA{}) {
		col = l.Colour
	}
	if l.Scatter {
		marks, err := l.scatter(col)
		return drawn{curve: marks, key: []plot.Thumbnailer{swatch{col}}}, err
	}
	band, curve, err := l.plotters(col)
	if err != nil {
		return drawn{}, err
	}
	curve.Width *= stroke
	dash := reference
	if !l.Emphasise || l.Like > 0 {
		dash = dashes[i%len(dashes)]
	}
	for _, d := range dash {
		curve.Dashes = append(curve.Dashes, d*stroke)
	}
	d := drawn{curve: []plot.Plotter{curve}, key: []plot.Thumbnailer{curve}}
	bars := len(l.X) <= fewBars && (!l.Emphasise || l.Points)
	if !bars {
		d.band = []plot.Plotter{band}
	}
	if l.Emphasise && !l.Points {
		return d, nil
	}
	marks := &plotter.Scatter{XYs: l.marked(curve.XYs, i), GlyphStyle: draw.GlyphStyle{Color: col, Radius: 2.4 * stroke,
		Shape: glyphs[i%len(glyphs)]}}
	d.curve, d.key = append(d.curve, marks), append(d.key, marks)
	if bars {
		bar, err := l.bars(col)
		if err != nil {
			return drawn{}, err
		}
		d.curve = append(d.curve, bar)
	}
	if len(l.X) == 1 {
		d.key = []plot.Thumbnailer{marks}
	}
	return d, nil
}

// marked returns the points that get marks: all points if l.Points or if they are few. Otherwise it
// returns some points, at different places for each line, so that the marks of coinciding lines do
// not coincide.
func (l Line) marked(points plotter.XYs, i int) plotter.XYs {
	if l.Points || len(points) <= fewPoints {
		return points
	}
	every := max(len(points)/someMarks, 1)
	var some plotter.XYs
	for at := (i*every/len(Palette) + every/2) % every; at < len(points); at += every {
		some = append(some, points[at])
	}
	return some
}

func (l Line) plotters(col color.RGBA) (*plotter.Polygon, *plotter.Line, error) {
	n := len(l.X)
	outline := make(plotter.XYs, 0, 2*n)
	points := make(plotter.XYs, n)
	for i := range n {
		outline = append(outline, plotter.XY{X: l.X[i], Y: l.Hi[i]})
		points[i] = plotter.XY{X: l.X[i], Y: l.Y[i]}
	}
	for i := n - 1; i >= 0; i-- {
		outline = append(outline, plotter.XY{X: l.X[i], Y: l.Lo[i]})
	}
	band, err := plotter.NewPolygon(outline)
	if err != nil {
		return nil, nil, err
	}
	band.Color = color.NRGBA{col.R, col.G, col.B, 45}
	band.LineStyle.Width = 0
	curve, err := plotter.NewLine(points)
	if err != nil {
		return nil, nil, err
	}
	curve.Color = col
	curve.Width = 1.4
	return band, curve, nil
}

// bars returns an error bar for each point, in place of the band of a line with few points: a band over
// one point has no width, and between two it would suggest values that nobody measured.
func (l Line) bars(col color.RGBA) (*plotter.YErrorBars, error) {
	var points struct {
		plotter.XYs
		plotter.YErrors
	}
	for i, x := range l.X {
		points.XYs = append(points.XYs, plotter.XY{X: x, Y: l.Y[i]})
		points.YErrors = append(points.YErrors, struct{ Low, High float64 }{l.Y[i] - l.Lo[i], l.Hi[i] - l.Y[i]})
	}
	bars, err := plotter.NewYErrorBars(points)
	if err != nil {
		return nil, err
	}
	bars.Color = col
	return bars, nil
}

func (l Line) scatter(col color.RGBA) ([]plot.Plotter, error) {
	var marks []plot.Plotter
	points := make(plotter.XYs, len(l.X))
	for i, x := range l.X {
		bar, err := plotter.NewLine(plotter.XYs{{X: x, Y: l.Lo[i]}, {X: x, Y: l.Hi[i]}})
		if err != nil {
			return nil, err
		}
		bar.Color, bar.Width = color.NRGBA{col.R, col.G, col.B, 110}, 1
		marks = append(marks, bar)
		points[i] = plotter.XY{X: x, Y: l.Y[i]}
	}
	return append(marks, &plotter.Scatter{XYs: points, GlyphStyle: draw.GlyphStyle{Color: col, Radius: 2.2,
		Shape: draw.CircleGlyph{}}}), nil
}
