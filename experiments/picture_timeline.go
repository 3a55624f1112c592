package experiments

import (
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg/draw"
)

// stretch is something that takes from one time to another in a row of a
// timeline.
type stretch struct {
	row      float64
	from, to float64
	colour   color.Color
}

// flight is a message: a line from a row at one time to another row at another.
type flight struct {
	rows     [2]float64
	from, to float64
	colour   color.Color
}

// timeline is rows of stretches, with messages between them.
type timeline struct {
	stretches []stretch
	flights   []flight
}

// barHalf is half of the height of a stretch, of the distance between rows.
const barHalf = 0.32

// Plot implements plot.Plotter.
func (t timeline) Plot(c draw.Canvas, plt *plot.Plot) {
	trX, trY := plt.Transforms(&c)
	edge := draw.LineStyle{Color: color.White, Width: 0.4}
	for _, s := range t.stretches {
		box := rectangle(trX(s.from), trY(s.row-barHalf), trX(s.to), trY(s.row+barHalf))
		c.FillPolygon(s.colour, box)
		c.StrokeLines(edge, append(box, box[0]))
	}
	for _, f := range t.flights {
		// From edge to edge of the bars, not through them.
		side := barHalf
		if f.rows[1] < f.rows[0] {
			side = -barHalf
		}
		style := draw.LineStyle{Color: f.colour, Width: 0.5}
		c.StrokeLine2(style, trX(f.from), trY(f.rows[0]+side), trX(f.to), trY(f.rows[1]-side))
	}
}

// DataRange implements plot.DataRanger.
func (t timeline) DataRange() (xMin, xMax, yMin, yMax float64) {
	yMin, yMax = math.Inf(1), math.Inf(-1)
	for _, s := range t.stretches {
		xMax = max(xMax, s.to)
		yMin, yMax = min(yMin, s.row), max(yMax, s.row)
	}
	for _, f := range t.flights {
		xMax = max(xMax, f.to)
	}
	return 0, xMax, yMin, yMax
}
