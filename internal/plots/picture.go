// Package plots draws pictures in the project's one style: lines with bands,
// histograms by shade, timelines. It knows nothing of what they show.
package plots

import (
	"fmt"
	"image/color"
	"io"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"

	"proactivedp/internal/wrap"
)

// Picture is a line plot in the project's one style: lines with a band around
// each, a legend beside, and a caption below that says what was run, with a table
// if there are rows, which makes the picture higher.
type Picture struct {
	Title, XLabel, YLabel string
	Caption               string
	Rows                  [][]string // rows of the table, the header first
	Banner                string     // a warning in red below the title; "" for none
	Lines                 []Line
	YMin, YMax            float64
	Logarithmic           bool // whether both axes are logarithmic
	LogarithmicX          bool // whether the axis of x is

	XNames, YNames []string       // what stands at the places 0, 1, … of an axis instead of numbers
	Marks          []plot.Plotter // what is drawn below the lines
	Key            []KeyEntry     // entries of the legend after those of the lines

	// Below are plots under this one, which makes the picture higher: of them the axis of y,
	// the lines and the marks are drawn. All have one axis of x, of which this one says the kind.
	Below []Picture
}

// KeyEntry is what the legend says of marks of a colour.
type KeyEntry struct {
	Name   string
	Colour color.Color
}

// Line is a curve with a band from lo to hi.
type Line struct {
	Name      string // the name in the legend; "" for no entry
	X, Y      []float64
	Lo, Hi    []float64
	Emphasise bool // drawn dashed, and black unless it has a colour, as a reference
	Points    bool // points are marked, as what lies between them means nothing
	Scatter   bool // points alone, each with a bar from lo to hi
	// Colour is the line's; the zero value: the next one of the palette.
	Colour color.RGBA
}

// Add appends a point with its place in the band.
func (l *Line) Add(x, y, lo, hi float64) {
	l.X, l.Y = append(l.X, x), append(l.Y, y)
	l.Lo, l.Hi = append(l.Lo, lo), append(l.Hi, hi)
}

// Palette is that of Okabe and Ito (2008), told apart by all kinds of colour
// vision.
var Palette = []color.RGBA{
	{0, 114, 178, 255}, {230, 159, 0, 255}, {0, 158, 115, 255}, {204, 121, 167, 255},
	{213, 94, 0, 255}, {86, 180, 233, 255}, {120, 110, 30, 255},
}

const (
	pictureWidth  = 19 * vg.Centimeter
	pictureHeight = 13.5 * vg.Centimeter
	belowHeight   = 5 * vg.Centimeter // of each plot below the first
	pictureMargin = 0.4 * vg.Centimeter
	pictureDPI    = 150
	captionSize   = vg.Length(8)
	// captionLeading is from one line of the caption or the table to the next.
	captionLeading = 1.35 * captionSize
)

// sans returns the one typeface of the pictures in a size and a colour.
func sans(size vg.Length, c color.Color) text.Style {
	return text.Style{
		Color: c, Handler: plot.DefaultTextHandler,
		Font: font.Font{Typeface: "Liberation", Variant: "Sans", Size: size},
	}
}

// WritePNG draws the picture.
func (p Picture) WritePNG(w io.Writer) error {
	legend := plot.NewLegend()
	legend.TextStyle = styled(legend.TextStyle, 9)
	legend.Top, legend.Left = true, true
	legend.Padding = 3
	legend.ThumbnailWidth = 0.8 * vg.Centimeter
	plts, err := p.plots(&legend)
	if err != nil {
		return err
	}
	for _, k := range p.Key {
		legend.Add(k.Name, swatch{k.Colour})
	}

	height := pictureHeight + p.tableHeight() + vg.Length(len(p.Below))*belowHeight
	img := vgimg.NewWith(vgimg.UseWH(pictureWidth, height), vgimg.UseDPI(pictureDPI),
		vgimg.UseBackgroundColor(color.White))
	canvas := draw.Crop(draw.New(img), pictureMargin, -pictureMargin, pictureMargin, -pictureMargin)
	canvas = drawLine(canvas, sans(12, color.Black), p.Title)
	canvas = drawLine(canvas, sans(10, color.RGBA{200, 0, 0, 255}), p.Banner)
	canvas = p.drawTable(canvas)
	canvas = p.drawCaption(canvas)
	side := legend.Rectangle(canvas).Size().X + 0.5*vg.Centimeter
	legend.Draw(draw.Crop(canvas, canvas.Size().X-side+0.4*vg.Centimeter, 0, 0, -0.2*vg.Centimeter))
	canvas = draw.Crop(canvas, 0, -side, 0, 0)
	if len(plts) == 1 {
		plts[0][0].Draw(canvas)
	} else {
		tiles := draw.Tiles{Rows: len(plts), Cols: 1, PadY: 0.3 * vg.Centimeter}
		for i, row := range plot.Align(plts, tiles, canvas) {
			plts[i][0].Draw(row[0])
		}
	}
	if _, err := (vgimg.PngCanvas{Canvas: img}).WriteTo(w); err != nil {
		return fmt.Errorf("plots: write PNG: %w", err)
	}
	return nil
}

// plots returns the plot and those below it, a row each, and enters their lines in the legend.
func (p Picture) plots(legend *plot.Legend) ([][]*plot.Plot, error) {
	first, err := p.plot(legend)
	if err != nil {
		return nil, err
	}
	rows := [][]*plot.Plot{{first}}
	for i, below := range p.Below {
		below.LogarithmicX = p.Logarithmic || p.LogarithmicX
		if i == len(p.Below)-1 {
			below.XLabel, first.X.Label.Text = p.XLabel, ""
		}
		plt, err := below.plot(legend)
		if err != nil {
			return nil, err
		}
		first.X.Min, first.X.Max = min(first.X.Min, plt.X.Min), max(first.X.Max, plt.X.Max)
		rows = append(rows, []*plot.Plot{plt})
	}
	for _, row := range rows {
		row[0].X.Min, row[0].X.Max = first.X.Min, first.X.Max
	}
	return rows, nil
}

// plot returns the axes with the lines and marks, and enters the lines in the legend.
func (p Picture) plot(legend *plot.Legend) (*plot.Plot, error) {
	plt := plot.New()
	plt.X.Label.Text, plt.Y.Label.Text = p.XLabel, p.YLabel
	plt.Y.Min, plt.Y.Max = p.YMin, p.YMax
	for _, axis := range []*plot.Axis{&plt.X, &plt.Y} {
		axis.Label.TextStyle = styled(axis.Label.TextStyle, 10)
		axis.Tick.Label = styled(axis.Tick.Label, 9)
		axis.LineStyle.Width = 0.6
		axis.Tick.LineStyle.Width = 0.6
	}
	plt.X.Label.Padding, plt.Y.Label.Padding = 4, 4
	plt.X.Tick.Marker, plt.Y.Tick.Marker = ticks{6}, ticks{5}
	if p.Logarithmic || p.LogarithmicX {
		plt.X.Scale, plt.X.Tick.Marker = plot.LogScale{}, decades{}
	}
	if p.Logarithmic {
		plt.Y.Scale, plt.Y.Tick.Marker = plot.LogScale{}, decades{}
	}
	nameTicks(&plt.X, p.XNames)
	nameTicks(&plt.Y, p.YNames)
	grid := plotter.NewGrid()
	grid.Horizontal.Color = color.Gray{225}
	grid.Vertical.Color = color.Gray{240}
	plt.Add(grid)

	plt.Add(p.Marks...)
	for i, l := range p.Lines {
		col := Palette[i%len(Palette)]
		if l.Emphasise {
			col = color.RGBA{40, 40, 40, 255}
		}
		if l.Colour != (color.RGBA{}) {
			col = l.Colour
		}
		band, curve, err := l.plotters(col)
		if err != nil {
			return nil, fmt.Errorf("plots: plot of %s: %w", l.Name, err)
		}
		if l.Scatter {
			marks, err := l.scatter(col)
			if err != nil {
				return nil, fmt.Errorf("plots: plot of %s: %w", l.Name, err)
			}
			plt.Add(marks...)
			if l.Name != "" {
				legend.Add(l.Name, swatch{col})
			}
			continue
		}
		plt.Add(band, curve)
		key := []plot.Thumbnailer{curve}
		if l.Points {
			marks := &plotter.Scatter{XYs: curve.XYs, GlyphStyle: draw.GlyphStyle{Color: col, Radius: 2.2,
				Shape: glyph(i)}}
			plt.Add(marks)
			if len(l.X) == 1 {
				bar, err := l.bar(col)
				if err != nil {
					return nil, err
				}
				plt.Add(bar)
				key = []plot.Thumbnailer{marks}
			}
		}
		if l.Name != "" {
			legend.Add(l.Name, key...)
		}
	}
	return plt, nil
}

// nameTicks gives the places of an axis their names.
func nameTicks(axis *plot.Axis, names []string) {
	if len(names) == 0 {
		return
	}
	var named plot.ConstantTicks
	for i, name := range names {
		named = append(named, plot.Tick{Value: float64(i), Label: name})
	}
	axis.Tick.Marker = named
	axis.Min, axis.Max = -0.5, float64(len(names))-0.5
}

// glyph returns the mark of a line: another shape where colours come again.
func glyph(line int) draw.GlyphDrawer {
	if line >= len(Palette) {
		return draw.PyramidGlyph{}
	}
	return draw.CircleGlyph{}
}

// bar returns the band of a line of one point, which has no width to be seen by.
func (l Line) bar(col color.RGBA) (*plotter.YErrorBars, error) {
	bar, err := plotter.NewYErrorBars(struct {
		plotter.XYs
		plotter.YErrors
	}{plotter.XYs{{X: l.X[0], Y: l.Y[0]}}, plotter.YErrors{{Low: l.Y[0] - l.Lo[0], High: l.Hi[0] - l.Y[0]}}})
	if err != nil {
		return nil, fmt.Errorf("plots: bar of %s: %w", l.Name, err)
	}
	bar.Color = col
	return bar, nil
}

// swatch is a patch of colour in the legend.
type swatch struct{ colour color.Color }

// Thumbnail implements plot.Thumbnailer.
func (s swatch) Thumbnail(c *draw.Canvas) {
	c.FillPolygon(s.colour, []vg.Point{c.Min, {X: c.Min.X, Y: c.Max.Y}, c.Max, {X: c.Max.X, Y: c.Min.Y}})
}

func styled(s text.Style, size vg.Length) text.Style {
	s.Font = sans(size, s.Color).Font
	return s
}

// plotters returns the band and the curve of a line.
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
	if l.Emphasise {
		curve.Dashes = []vg.Length{4, 3}
	}
	return band, curve, nil
}

// scatter returns the bars and the points of a line that is none.
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

// drawLine writes a line of text across the top, if there is any, and returns
// what is left below it.
func drawLine(c draw.Canvas, style text.Style, s string) draw.Canvas {
	if s == "" {
		return c
	}
	style.XAlign, style.YAlign = draw.XLeft, draw.YTop
	c.FillText(style, vg.Point{X: c.Min.X, Y: c.Max.Y}, s)
	return draw.Crop(c, 0, 0, 0, -1.7*style.Font.Size)
}

// ticks marks round numbers, at most n+1 of them, written as briefly as can be.
type ticks struct{ n int }

// Ticks implements plot.Ticker.
func (t ticks) Ticks(lo, hi float64) []plot.Tick {
	step := math.Pow(10, math.Floor(math.Log10((hi-lo)/float64(t.n))))
	for _, m := range []float64{1, 2, 5, 10} {
		if (hi-lo)/(m*step) <= float64(t.n) {
			step *= m
			break
		}
	}
	var out []plot.Tick
	for i := int(math.Ceil(lo/step - 1e-9)); float64(i)*step <= hi+1e-9*step; i++ {
		v := float64(i) * step
		out = append(out, plot.Tick{Value: v, Label: strconv.FormatFloat(v, 'g', 6, 64)})
	}
	return out
}

// decades marks the powers of ten and the places between. plot.LogTicks goes on
// beyond the end where the logarithm of it is rounded up, which leaves a gap.
type decades struct{}

// Ticks implements plot.Ticker.
func (decades) Ticks(lo, hi float64) []plot.Tick {
	return slices.DeleteFunc(plot.LogTicks{Prec: -1}.Ticks(lo, hi), func(t plot.Tick) bool { return t.Value > hi })
}

// drawCaption writes the caption along the bottom, broken into lines that fit,
// and returns what is left above it.
func (p Picture) drawCaption(c draw.Canvas) draw.Canvas {
	style := captionStyle()
	lines := wrap.Lines(p.Caption, func(s string) bool { return style.Width(s) <= c.Size().X })
	height := vg.Length(len(lines)) * captionLeading
	for i, text := range lines {
		y := c.Min.Y + height - vg.Length(i)*captionLeading
		c.FillText(style, vg.Point{X: c.Min.X, Y: y}, text)
	}
	return draw.Crop(c, 0, 0, height+0.3*vg.Centimeter, 0)
}

// drawTable writes the rows along the bottom and returns what is left above.
func (p Picture) drawTable(c draw.Canvas) draw.Canvas {
	if len(p.Rows) == 0 {
		return c
	}
	style := captionStyle()
	x := c.Min.X
	for column := range p.Rows[0] {
		width := vg.Length(0)
		for i, row := range p.Rows {
			y := c.Min.Y + vg.Length(len(p.Rows)-i)*captionLeading
			c.FillText(style, vg.Point{X: x, Y: y}, row[column])
			width = max(width, style.Width(row[column]))
		}
		x += width + 0.5*vg.Centimeter
	}
	return draw.Crop(c, 0, 0, p.tableHeight(), 0)
}

// tableHeight is what the table takes, with a gap above it.
func (p Picture) tableHeight() vg.Length {
	if len(p.Rows) == 0 {
		return 0
	}
	return (vg.Length(len(p.Rows)) + 0.5) * captionLeading
}

func captionStyle() text.Style {
	style := sans(captionSize, color.Gray{60})
	style.XAlign, style.YAlign = draw.XLeft, draw.YTop
	return style
}

// Decade rounds to a power of ten.
func Decade(round func(float64) float64, x float64) float64 {
	return math.Pow(10, round(math.Log10(x)))
}
