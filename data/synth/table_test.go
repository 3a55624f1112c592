package synth

import (
	"slices"
	"testing"

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
