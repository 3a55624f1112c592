package plots

import (
	"math"
	"testing"
)

// No tick lies beyond the end of an axis: there would be a gap.
func TestDecadesEndWithTheAxis(t *testing.T) {
	for top := range 15 {
		hi := math.Pow10(top + 1)
		marks := decades{}.Ticks(1, hi)
		if last := marks[len(marks)-1]; last.Value != hi || last.Label == "" {
			t.Errorf("the axis to %v ends with the tick %+v", hi, last)
		}
	}
}

// An axis of less than two powers of ten says what its ends are.
func TestShortDecadesAreNamed(t *testing.T) {
	for _, ends := range [][2]float64{{1600, 64000}, {2.1, 8.9}, {0.012, 0.97}, {1, 9.9}} {
		var names []string
		for _, mark := range (decades{}).Ticks(ends[0], ends[1]) {
			if mark.Label != "" && mark.Value >= ends[0] {
				names = append(names, mark.Label)
			}
		}
		if len(names) < 2 {
			t.Errorf("the axis from %v to %v has the names %q", ends[0], ends[1], names)
		}
	}
	for _, mark := range (decades{}).Ticks(1, 1000) {
		if digit := mark.Label; digit != "" && digit[0] != '1' {
			t.Errorf("the axis from 1 to 1000 has the name %s", digit)
		}
	}
}
