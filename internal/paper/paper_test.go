package paper

import "testing"

func TestPrintedShows(t *testing.T) {
	for _, c := range []struct {
		printed Number
		v       float64
		want    bool
	}{
		{"4.27273", 4.272737, true}, {"4.27273", 4.272745, false}, {"4.27273", 4.272726, true},
		{"4.27273", 4.272724, false},
		{"0.00001667", 1.0 / 60000, true}, {"26", 26.9, true}, {"26", 25.99, false}, {"26", 27, false},
		{"2.0", 2.06, true}, {"2.0", 1.94, false},
	} {
		if got := c.printed.Shows(c.v); got != c.want {
			t.Errorf("%s shows %v: %v", c.printed, c.v, got)
		}
	}
	if Number("0.1").IsNear(0.10788) || Number("1.5").IsNear(1.24976) || !Number("1.0").IsNear(1.009) {
		t.Error("labels of round ε")
	}
}
