package report

import "testing"

func TestSpread(t *testing.T) {
	for _, c := range []struct {
		x        []float64
		mean, sd float64
	}{{[]float64{3}, 3, 0}, {[]float64{1, 2, 3}, 2, 1}, {[]float64{5, 5}, 5, 0}} {
		if mean, sd := Spread(c.x); mean != c.mean || sd != c.sd {
			t.Errorf("%v: %v ± %v, want %v ± %v", c.x, mean, sd, c.mean, c.sd)
		}
	}
}

func TestMedian(t *testing.T) {
	x := []float64{9, 1, 8, 2, 7, 3, 6, 4, 5, 10}
	if even, odd, none := Median(x), Median(x[:9]), Median(nil); even != 5.5 || odd != 5 || none != 0 || x[0] != 9 {
		t.Errorf("medians %v, %v and %v, want 5.5, 5 and 0; the numbers are now %v", even, odd, none, x)
	}
}

func TestSpreadText(t *testing.T) {
	if one, two := SpreadText(0.5, 0, 1), SpreadText(0.5, 0.012345, 2); one != "0.5000" || two != "0.5000 ± 0.0123" {
		t.Errorf("%q and %q", one, two)
	}
}
