package main

import (
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
)

// draw draws the curves and writes them to a file, in the format of its extension.
func draw(file string, names []string, curves []*curve) error {
	p := plot.New()
	p.Title.Text = "What a permissible delay saves"
	p.X.Label.Text, p.Y.Label.Text = "simulated time, seconds", "test accuracy"
	for i, c := range curves {
		points := make(plotter.XYs, len(c.Seconds))
		for j := range points {
			points[j].X, points[j].Y = c.Seconds[j], c.Accuracy[j]
		}
		line, err := plotter.NewLine(points)
		if err != nil {
			return err
		}
		line.Color, line.Dashes = plotutil.Color(i), plotutil.Dashes(i)
		p.Add(line)
		p.Legend.Add(names[i], line)
	}
	return p.Save(16*vg.Centimeter, 10*vg.Centimeter, file)
}
