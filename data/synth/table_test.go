package synth

import (
	"math"
	"slices"
	"testing"

	"proactivedp/data"
	"proactivedp/rng"
)

// A table has the rows, features and share of the most frequent class that were asked for, in [0, 1], and
// depends on its root alone.
func TestTable(t *testing.T) {
	s := TableShape{Rows: 4000, Features: 7, Classes: 3, Share: 0.7}
	d, err := Table(rng.New(1), "drawn", s)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Validate(); err != nil {
		t.Fatal(err)
	}
	frequent := 0
	for _, label := range d.Label {
		if label == 0 {
			frequent++
		}
	}
	if len(d.Label) != s.Rows || d.Features != s.Features || d.Classes != s.Classes || frequent < 2650 || frequent > 2950 ||
		slices.Min(d.Value) < 0 || slices.Max(d.Value) > 1 {
		t.Errorf("%d rows of %d features in %d classes, %d of them in class 0", len(d.Label), d.Features, d.Classes, frequent)
	}
	if again, err := Table(rng.New(1), "drawn", s); err != nil || !slices.Equal(again.Value, d.Value) {
		t.Errorf("the table is another one (%v)", err)
	}
	for _, wrong := range []TableShape{{}, {Rows: 1 << 40, Features: 1, Classes: 2}, {Rows: 100, Features: 1, Classes: 1},
		{Rows: 100, Features: 1, Classes: 2, Noise: 1}, {Rows: 100, Features: 1, Classes: 2, Share: -1}} {
		if _, err := Table(rng.New(1), "wrong", wrong); err == nil {
			t.Errorf("%+v is drawn", wrong)
		}
	}
}

// The targets of a table are in their bounds, a linear function of the features explains all but the noise, and a seed
// means the same table.
func TestNumbers(t *testing.T) {
	s := TableShape{Rows: 4000, Features: 7, Noise: 0.2}
	bounds := data.TargetBounds{Low: 10, High: 50}
	d, err := Numbers(rng.New(4), "numbers", s, bounds)
	if err != nil || d.Validate() != nil || d.Classes != 1 || !d.Synthetic {
		t.Fatal(err, d.Validate())
	}
	again, err := Numbers(rng.New(4), "numbers", s, bounds)
	if err != nil || !slices.Equal(again.Targets.Value, d.Targets.Value) {
		t.Error("the same seed gives other numbers", err)
	}
	mean, variance := 0.0, 0.0
	for _, v := range d.Targets.Value {
		mean += float64(v) / float64(s.Rows)
		variance += float64(v) * float64(v) / float64(s.Rows)
	}
	if deviation := math.Sqrt(variance - mean*mean); math.Abs(mean) > 0.03 || math.Abs(deviation-targetSpread) > 0.03 {
		t.Errorf("mean %v, standard deviation %v", mean, deviation)
	}
	// The features that have weight are correlated with the targets, the others only by their class.
	if r := correlation(d, 0); math.Abs(r) < 0.1 {
		t.Errorf("feature 0 has the correlation %v", r)
	}
	for _, bad := range []TableShape{{Rows: 100, Features: 3, Classes: 2}, {Rows: 100, Features: 3, Share: 0.5}, {Rows: 100}} {
		if _, err := Numbers(rng.New(4), "numbers", bad, bounds); err == nil {
			t.Errorf("%+v is not refused", bad)
		}
	}
}

func correlation(d *data.Dataset, feature int32) float64 {
	var x, y, xx, yy, xy, n float64
	for i, t := range d.Targets.Value {
		row, v := d.Row(i), 0.0
		if j := slices.Index(row.Index, feature); j >= 0 {
			v = float64(row.Value[j])
		}
		x, y, xx, yy, xy, n = x+v, y+float64(t), xx+v*v, yy+float64(t)*float64(t), xy+v*float64(t), n+1
	}
	return (n*xy - x*y) / math.Sqrt((n*xx-x*x)*(n*yy-y*y))
}
