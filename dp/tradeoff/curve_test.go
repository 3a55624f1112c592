package tradeoff

import (
	"bytes"
	"encoding/csv"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"proactivedp/dp"
)

func TestAlphas(t *testing.T) {
	for _, n := range []int{3, 4, 5, 100, 101} {
		a := alphas(t, n)
		if len(a) != n || a[0] != 0 || a[n-1] != 1 {
			t.Errorf("n = %d: %v", n, a)
		}
		for i := 1; i < n; i++ {
			if !(a[i] > a[i-1]) {
				t.Errorf("n = %d: α does not increase at %d", n, i)
			}
			near(t, "α + its mirror image", a[i]+a[n-1-i], 1, 1e-16)
		}
	}
	a := alphas(t, 101)
	near(t, "first α", a[1], smallestAlpha, 1e-18)
	if below := slices.IndexFunc(a, func(x float64) bool { return x > 0.01 }); below < 20 {
		t.Errorf("%d of 101 points up to α = 0.01", below)
	}
	for _, n := range []int{-1, MaxAlphas + 1, 1 << 40} {
		if _, err := Alphas(n); err == nil || !strings.Contains(err.Error(), "must be in [3, 1048576]") {
			t.Errorf("n = %d: %v", n, err)
		}
	}
	if _, err := Alphas(2); err == nil {
		t.Error("two points are no grid")
	}
}

// Every property of a trade-off function is missed by one curve.
func TestCheckFindsFaults(t *testing.T) {
	curve := func(ps ...Point) Curve { return Curve{Label{Name: "x"}, ps} }
	good := curve(Point{0, 1}, Point{0.5, 0.25}, Point{1, 0})
	if err := good.check(); err != nil {
		t.Error(err)
	}
	for want, c := range map[string]Curve{
		"from 0 to 1":     curve(Point{0, 1}, Point{0.9, 0}),
		"in [0, 1-alpha]": curve(Point{0, 1}, Point{0.5, 0.6}, Point{1, 0}),
		"beta = -0.1":     curve(Point{0, 1}, Point{0.5, -0.1}, Point{1, 0}),
		"beta = NaN":      curve(Point{0, 1}, Point{0.5, math.NaN()}, Point{1, 0}),
		"increase":        curve(Point{0, 1}, Point{0.5, 0.2}, Point{0.5, 0.1}, Point{1, 0}),
		"not increase":    curve(Point{0, 0.2}, Point{0.5, 0.3}, Point{1, 0}),
		"convex":          curve(Point{0, 0.9}, Point{0.5, 0.5}, Point{1, 0}),
	} {
		if err := c.check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	two := curve(Point{0, 1}, Point{0.3, 0.9}, Point{0.6, 0.5}, Point{1, 0})
	if joined, ok := two.check().(interface{ Unwrap() []error }); !ok || len(joined.Unwrap()) < 3 {
		t.Errorf("not every fault is named: %v", two.check())
	}
}

func TestLeastGap(t *testing.T) {
	grid := []float64{0, 0.25, 0.5, 1}
	c := Sample(Label{Name: "c"}, func(a float64) float64 { return 1 - a }, grid)
	d := Sample(Label{Name: "d"}, func(a float64) float64 { return (1 - a) * (1 - a) }, grid)
	for _, tt := range []struct {
		c, d       Curve
		gap, alpha float64
	}{{c, d, 0, 0}, {d, c, -0.25, 0.5}, {c, c, 0, 0}} {
		gap, alpha, err := tt.c.leastGap(tt.d)
		if err != nil || gap != tt.gap || alpha != tt.alpha {
			t.Errorf("gap %v at %v, %v, want %v at %v", gap, alpha, err, tt.gap, tt.alpha)
		}
	}
	d.Points[1].Beta = math.NaN()
	if gap, _, err := c.leastGap(d); err != nil || !math.IsNaN(gap) {
		t.Errorf("a curve with NaN: gap %v, %v", gap, err)
	}
	for _, other := range []Curve{{}, Sample(Label{}, math.Sqrt, grid[1:])} {
		if _, _, err := c.leastGap(other); err == nil {
			t.Error("curves on different grids were compared")
		}
	}
	if _, _, err := (Curve{}).leastGap(Curve{}); err == nil {
		t.Error("curves without points were compared")
	}
}

// What is written reads back, number for number.
func TestWriteCSV(t *testing.T) {
	label := Label{"a, b", Lower, "gdp", dp.AddOrRemove, dp.Poisson}
	c := Sample(label, func(a float64) float64 { return Gaussian(1, a) }, alphas(t, 21))
	var buf bytes.Buffer
	if err := (Curves{c, c}).WriteCSV(&buf); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&buf).ReadAll()
	if err != nil || len(rows) != 1+2*21 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	if want := []string{"curve", "side", "accountant", "adjacency", "sampling", "alpha", "beta"}; !slices.Equal(rows[0],
		want) {
		t.Errorf("header %v", rows[0])
	}
	for i, row := range rows[1:] {
		p := c.Points[i%21]
		alpha, err1 := strconv.ParseFloat(row[5], 64)
		beta, err2 := strconv.ParseFloat(row[6], 64)
		if err := errors.Join(err1, err2); err != nil || alpha != p.Alpha || beta != p.Beta {
			t.Errorf("row %d: %v, want %v", i, row, p)
		}
		if !slices.Equal(row[:5], []string{"a, b", "lower", "gdp", "add-or-remove", "poisson"}) {
			t.Errorf("row %d: %v", i, row)
		}
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("full") }

func TestWriteCSVReportsErrors(t *testing.T) {
	if (Curves{}).WriteCSV(full{}) == nil {
		t.Error("no error from a writer that fails")
	}
}
