package main

import (
	"fmt"
	"io"
	"math"
	"slices"

	"proactivedp/internal/plots"
)

// scaleQuantity is a figure of one cost of trainings, for all sizes.
type scaleQuantity struct {
	title, yLabel string
	of            func(scalePoint) (value, lo, hi float64)
	law           func(l *scaleLaw, clients, params int) float64
}

// The folder has one figure for each quantity.
var (
	timeCost = scaleQuantity{
		"What a client round costs", "processor time of a client round, ns",
		func(p scalePoint) (float64, float64, float64) { return p.Nanoseconds, p.Least, p.Most },
		(*scaleLaw).Nanoseconds,
	}
	memoryCost = scaleQuantity{
		"What memory a training takes", "peak memory of the process, MiB",
		func(p scalePoint) (float64, float64, float64) { return p.MiB, p.MiB, p.MiB },
		(*scaleLaw).MiB,
	}
)

// draw draws the quantity against the number of clients as a PNG, with a line for each runner, model
// and number of parameters. Bands show the smallest and the largest value of all runs. The law, for
// logistic regression by the virtual runner, is dashed. The points of a line must be in the order of
// their clients.
func (q scaleQuantity) draw(w io.Writer, points []scalePoint, law *scaleLaw, caption string) error {
	p := plots.Picture{
		Title: q.title, XLabel: "clients n", YLabel: q.yLabel, Caption: caption,
		Logarithmic: true, YMin: math.Inf(1),
	}
	var names []string
	for _, point := range points {
		name := fmt.Sprintf("%s, %s,\nd = %d", point.Runner, point.Model, point.Params)
		i := slices.Index(names, name)
		if i < 0 {
			i = len(names)
			names, p.Lines = append(names, name), append(p.Lines, plots.Line{Name: name})
		}
		value, lo, hi := q.of(point)
		l := &p.Lines[i]
		l.Add(float64(point.Clients), value, lo, hi)
		p.YMin, p.YMax = min(p.YMin, plots.Decade(math.Floor, lo)), max(p.YMax, hi)
	}
	dashed := plots.Line{Name: "the law", Emphasise: true}
	for i, point := range points {
		if !point.lawful() {
			continue
		}
		y := q.law(law, point.Clients, point.Params)
		dashed.Add(float64(point.Clients), y, y, y)
		if next := i + 1; next < len(points) && points[next].Runner == point.Runner &&
			points[next].Model == point.Model && points[next].Params == point.Params {
			continue
		}
		p.Lines = append(p.Lines, dashed)
		dashed = plots.Line{Emphasise: true} // only the first dashed line has a name in the legend
	}
	return p.WritePNG(w)
}
