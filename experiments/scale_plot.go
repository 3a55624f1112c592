package experiments

import (
	"fmt"
	"io"
	"math"
	"slices"
)

// ScaleQuantity is a figure of what trainings of all sizes cost.
type ScaleQuantity struct {
	title, yLabel string
	of            func(ScalePoint) (value, lo, hi float64)
	law           func(l *ScaleLaw, clients, params int) float64
}

// The figures.
var (
	ScaleTime = ScaleQuantity{
		"What a client round costs", "processor time of a client round, ns",
		func(p ScalePoint) (float64, float64, float64) { return p.Nanoseconds, p.Least, p.Most },
		(*ScaleLaw).Nanoseconds,
	}
	ScaleMemory = ScaleQuantity{
		"What memory a training takes", "peak memory of the process, MiB",
		func(p ScalePoint) (float64, float64, float64) { return p.MiB, p.MiB, p.MiB },
		(*ScaleLaw).MiB,
	}
)

// Draw draws the quantity against the number of clients as a PNG, a line for each
// runner, model and number of parameters; bands are from the least to the most of
// all runs. The law, of logistic regression by the virtual runner, is dashed. The
// points of a line are in the order of their clients.
func (q ScaleQuantity) Draw(w io.Writer, points []ScalePoint, law *ScaleLaw, caption string) error {
	p := picture{
		title: q.title, xLabel: "clients n", yLabel: q.yLabel, caption: caption,
		logarithmic: true, yMin: math.Inf(1),
	}
	var names []string
	for _, point := range points {
		name := fmt.Sprintf("%s, %s,\nd = %d", point.Runner, point.Model, point.Params)
		i := slices.Index(names, name)
		if i < 0 {
			i = len(names)
			names, p.lines = append(names, name), append(p.lines, line{name: name})
		}
		value, lo, hi := q.of(point)
		l := &p.lines[i]
		l.add(float64(point.Clients), value, lo, hi)
		p.yMin, p.yMax = min(p.yMin, decade(math.Floor, lo)), max(p.yMax, decade(math.Ceil, hi))
	}
	dashed := line{name: "the law", emphasise: true}
	for i, point := range points {
		if point.Runner != VirtualRunner || point.Model != Ridge {
			continue
		}
		y := q.law(law, point.Clients, point.Params)
		dashed.add(float64(point.Clients), y, y, y)
		if next := i + 1; next < len(points) && points[next].Runner == point.Runner && points[next].Model == point.Model && points[next].Params == point.Params {
			continue
		}
		p.lines = append(p.lines, dashed)
		dashed = line{emphasise: true} // one of them is in the legend
	}
	return p.writePNG(w)
}
