package experiments

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
)

// picture is a line plot in the project's one style: lines with a band around
// each, a legend beside, and a caption below that says what was run, with a table
// if there are rows, which makes the picture higher.
type picture struct {
	title, xLabel, yLabel string
	caption               string
	rows                  [][]string // the header first
	banner                string     // in red below the title; "" for none
	lines                 []line
	yMin, yMax            float64
	logarithmic           bool // both axes

	xNames, yNames []string       // of the places 0, 1, … of an axis, instead of numbers
	marks          []plot.Plotter // below the lines
	key            []keyEntry     // of the legend, after the lines
}

// keyEntry is what the legend says of marks of a colour.
type keyEntry struct {
	name   string
	colour color.Color
}

// line is a curve with a band from lo to hi.
type line struct {
	name      string // "" for none in the legend
	x, y      []float64
	lo, hi    []float64
	emphasise bool // dashed and black: a reference
	points    bool // marked: what is between them means nothing
}

// add appends a point with its place in the band.
func (l *line) add(x, y, lo, hi float64) {
	l.x, l.y = append(l.x, x), append(l.y, y)
	l.lo, l.hi = append(l.lo, lo), append(l.hi, hi)
}

// palette is that of Okabe and Ito (2008), told apart by all kinds of colour
// vision.
var palette = []color.RGBA{
	{0, 114, 178, 255}, {230, 159, 0, 255}, {0, 158, 115, 255}, {204, 121, 167, 255},
	{213, 94, 0, 255}, {86, 180, 233, 255}, {120, 110, 30, 255},
}

const (
	pictureWidth  = 19 * vg.Centimeter
	pictureHeight = 13.5 * vg.Centimeter
	pictureMargin = 0.4 * vg.Centimeter
	pictureDPI    = 150
	captionSize   = vg.Length(8)
	// captionLeading is from one line of the caption or the table to the next.
	captionLeading = 1.35 * captionSize
)

// sans is the typeface of everything.
func sans(size vg.Length, c color.Color) text.Style {
	return text.Style{
		Color: c, Handler: plot.DefaultTextHandler,
		Font: font.Font{Typeface: "Liberation", Variant: "Sans", Size: size},
	}
}

// writePNG draws the picture.
func (p picture) writePNG(w io.Writer) error {
	plt := plot.New()
	plt.X.Label.Text, plt.Y.Label.Text = p.xLabel, p.yLabel
	plt.Y.Min, plt.Y.Max = p.yMin, p.yMax
	for _, axis := range []*plot.Axis{&plt.X, &plt.Y} {
		axis.Label.TextStyle = styled(axis.Label.TextStyle, 10)
		axis.Tick.Label = styled(axis.Tick.Label, 9)
		axis.LineStyle.Width = 0.6
		axis.Tick.LineStyle.Width = 0.6
	}
	plt.X.Label.Padding, plt.Y.Label.Padding = 4, 4
	plt.X.Tick.Marker, plt.Y.Tick.Marker = ticks{6}, ticks{5}
	if p.logarithmic {
		for _, axis := range []*plot.Axis{&plt.X, &plt.Y} {
			axis.Scale, axis.Tick.Marker = plot.LogScale{}, decades{}
		}
	}
	nameTicks(&plt.X, p.xNames)
	nameTicks(&plt.Y, p.yNames)
	grid := plotter.NewGrid()
	grid.Horizontal.Color = color.Gray{225}
	grid.Vertical.Color = color.Gray{240}
	plt.Add(grid)

	legend := plot.NewLegend()
	legend.TextStyle = styled(legend.TextStyle, 9)
	legend.Top, legend.Left = true, true
	legend.Padding = 3
	legend.ThumbnailWidth = 0.8 * vg.Centimeter
	plt.Add(p.marks...)
	for i, l := range p.lines {
		col := palette[i%len(palette)]
		if l.emphasise {
			col = color.RGBA{40, 40, 40, 255}
		}
		band, curve, err := l.plotters(col)
		if err != nil {
			return fmt.Errorf("experiments: plot of %s: %w", l.name, err)
		}
		plt.Add(band, curve)
		if l.name != "" {
			legend.Add(l.name, curve)
		}
		if l.points {
			plt.Add(&plotter.Scatter{XYs: curve.XYs, GlyphStyle: draw.GlyphStyle{Color: col, Radius: 2.2, Shape: draw.CircleGlyph{}}})
		}
	}
	for _, k := range p.key {
		legend.Add(k.name, swatch{k.colour})
	}

	img := vgimg.NewWith(vgimg.UseWH(pictureWidth, pictureHeight+p.tableHeight()), vgimg.UseDPI(pictureDPI), vgimg.UseBackgroundColor(color.White))
	canvas := draw.Crop(draw.New(img), pictureMargin, -pictureMargin, pictureMargin, -pictureMargin)
	canvas = drawLine(canvas, sans(12, color.Black), p.title)
	canvas = drawLine(canvas, sans(10, color.RGBA{200, 0, 0, 255}), p.banner)
	canvas = p.drawTable(canvas)
	canvas = p.drawCaption(canvas)
	side := legend.Rectangle(canvas).Size().X + 0.5*vg.Centimeter
	legend.Draw(draw.Crop(canvas, canvas.Size().X-side+0.4*vg.Centimeter, 0, 0, -0.2*vg.Centimeter))
	plt.Draw(draw.Crop(canvas, 0, -side, 0, 0))
	if _, err := (vgimg.PngCanvas{Canvas: img}).WriteTo(w); err != nil {
		return fmt.Errorf("experiments: write PNG: %w", err)
	}
	return nil
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
func (l line) plotters(col color.RGBA) (*plotter.Polygon, *plotter.Line, error) {
	n := len(l.x)
	outline := make(plotter.XYs, 0, 2*n)
	points := make(plotter.XYs, n)
	for i := range n {
		outline = append(outline, plotter.XY{X: l.x[i], Y: l.hi[i]})
		points[i] = plotter.XY{X: l.x[i], Y: l.y[i]}
	}
	for i := n - 1; i >= 0; i-- {
		outline = append(outline, plotter.XY{X: l.x[i], Y: l.lo[i]})
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
	if l.emphasise {
		curve.Dashes = []vg.Length{4, 3}
	}
	return band, curve, nil
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
func (p picture) drawCaption(c draw.Canvas) draw.Canvas {
	style := captionStyle()
	lines := wrap(p.caption, func(s string) bool { return style.Width(s) <= c.Size().X })
	height := vg.Length(len(lines)) * captionLeading
	for i, text := range lines {
		y := c.Min.Y + height - vg.Length(i)*captionLeading
		c.FillText(style, vg.Point{X: c.Min.X, Y: y}, text)
	}
	return draw.Crop(c, 0, 0, height+0.3*vg.Centimeter, 0)
}

// drawTable writes the rows along the bottom and returns what is left above.
func (p picture) drawTable(c draw.Canvas) draw.Canvas {
	if len(p.rows) == 0 {
		return c
	}
	style := captionStyle()
	x := c.Min.X
	for column := range p.rows[0] {
		width := vg.Length(0)
		for i, row := range p.rows {
			y := c.Min.Y + vg.Length(len(p.rows)-i)*captionLeading
			c.FillText(style, vg.Point{X: x, Y: y}, row[column])
			width = max(width, style.Width(row[column]))
		}
		x += width + 0.5*vg.Centimeter
	}
	return draw.Crop(c, 0, 0, p.tableHeight(), 0)
}

// tableHeight is what the table takes, with a gap above it.
func (p picture) tableHeight() vg.Length {
	if len(p.rows) == 0 {
		return 0
	}
	return (vg.Length(len(p.rows)) + 0.5) * captionLeading
}

func captionStyle() text.Style {
	style := sans(captionSize, color.Gray{60})
	style.XAlign, style.YAlign = draw.XLeft, draw.YTop
	return style
}

// decade rounds to a power of ten.
func decade(round func(float64) float64, x float64) float64 {
	return math.Pow(10, round(math.Log10(x)))
}
