package plots

import (
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg/draw"
)

// Stretch is a coloured bar in a row of a Timeline, such as a round of a client. It lasts from From to To on the x
// axis.
type Stretch struct {
	Row      float64
	From, To float64
	Colour   color.Color
}

// Flight is a message in a Timeline, drawn as a line from the row of its sender to that of its receiver. It lasts
// from From to To on the x axis.
type Flight struct {
	Rows     [2]float64
	From, To float64
	Colour   color.Color
}

// Timeline is a picture of events over time: rows of coloured bars, with messages between them. Use it as a
// mark of a Picture.
type Timeline struct {
	Stretches []Stretch
	Flights   []Flight
}

// barHalf is half the height of a stretch, relative to the distance between rows.
const barHalf = 0.32

func (t Timeline) Plot(c draw.Canvas, plt *plot.Plot) {
	trX, trY := plt.Transforms(&c)
	edge := draw.LineStyle{Color: color.White, Width: 0.4}
	for _, s := range t.Stretches {
		box := rectangle(trX(s.From), trY(s.Row-barHalf), trX(s.To), trY(s.Row+barHalf))
		c.FillPolygon(s.Colour, box)
		c.StrokeLines(edge, append(box, box[0]))
	}
	for _, f := range t.Flights {
		// Draw messages from edge to edge of the bars, not through them.
		side := barHalf
		if f.Rows[1] < f.Rows[0] {
			side = -barHalf
		}
		style := draw.LineStyle{Color: f.Colour, Width: 0.5}
		c.StrokeLine2(style, trX(f.From), trY(f.Rows[0]+side), trX(f.To), trY(f.Rows[1]-side))
	}
}

func (t Timeline) DataRange() (xMin, xMax, yMin, yMax float64) {
	yMin, yMax = math.Inf(1), math.Inf(-1)
	for _, s := range t.Stretches {
		xMax = max(xMax, s.To)
		yMin, yMax = min(yMin, s.Row), max(yMax, s.Row)
	}
	for _, f := range t.Flights {
		xMax = max(xMax, f.To)
	}
	return 0, xMax, yMin, yMax
}
