package results

import "testing"

// Cells of tables are the same if they differ in how they are rounded alone.
func TestSameCell(t *testing.T) {
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"x", "x", true}, {"6.571925", "6.57192", true}, {"6.5719", "6.5729", false}, {"", "1", false},
		{"ε 0.5 (σ 6.572, s 689)", "ε 0.5 (σ 6.571, s 689)", true},
		{"ε 0.5 (σ 6.58, s 689)", "ε 0.5 (σ 6.56, s 689)", false},
		{"ε 0.5", "C 0.5", false}, {"1e-05", "1.000001e-05", true}, {"-1", "1", false},
	} {
		if got := sameCell(c.a, c.b, 5e-6); got != c.same {
			t.Errorf("%q and %q: %v", c.a, c.b, got)
		}
	}
	if _, err := (Table{Header: []string{"a"}}).Runs(1, "b"); err == nil {
		t.Error("a column that is not there was found")
	}
}

// A certified ε of a committed table may be the end of a wider interval, up to 0.1 %; other numbers may not differ.
func TestTablesDifferByMoreThanTheWidthOfIntervals(t *testing.T) {
	stored := Table{Header: []string{"epsilon_per_record", "sigma"}, Rows: [][]string{{"1.0005", "2"}}}
	for _, c := range []struct {
		epsilon, sigma string
		differs        bool
	}{
		{"1.0005", "2", false},
		{"1", "2", false},
		{"0.999", "2", true},
		{"1.0005", "2.0005", true},
	} {
		if got := stored.Differs([][]string{stored.Header, {c.epsilon, c.sigma}}); (got != "") != c.differs {
			t.Errorf("ε = %s, σ = %s: %q, must differ: %v", c.epsilon, c.sigma, got, c.differs)
		}
	}
}
