package plots

import (
	"io"
	"math"
	"strings"
	"testing"
)

// A point that has no place on the axes, such as NaN, is an error, and causes no panic in the drawing
// library.
func TestPicturesOfNoPlaceAreRefused(t *testing.T) {
	line := func(x, y float64) []Line { return []Line{{Name: "l", X: []float64{1, x}, Y: []float64{1, y}}} }
	for want, p := range map[string]Picture{
		"x = NaN of line":           {Lines: line(math.NaN(), 1), YMax: 2},
		"y = +Inf of line":          {Lines: line(1, math.Inf(1)), YMax: 2},
		"x = 0 of line":             {Lines: line(0, 1), YMax: 2, YMin: 1, Logarithmic: true},
		"y = -1 of line":            {Lines: line(2, -1), YMax: 2, YMin: 1, Logarithmic: true},
		"x = -2 of line":            {Lines: line(-2, 1), YMax: 2, LogarithmicX: true},
		"an axis from 0 to +Inf":    {Lines: line(2, 1), YMax: math.Inf(1)},
		"an axis from NaN to 2":     {Lines: line(2, 1), YMin: math.NaN(), YMax: 2},
		"an axis from -1e+301 to 2": {Lines: line(2, 1), YMin: -1e301, YMax: 2},
		"y = 0 of line": {YMax: 2, YMin: 1, Logarithmic: true,
			Lines: []Line{{X: []float64{1, 2}, Y: []float64{1, 1}, Lo: []float64{0, 1}, Hi: []float64{1, 1}}}},
		"an axis from 0 to 2": {Lines: line(2, 1), YMax: 2, Logarithmic: true},
		"y = -Inf of line": {Lines: line(2, 1), YMax: 2,
			Below: []Picture{{Lines: line(2, math.Inf(-1)), YMax: 2}}},
	} {
		for _, format := range []string{"png", "svg"} {
			err := p.Write(io.Discard, format, Style{})
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: error %v, want %q", format, err, want)
			}
		}
	}
}

// If all points are at one place, or there are none, the axis still has some length.
func TestAnAxisHasLength(t *testing.T) {
	for _, at := range []float64{1e-300, 0.5, 1, 1e20, 1e299} {
		for _, p := range []Picture{
			{}, {LogarithmicX: true}, {Logarithmic: true, YMin: at, YMax: at},
			{YMin: at, YMax: at}, {YMin: -at, YMax: -at},
		} {
			for _, x := range [][]float64{nil, {at}, {at, at}} {
				p.Lines = nil
				if l := (Line{X: x, Y: x, Lo: x, Hi: x}); x != nil {
					p.Lines = []Line{l}
				}
				if err := p.Write(io.Discard, "svg", Style{}); err != nil {
					t.Errorf("%+v: %v", p, err)
				}
			}
		}
	}
}
