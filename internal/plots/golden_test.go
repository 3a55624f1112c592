package plots

import (
	"image/color"
	"math"
	"strings"
	"testing"

	"gonum.org/v1/plot"

	"proactivedp/internal/testkit"
)

// rising is a line with a band that widens.
func rising(name string, slope float64) Line {
	l := Line{Name: name}
	for x := range 11 {
		y := slope * float64(x) / 10
		l.Add(float64(x), y, y-0.01*float64(x), y+0.01*float64(x))
	}
	return l
}

// One picture of each kind is compared with a stored one that a person has looked at.
func TestPicturesAreTheGoldenOnes(t *testing.T) {
	dashed, marked := rising("a reference", 0.8), rising("marked\npoints", 0.5)
	dashed.Emphasise, marked.Points = true, true
	red, green := color.RGBA{200, 0, 0, 255}, color.RGBA{0, 150, 0, 255}
	for name, p := range map[string]Picture{
		"lines": {
			Title: "Lines with bands", XLabel: "rounds", YLabel: "test accuracy (fraction)", YMin: 0, YMax: 1,
			Banner:  "SCALE 0.05: that part of the paper's K",
			Caption: strings.Repeat("A caption is broken into lines that fit. ", 6),
			Rows: [][]string{{"σ", "ε", "accuracy"}, {"19.3", "0.0497", "a wide cell of the table"},
				{"8", "1", "0.9"}},
			Lines: []Line{rising("σ = 8", 1), dashed, marked, rising("", 0.2)},
		},
		"logarithmic": {
			Title: "A law", XLabel: "clients n", YLabel: "ns", Logarithmic: true, YMin: 1, YMax: 1e5,
			Lines: []Line{{Name: "cost", X: []float64{1, 100, 1e4}, Y: []float64{3, 300, 3e4},
				Lo: []float64{2, 200, 2e4}, Hi: []float64{5, 500, 9e4}}},
		},
		"below": {
			Title: "Plots with one axis of x", XLabel: "rounds", YLabel: "accuracy", YMax: 1,
			Caption: "Colours are those of the lines.",
			Lines: []Line{{Name: "a client", X: []float64{0, 9}, Y: []float64{0, 1}, Lo: []float64{0, 1},
				Hi: []float64{0, 1}, Colour: green}},
			Below: []Picture{
				{YLabel: "σ", Lines: []Line{rising("", 100)}},
				{YLabel: "part of budget", YMax: 1, Lines: []Line{rising("", 1)}},
			},
		},
		"shares": {
			Title: "Staleness", XLabel: "permissible delay Υ", YLabel: "i − k",
			XNames: []string{"0", "1", "unlimited"}, YNames: []string{"0", "1", "2", "3–4"},
			Marks: []plot.Plotter{Shares{{1}, {0.25, 0.75}, {0.1, 0, 0.001, 0.899}}},
		},
		"timeline": {
			Title: "Timeline", XLabel: "ms", YNames: []string{"client 1", "client 0", "server"},
			Key: []KeyEntry{{"computes", green}, {"waits", color.Gray{228}}},
			Marks: []plot.Plotter{Timeline{
				Stretches: []Stretch{{1, 0, 3, green}, {1, 3, 4, color.Gray{228}}, {0, 1, 6, green},
					{2, 0, 8, color.Gray{200}}},
				Flights: []Flight{{[2]float64{1, 2}, 3, 5, color.Black}, {[2]float64{2, 0}, 5, 7, red},
					{[2]float64{0, 2}, 6, 8, color.Black}},
			}},
		},
	} {
		t.Run(name, func(t *testing.T) { testkit.Golden(t, name, p.WritePNG) })
	}
}

// The axes of a timeline begin at 0 and hold every stretch and every message.
func TestRangeOfATimeline(t *testing.T) {
	line := Timeline{
		Stretches: []Stretch{{Row: 3, From: 1, To: 4}, {Row: 1, From: 2, To: 5}},
		Flights:   []Flight{{Rows: [2]float64{3, 1}, From: 4, To: 7}},
	}
	if xMin, xMax, yMin, yMax := line.DataRange(); xMin != 0 || xMax != 7 || yMin != 1 || yMax != 3 {
		t.Errorf("x from %v to %v, y from %v to %v; want 0 to 7, 1 to 3", xMin, xMax, yMin, yMax)
	}
}

// Ticks stand at round numbers, at most n + 1 of them, from end to end.
func TestTicksAreRound(t *testing.T) {
	for _, c := range []struct {
		lo, hi float64
		n      int
		want   string
	}{
		{0, 1, 5, "0 0.2 0.4 0.6 0.8 1"},
		{0.5, 1.02, 5, "0.6 0.8 1"},
		{0, 1612, 6, "0 500 1000 1500"},
		{0, 40, 4, "0 10 20 30 40"},
		{-3, 3, 6, "-3 -2 -1 0 1 2 3"},
	} {
		var labels []string
		for _, mark := range (ticks{c.n}).Ticks(c.lo, c.hi) {
			labels = append(labels, mark.Label)
			if v := mark.Value; v < c.lo-1e-9 || v > c.hi+1e-9 || math.IsNaN(v) {
				t.Errorf("%v to %v: a tick at %v", c.lo, c.hi, v)
			}
		}
		if got := strings.Join(labels, " "); got != c.want {
			t.Errorf("%v to %v: %s, want %s", c.lo, c.hi, got, c.want)
		}
	}
}

// A logarithmic axis has each mark once, none beyond its end, and labels that tell its range.
func TestLogarithmicTicks(t *testing.T) {
	for _, c := range []struct {
		lo, hi float64
		want   string
	}{
		{22, 178, "30 40 50 60 70 80 90 100"},
		{20, 300, "20 50 100 200"},
		{1, 1e5, "1 10 10² 10³ 10⁴ 10⁵"},
		{0.03, 2, "0.1 1"},
		{0.105, 3, "0.2 0.5 1 2"},
		{0.02, 0.09, "0.02 0.03 0.04 0.05 0.06 0.07 0.08 0.09"},
	} {
		var labels []string
		seen := map[float64]bool{}
		for _, mark := range (decades{}).Ticks(c.lo, c.hi) {
			if mark.Value > c.hi || seen[mark.Value] {
				t.Errorf("%v to %v: a mark at %v, twice or beyond the end", c.lo, c.hi, mark.Value)
			}
			seen[mark.Value] = true
			if mark.Value >= c.lo && mark.Label != "" {
				labels = append(labels, mark.Label)
			}
		}
		if got := strings.Join(labels, " "); got != c.want {
			t.Errorf("%v to %v: %s, want %s", c.lo, c.hi, got, c.want)
		}
	}
}
