package data

import (
	"math"
	"slices"
	"strings"
	"testing"
)

func TestFromRows(t *testing.T) {
	rows, labels := [][]float32{{0, 1.5, 0}, {0, 0, 0}, {-1, 0, 2}}, []int32{2, 0, 1}
	d, err := FromRows("own", rows, labels)
	if err != nil {
		t.Fatal(err)
	}
	rows[0][1], labels[0] = 9, 0 // nothing of them is kept
	if d.Features != 3 || d.Classes != 3 || d.Len() != 3 || !slices.Equal(d.Label, []int32{2, 0, 1}) {
		t.Errorf("%d rows of %d features in %d classes: %v", d.Len(), d.Features, d.Classes, d.Label)
	}
	for i, want := range []Row{{[]int32{1}, []float32{1.5}}, {}, {[]int32{0, 2}, []float32{-1, 2}}} {
		if got := d.Row(i); !slices.Equal(got.Index, want.Index) || !slices.Equal(got.Value, want.Value) {
			t.Errorf("row %d = %v, want %v", i, got, want)
		}
	}
	if one, err := FromRows("one class", [][]float32{{1}}, []int32{0}); err != nil || one.Classes != 2 {
		t.Errorf("one class: %v", err)
	}
	inf := float32(math.Inf(1))
	for want, c := range map[string]struct {
		rows   [][]float32
		labels []int32
	}{
		"no rows":                      {nil, nil},
		"2 rows and 1 labels":          {[][]float32{{1}, {2}}, []int32{0}},
		"row 1 has 2 features":         {[][]float32{{1}, {2, 3}}, []int32{0, 1}},
		"label -1, must be in [0, 2)":  {[][]float32{{1}}, []int32{-1}},
		"column 0: value +Inf is not ": {[][]float32{{inf}}, []int32{0}},
	} {
		if _, err := FromRows("d", c.rows, c.labels); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
