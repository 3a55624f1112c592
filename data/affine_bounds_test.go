package data

import (
	"strings"
	"testing"
)

// Bounds for another number of columns, or only lower or only upper bounds, are an error and cause no
// panic.
func TestMappedNeedsBoundsOfAllColumns(t *testing.T) {
	d, err := FromRows("two", [][]float32{{1, 2}, {3, 4}}, []int32{0, 1})
	if err != nil {
		t.Fatal(err)
	}
	for _, bounds := range [][2][]float64{
		{{0}, {5}}, {{0, 0}, nil}, {nil, {5, 5}}, {{0, 0}, {5}}, {{0, 0, 0}, {5, 5, 5}},
	} {
		m := Affine{Shift: []float64{0, 0}, Scale: []float64{1, 1}, Low: bounds[0], High: bounds[1]}
		if _, err := d.Mapped(m); err == nil || !strings.Contains(err.Error(), "must be for all 2") {
			t.Errorf("bounds %v: error %v", bounds, err)
		}
	}
}
