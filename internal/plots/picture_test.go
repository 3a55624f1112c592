package plots

import (
	"math"
	"strings"
	"testing"

	"gonum.org/v1/plot"
)

// No tick lies beyond the end of an axis. It would leave a gap.
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

// Powers of ten are labelled as such if one of them is long and the typeface has them all.
func TestLongPowers(t *testing.T) {
	for _, c := range []struct {
		lo, hi float64
		want   string
	}{
		{1, 1e4, "1 10 100 1000 10000"},
		{1, 1e5, "1 10 10² 10³ 10⁴ 10⁵"},
		{60_000, 1.8e6, "10⁵ 10⁶"},
		{1e7, 1e9, "1e+07 1e+08 1e+09"},
		{0.09, 1e5, "0.1 1 10 100 1000 10000 100000"},
	} {
		var names []string
		for _, mark := range (decades{}).Ticks(c.lo, c.hi) {
			if mark.Label != "" && mark.Value >= c.lo {
				names = append(names, mark.Label)
			}
		}
		if got := strings.Join(names, " "); got != c.want {
			t.Errorf("the axis from %v to %v has the names %s, want %s", c.lo, c.hi, got, c.want)
		}
	}
	for _, name := range Fonts {
		style := Style{Font: name}.text(10, nil)
		for _, label := range powers {
			if got := (marking{plot.DefaultTextHandler}).marked(label, style.Font); got != label {
				t.Errorf("%s: %s is drawn as %s", name, label, got)
			}
		}
	}
}
