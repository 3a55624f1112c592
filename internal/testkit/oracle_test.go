package testkit

import "testing"

// Every field parses and is in its range.
func TestRowsParse(t *testing.T) {
	rows, err := Accountants()
	if err != nil {
		t.Fatal(err)
	}
	noises, err := Noises()
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != 1053 || len(noises) != 60 {
		t.Errorf("%d rows and %d calibrations, want 1053 and 60", len(rows), len(noises))
	}
	for _, r := range rows {
		if !(r.Q > 0 && r.Q <= 1 && r.Sigma > 0 && r.T > 0 && r.Delta > 0 && r.Delta < 1 && r.Epsilon >= 0) {
			t.Errorf("%+v", r)
		}
	}
	for _, n := range noises {
		if !(n.Q > 0 && n.Q <= 1 && n.Sigma > 0 && n.T > 0 && n.Delta > 0 && n.Delta < 1 && n.Epsilon > 0) {
			t.Errorf("%+v", n)
		}
	}
}
