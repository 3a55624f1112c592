// Package plots draws pictures in one style: lines with bands, histograms by shade, and timelines.
// It does not know what they show.
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

// Picture is a line plot: lines with a band around each, a legend to the right, and a caption below. If there are
// Rows, it also has a table, which makes the picture taller.
type Picture struct {
	Title, XLabel, YLabel string
	Caption               string
	Rows                  [][]string // rows of the table, the header first
	Banner                string     // a warning in red below the title; "" for none
	Lines                 []Line
	YMin, YMax            float64
	Logarithmic           bool // whether both axes are logarithmic
	LogarithmicX          bool // whether the x axis is logarithmic

	XNames, YNames []string       // labels at the positions 0, 1, … of an axis instead of numbers
	Marks          []plot.Plotter // drawn under the lines
	Key            []KeyEntry     // legend entries after those of the lines

	// Below are plots under this one, which make the picture taller. Only their y axis, lines and
	// marks are drawn. They share the x axis of this plot, except those with OwnX, whose x axis
	// fits their own lines.
	Below []Picture
	OwnX  bool
}

// KeyEntry is an additional entry in the legend of a picture. It explains a colour.
type KeyEntry struct {
	Name   string
	Colour color.Color
}

// Line is a curve through the points (X[i], Y[i]), with a shaded band from Lo[i] to Hi[i].
type Line struct {
	Name      string // the name in the legend; "" for no entry
	X, Y      []float64
	Lo, Hi    []float64
	Emphasise bool // drawn dashed, and black unless it has a colour, as a reference
	Points    bool // points are marked, because only they have a meaning
	Scatter   bool // only points, each with a bar from lo to hi
	// Colour is the line's colour. The zero value means the next colour of the palette.
	Colour color.RGBA
	// Like gives this line the dashes and marks of another line, so that the pieces of an interrupted line
	// look alike. It is the number of the other line, counted from 1; 0 means none. If the other line is a
	// reference, only its dashes are used.
	Like int
}

// Add appends the point (x, y), with a band from lo to hi.
func (l *Line) Add(x, y, lo, hi float64) {
	l.X, l.Y = append(l.X, x), append(l.Y, y)
	l.Lo, l.Hi = append(l.Lo, lo), append(l.Hi, hi)
}

// AddLevel appends a horizontal piece at y, between two x.
func (l *Line) AddLevel(from, to, y float64) {
	l.Add(from, y, y, y)
	l.Add(to, y, y, y)
}

// Palette has the colours of lines. It is that of Okabe and Ito (2008), which people with any kind of colour vision
// can distinguish.
var Palette = []color.RGBA{
	{0, 114, 178, 255}, {230, 159, 0, 255}, {0, 158, 115, 255}, {204, 121, 167, 255},
	{213, 94, 0, 255}, {86, 180, 233, 255}, {120, 110, 30, 255},
}

// Lengths and sizes of the default style.
const (
	plotHeight  = 13.5 * vg.Centimeter // height of the first plot with its title and caption
	barePlot    = 10.5 * vg.Centimeter // height of the first plot without them
	belowHeight = 5 * vg.Centimeter    // height of each plot below the first
	margin      = 0.4 * vg.Centimeter  // around the picture; a bare picture has a quarter of it
	narrowPlot  = 0.75                 // height of the first plot of a narrow picture, relative to the width
	narrowBelow = 0.6                  // height of each plot below it, relative to the width
	captionSize = vg.Length(8)
	leading     = 1.35 // distance of lines of text, in font sizes
)

// layout is a picture ready to be drawn.
type layout struct {
	Picture
	Style
	legend plot.Legend
	plots  [][]*plot.Plot // one row each
}

func (p Picture) layout(s Style) (*layout, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	if s.Bare {
		p.Title, p.Caption, p.Rows = "", "", nil
	}
	l := &layout{Picture: p, Style: s, legend: plot.NewLegend()}
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

// mostDrawn bounds the numbers that are drawn, because an axis is slightly longer than the
// difference of its ends.
const mostDrawn = 1e300

// check returns an error if a number of the picture has no position on its axes, such as NaN or a
// negative number on a logarithmic axis.
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
				errs = append(errs, fmt.Errorf("x = %v of line %q has no position on its axis", l.X[x], l.Name))
			}
			all := slices.Concat(l.Y, l.Lo, l.Hi)
			if y := slices.IndexFunc(all, without(at.Logarithmic)); y >= 0 {
				errs = append(errs, fmt.Errorf("y = %v of line %q has no position on its axis", all[y], l.Name))
			}
		}
	}
	return errors.Join(errs...)
}

// without returns a function that reports whether a number has no position on an axis.
func without(logarithmic bool) func(float64) bool {
	return func(v float64) bool { return !(math.Abs(v) <= mostDrawn) || logarithmic && v <= 0 }
}

// legendHeight returns the height of the legend if it is below the plot, or 0.
func (l *layout) legendHeight() vg.Length {
	if !l.narrow() {
		return 0
	}
	return l.legend.Rectangle(draw.Canvas{}).Size().Y + l.points(0.3*vg.Centimeter)
}

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

// draw draws the plots, with title, caption and table, on the canvas.
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
		l.drawPlot(canvas)
		return
	}
	tiles := draw.Tiles{Rows: len(l.plots), Cols: 1, PadY: 0.3 * vg.Centimeter}
	for i, row := range plot.Align(l.plots, tiles, canvas) {
		l.plots[i][0].Draw(row[0])
	}
}

// drawPlot draws the only plot. Gonum centres the label of a logarithmic axis at the arithmetic mean of its ends,
// which is near the top, and leaves room above the plot for it. So this label is drawn here.
func (l *layout) drawPlot(c draw.Canvas) {
	plt := l.plots[0][0]
	label := plt.Y.Label.Text
	if !l.Logarithmic || label == "" {
		plt.Draw(c)
		return
	}
	plt.Y.Label.Text = ""
	defer func() { plt.Y.Label.Text = label }()
	style := plt.Y.Label.TextStyle
	style.Rotation += math.Pi / 2
	height := style.Font.Size
	inner := draw.Crop(c, leading*height+plt.Y.Label.Padding, 0, 0, 0)
	data := plt.DataCanvas(inner)
	c.FillText(style, vg.Point{X: c.Min.X + height, Y: data.Center().Y}, label)
	plt.Draw(inner)
}

// rows returns the plot and those below it, one row each, and adds their lines to the legend.
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

// widen gives an axis whose two ends are equal a length. Gonum would do so itself, but it would
// give a logarithmic axis a negative end, or change an end by less than a float64 can hold.
func widen(axis *plot.Axis, logarithmic bool) {
	switch {
	case axis.Min > axis.Max && logarithmic: // the axis is empty
		axis.Min, axis.Max = 1, 10
	case axis.Min == axis.Max && logarithmic:
		axis.Min, axis.Max = axis.Min/2, 2*axis.Max
	case axis.Min == axis.Max && axis.Min-1 == axis.Max+1:
		axis.Min, axis.Max = axis.Min-math.Abs(axis.Min)/2, axis.Max+math.Abs(axis.Max)/2
	}
}

// plot returns the axes with the lines and marks, and adds the lines to the legend.
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
	var curves []plot.Plotter // drawn after all bands, which would hide them
	for i, l := range p.Lines {
		if len(l.X) == 0 {
			continue // not in the close-up; the other lines keep their colours
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

type swatch struct{ colour color.Color }

func (s swatch) Thumbnail(c *draw.Canvas) {
	c.FillPolygon(s.colour, []vg.Point{c.Min, {X: c.Min.X, Y: c.Max.Y}, c.Max, {X: c.Max.X, Y: c.Min.Y}})
}

// drawLine writes a line of text across the top, if there is one, and returns the canvas below it.
func (l *layout) drawLine(c draw.Canvas, style text.Style, s string) draw.Canvas {
	if s == "" {
		return c
	}
	style.XAlign, style.YAlign = draw.XLeft, draw.YTop
	c.FillText(style, vg.Point{X: c.Min.X, Y: c.Max.Y}, s)
	return draw.Crop(c, 0, 0, 0, -1.7*style.Font.Size)
}

// ticks marks at most n+1 round numbers, written as briefly as possible.
type ticks struct{ n int }

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

// decades marks the powers of ten and the numbers between them. It labels the powers, and writes them as
// 10ⁿ if one of them is above 10⁴ and all are in powers. With fewer than two powers it also labels 2 and 5
// times a power, and with a range of less than a factor of ten all marks. plot.LogTicks would go beyond the end of the
// axis, which leaves a gap, and below 1 it would begin with the first power of ten on the axis.
type decades struct{}

// powers are the labels of the powers of ten, if one of them is long. The typefaces have no superscripts beyond.
var powers = map[float64]string{1: "1", 1e1: "10", 1e2: "10²", 1e3: "10³", 1e4: "10⁴", 1e5: "10⁵", 1e6: "10⁶", 1e7: "10⁷",
	1e8: "10⁸"}

func (decades) Ticks(lo, hi float64) []plot.Tick {
	const rounding = 1e-9 // of ends that are themselves marks
	var marks []plot.Tick
	named, long, short := 0, false, true
	for power := int(math.Floor(math.Log10(lo))); math.Pow10(power) <= hi*(1+rounding); power++ {
		for digit := 1.0; digit < 10; digit++ {
			mark := plot.Tick{Value: digit * math.Pow10(power)}
			if mark.Value < lo*(1-rounding) || mark.Value > hi*(1+rounding) {
				continue
			}
			if digit == 1 {
				mark.Label = strconv.FormatFloat(mark.Value, 'g', -1, 64)
				named++
				long, short = long || mark.Value > 1e4, short && powers[mark.Value] != ""
			}
			marks = append(marks, mark)
		}
	}
	for i, mark := range marks {
		if long && short && mark.Label != "" {
			marks[i].Label = powers[mark.Value]
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

// drawCaption writes the caption along the bottom, broken into lines that fit, and returns the
// canvas above it.
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

// drawTable writes the rows along the bottom and returns the canvas above them.
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

// tableHeight returns the height of the table, including a gap above it.
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

// Decade rounds x > 0 to a power of ten. round is applied to the logarithm of x: math.Ceil, math.Floor or math.Round.
func Decade(round func(float64) float64, x float64) float64 {
	return math.Pow(10, round(math.Log10(x)))
}
