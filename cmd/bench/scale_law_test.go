package main

import (
	"io"
	"math"
	"testing"

	"proactivedp/internal/testkit"
	"proactivedp/train"
)

// lawfulPoints are what a law says, on the grid that is measured.
func lawfulPoints(l *scaleLaw) []scalePoint {
	var points []scalePoint
	for _, d := range []int{69, 1025, 16385} {
		for _, n := range []int{1, 5, 10, 100, 1000, 10_000} {
			ns := l.Nanoseconds(n, d)
			points = append(points, scalePoint{
				Runner: train.VirtualRunner, Model: train.Ridge, Clients: n, Params: d,
				Nanoseconds: ns, Least: ns, Most: ns, MiB: l.MiB(n, d),
			})
		}
	}
	return points
}

// If the costs follow a law exactly, the fit gives this law.
func TestScaleLawIsRecovered(t *testing.T) {
	want := &scaleLaw{A: 600, B: 20, C: 1.4, E: 200, F: 0.15, Cache: 1 << 19, Base: 18 << 20, Client: 800, Vectors: 3}
	points := lawfulPoints(want)
	got, err := fitScale(points)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ got, want float64 }{
		{got.A, want.A}, {got.B, want.B}, {got.C, want.C}, {got.E, want.E}, {got.F, want.F},
		{got.Cache, want.Cache}, {got.Base, want.Base}, {got.Client, want.Client}, {got.Vectors, want.Vectors},
	} {
		if math.Abs(c.got-c.want) > 1e-6*c.want {
			t.Errorf("%v, want %v of the law %+v", c.got, c.want, want)
		}
	}
	if got.Time.Worst > 1e-9 || got.Memory.Worst > 1e-9 {
		t.Errorf("residuals %+v and %+v of exact points", got.Time, got.Memory)
	}
	points[3].Nanoseconds *= 2
	if off, err := fitScale(points); err != nil || off.Time.Worst < 0.2 || off.Time.RMS > off.Time.Worst {
		t.Errorf("residuals %+v, %v where a point is off by a factor of 2", off.Time, err)
	}
	if _, err := fitScale(points[:4]); err == nil {
		t.Error("a law from 4 points")
	}
}

func TestScaleFiguresAreDrawn(t *testing.T) {
	law := &scaleLaw{A: 600, B: 20, C: 1.4, E: 200, F: 0.15, Cache: 1 << 19, Base: 18 << 20, Client: 800, Vectors: 3}
	points := append(lawfulPoints(law), scalePoint{Runner: train.HogwildRunner, Model: train.Ridge, Clients: 5,
		Params: 69, Nanoseconds: 1e3, Least: 900, Most: 2000, MiB: 20})
	for name, q := range map[string]scaleQuantity{"scale-time": timeCost, "scale-memory": memoryCost} {
		testkit.Golden(t, name, func(w io.Writer) error { return q.draw(w, points, law, "caption") })
	}
}
