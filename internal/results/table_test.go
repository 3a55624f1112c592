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
