package paper

import (
	"slices"
	"testing"
)

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

// Every figure about which the paper makes a claim has its number there, and no two have the same.
func TestFiguresHaveTheirNumbers(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range figures {
		if seen[f.name] || seen[f.number] {
			t.Errorf("Figure %s, %s, is listed twice", f.number, f.name)
		}
		seen[f.name], seen[f.number] = true, true
		if !slices.ContainsFunc(Claims(), func(c Claim) bool { return c.Figure == f.name }) {
			t.Errorf("there is no claim about %s", f.name)
		}
	}
	for _, c := range Claims() {
		if Place(c.Figure) == Place("own-epsilon") {
			t.Errorf("%s has no number", c.Figure)
		}
	}
	if Place("phishing-logreg-sample-size-equal") != Place("phishing-logreg-sample-size") ||
		Place("mnist-lenet-step-size") != Place("mnist-lenet-epsilon") {
		t.Error("a companion is not next to the paper's figure")
	}
	if got := Titled("phishing-logreg-epsilon", "T") + Titled("own-epsilon", "T") + Titled("mnist-lenet-step-size", "T"); got != "Figure 1c: TTT" {
		t.Errorf("titles %q", got)
	}
}
