// Package plots draws pictures in the project's one style: lines with bands,
// histograms by shade, timelines. It knows nothing of what they show.
package plots

import (
	"errors"
	"fmt"
	"image/color"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"proactivedp/internal/message"
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
	// the lines and the marks are drawn. All have one axis of x, of which this one says the kind,
	// but for those with OwnX, whose axis is that of their own lines.
	Below []Picture
	OwnX  bool
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
	// Like is the number, from 1, of the line whose dashes and marks it has; 0: its own. The
	// pieces of a line that is interrupted look alike.
	Like int
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

// Lengths and sizes of the usual style.
const (
	plotHeight  = 13.5 * vg.Centimeter // of the first plot with its title and caption
	barePlot    = 10.5 * vg.Centimeter // of the first plot alone
	belowHeight = 5 * vg.Centimeter    // of each plot below the first
	margin      = 0.4 * vg.Centimeter  // around all; a bare picture has a quarter of it
	narrowPlot  = 0.75                 // of the width, the height of the first plot of a narrow picture
	narrowBelow = 0.6                  // likewise of each plot below it
	captionSize = vg.Length(8)
	leading     = 1.35 // from one line of text to the next, in sizes
)

// layout is a picture ready to be drawn.
type layout struct {
	Picture
	Style
	legend plot.Legend
	plots  [][]*plot.Plot // a row each
}

// layout prepares the picture in a style.
func (p Picture) layout(s Style) (*layout, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	l := &layout{Picture: p.shown(s), Style: s, legend: plot.NewLegend()}
	l.legend.TextStyle = s.styled(l.legend.TextStyle, 9)
	l.legend.Top, l.legend.Left = true, true
	l.legend.Padding = s.points(3)
	l.legend.ThumbnailWidth = s.points(1.1 * vg.Centimeter)
	var err error
	if l.plots, err = l.rows(); err != nil {
		return nil, err
	}
	for _, k := range p.Key {
		l.legend.Add(k.Name, swatch{k.Colour})
	}
	return l, nil
}

// mostDrawn bounds what is drawn: an axis is as long as the difference of its ends, and a
// little longer.
const mostDrawn = 1e300

// check reports numbers that have no place on the axes.
func (p Picture) check() error {
	var errs []error
	for _, at := range append([]Picture{p}, p.Below...) {
		if outside := without(at.Logarithmic); outside(at.YMin) || outside(at.YMax) {
			errs = append(errs, fmt.Errorf("an axis from %v to %v, must be finite, and above 0 if it is "+
				"logarithmic", at.YMin, at.YMax))
		}
		for _, l := range at.Lines {
			logarithmicX := p.Logarithmic || p.LogarithmicX
			if x := slices.IndexFunc(l.X, without(logarithmicX)); x >= 0 {
				errs = append(errs, fmt.Errorf("x = %v of line %q has no place on its axis", l.X[x], l.Name))
			}
			all := slices.Concat(l.Y, l.Lo, l.Hi)
			if y := slices.IndexFunc(all, without(at.Logarithmic)); y >= 0 {
				errs = append(errs, fmt.Errorf("y = %v of line %q has no place on its axis", all[y], l.Name))
			}
		}
	}
	return errors.Join(errs...)
}

// without returns what a number is that has no place on an axis.
func without(logarithmic bool) func(float64) bool {
	return func(v float64) bool { return !(math.Abs(v) <= mostDrawn) || logarithmic && v <= 0 }
}

// legendHeight is what the legend takes below the plot, if it stands there.
func (l *layout) legendHeight() vg.Length {
	if !l.narrow() {
		return 0
	}
	return l.legend.Rectangle(draw.Canvas{}).Size().Y + l.points(0.3*vg.Centimeter)
}

// height is that of the whole picture.
func (l *layout) height() vg.Length {
	below := vg.Length(len(l.Below))
	if l.narrow() {
		return l.width()*(narrowPlot+narrowBelow*below) + l.tableHeight() + l.legendHeight()
	}
	first := vg.Length(plotHeight)
	if l.Bare {
		first = barePlot
	}
	return l.of(first+below*belowHeight) + l.tableHeight() + l.legendHeight()
}

// draw draws the picture.
func (l *layout) draw(c draw.Canvas) {
	around := vg.Length(margin)
	if l.Bare {
		around /= 4
	}
	canvas := draw.Crop(c, around, -around, around, -around)
	canvas = l.drawLine(canvas, l.text(12, color.Black), l.Title)
	canvas = l.drawLine(canvas, l.text(10, color.RGBA{200, 0, 0, 255}), l.Banner)
	canvas = l.drawTable(canvas)
	canvas = l.drawCaption(canvas)
	if below := l.legendHeight(); below > 0 {
		l.legend.Draw(draw.Crop(canvas, 0, 0, 0, below-canvas.Size().Y))
		canvas = draw.Crop(canvas, 0, 0, below, 0)
	} else {
		side := l.legend.Rectangle(canvas).Size().X + 0.5*vg.Centimeter
		l.legend.Draw(draw.Crop(canvas, canvas.Size().X-side+0.4*vg.Centimeter, 0, 0, -0.2*vg.Centimeter))
		canvas = draw.Crop(canvas, 0, -side, 0, 0)
	}
	if len(l.plots) == 1 {
		l.plots[0][0].Draw(canvas)
		return
	}
	tiles := draw.Tiles{Rows: len(l.plots), Cols: 1, PadY: 0.3 * vg.Centimeter}
	for i, row := range plot.Align(l.plots, tiles, canvas) {
		l.plots[i][0].Draw(row[0])
	}
}

// rows returns the plot and those below it, a row each, and enters their lines in the
// legend.
func (l *layout) rows() ([][]*plot.Plot, error) {
	first, err := l.Picture.plot(l.Style, &l.legend)
	if err != nil {
		return nil, err
	}
	rows := [][]*plot.Plot{{first}}
	for i, below := range l.Below {
		below.LogarithmicX = l.Logarithmic || l.LogarithmicX
		if i == len(l.Below)-1 {
			below.XLabel, first.X.Label.Text = l.XLabel, ""
		}
		plt, err := below.plot(l.Style, &l.legend)
		if err != nil {
			return nil, err
		}
		if !below.OwnX {
			first.X.Min, first.X.Max = min(first.X.Min, plt.X.Min), max(first.X.Max, plt.X.Max)
		}
		rows = append(rows, []*plot.Plot{plt})
	}
	for i, row := range rows {
		if i == 0 || !l.Below[i-1].OwnX {
			row[0].X.Min, row[0].X.Max = first.X.Min, first.X.Max
		}
		widen(&row[0].X, l.Logarithmic || l.LogarithmicX)
	}
	return rows, nil
}

// widen gives an axis of no length some, which would be taken of it or added to it else: less
// than 0, where it is logarithmic, or nothing that a float64 shows.
func widen(axis *plot.Axis, logarithmic bool) {
	switch {
	case axis.Min > axis.Max && logarithmic: // there is nothing on it
		axis.Min, axis.Max = 1, 10
	case axis.Min == axis.Max && logarithmic:
		axis.Min, axis.Max = axis.Min/2, 2*axis.Max
	case axis.Min == axis.Max && axis.Min-1 == axis.Max+1:
		axis.Min, axis.Max = axis.Min-math.Abs(axis.Min)/2, axis.Max+math.Abs(axis.Max)/2
	}
}

// plot returns the axes with the lines and marks, and enters the lines in the legend.
func (p Picture) plot(s Style, legend *plot.Legend) (*plot.Plot, error) {
	plt := plot.New()
	plt.X.Label.Text, plt.Y.Label.Text = p.XLabel, p.YLabel
	plt.Y.Min, plt.Y.Max = p.YMin, p.YMax
	for _, axis := range []*plot.Axis{&plt.X, &plt.Y} {
		axis.Label.TextStyle = s.styled(axis.Label.TextStyle, 10)
		axis.Tick.Label = s.styled(axis.Tick.Label, 9)
		axis.LineStyle.Width = 0.6
		axis.Tick.LineStyle.Width = 0.6
	}
	plt.X.Label.Padding, plt.Y.Label.Padding = 4, 4
	plt.X.Tick.Marker, plt.Y.Tick.Marker = ticks{6}, ticks{5}
	if s.narrow() {
		plt.X.Tick.Marker = ticks{3}
	}
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
	var curves []plot.Plotter // above all bands, which would hide them
	for i, l := range p.Lines {
		if len(l.X) == 0 {
			continue // left out of a close-up; the others keep their colours
		}
		drawn, err := l.draw(i, s.stroke())
		if err != nil {
			return nil, fmt.Errorf("plot of %s: %w", l.Name, err)
		}
		plt.Add(drawn.band...)
		curves = append(curves, drawn.curve...)
		if l.Name != "" {
			legend.Add(s.name(l.Name), drawn.key...)
		}
	}
	plt.Add(curves...)
	widen(&plt.Y, p.Logarithmic)
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

// swatch is a patch of colour in the legend.
type swatch struct{ colour color.Color }

// Thumbnail implements plot.Thumbnailer.
func (s swatch) Thumbnail(c *draw.Canvas) {
	c.FillPolygon(s.colour, []vg.Point{c.Min, {X: c.Min.X, Y: c.Max.Y}, c.Max, {X: c.Max.X, Y: c.Min.Y}})
}

// drawLine writes a line of text across the top, if there is any, and returns
// what is left below it.
func (l *layout) drawLine(c draw.Canvas, style text.Style, s string) draw.Canvas {
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

// decades marks the powers of ten and the places between. Named are the powers, with fewer than two
// of them 2 and 5 times a power as well, and with less than a factor of ten all. plot.LogTicks goes
// on beyond the end where the logarithm of it is rounded up, which leaves a gap.
type decades struct{}

// Ticks implements plot.Ticker.
func (decades) Ticks(lo, hi float64) []plot.Tick {
	var marks []plot.Tick
	named := 0
	for _, mark := range (plot.LogTicks{Prec: -1}).Ticks(lo, hi) {
		if mark.Value <= hi {
			marks = append(marks, mark)
		}
		if mark.Value >= lo && mark.Value <= hi && mark.Label != "" {
			named++
		}
	}
	if named < 2 {
		for i, mark := range marks {
			digit := strconv.FormatFloat(mark.Value, 'e', 0, 64)[0]
			if hi < 10*lo || digit == '2' || digit == '5' {
				marks[i].Label = strconv.FormatFloat(mark.Value, 'g', 3, 64)
			}
		}
	}
	return marks
}

// drawCaption writes the caption along the bottom, broken into lines that fit,
// and returns what is left above it.
func (l *layout) drawCaption(c draw.Canvas) draw.Canvas {
	style := l.captionStyle()
	lines := message.Wrap(l.Caption, func(s string) bool { return style.Width(s) <= c.Size().X })
	if len(lines) == 0 || l.Caption == "" {
		return c
	}
	leading := leading * style.Font.Size
	height := vg.Length(len(lines)) * leading
	for i, text := range lines {
		y := c.Min.Y + height - vg.Length(i)*leading
		c.FillText(style, vg.Point{X: c.Min.X, Y: y}, text)
	}
	return draw.Crop(c, 0, 0, height+0.3*vg.Centimeter, 0)
}

// drawTable writes the rows along the bottom and returns what is left above.
func (l *layout) drawTable(c draw.Canvas) draw.Canvas {
	if len(l.Rows) == 0 {
		return c
	}
	style := l.captionStyle()
	x := c.Min.X
	for column := range l.Rows[0] {
		width := vg.Length(0)
		for i, row := range l.Rows {
			y := c.Min.Y + vg.Length(len(l.Rows)-i)*leading*style.Font.Size
			c.FillText(style, vg.Point{X: x, Y: y}, row[column])
			width = max(width, style.Width(row[column]))
		}
		x += width + l.points(0.5*vg.Centimeter)
	}
	return draw.Crop(c, 0, 0, l.tableHeight(), 0)
}

// tableHeight is what the table takes, with a gap above it.
func (l *layout) tableHeight() vg.Length {
	if len(l.Rows) == 0 {
		return 0
	}
	return (vg.Length(len(l.Rows)) + 0.5) * leading * l.points(captionSize)
}

func (l *layout) captionStyle() text.Style {
	style := l.text(captionSize, color.Gray{60})
	style.XAlign, style.YAlign = draw.XLeft, draw.YTop
	return style
}

// Decade rounds to a power of ten.
func Decade(round func(float64) float64, x float64) float64 {
	return math.Pow(10, round(math.Log10(x)))
}
