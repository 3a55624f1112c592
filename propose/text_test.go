package propose

import (
	"strings"
	"testing"
)

// An accuracy below the target is never rounded up to the target in a text.
func TestTooAccurateShowsWhatIsBelow(t *testing.T) {
	s := &searcher{Request: Request{TargetAccuracy: 0.95}}
	text := s.tooAccurate(1, 0.94996, []Point{{Epsilon: 2, Prediction: Prediction{Accuracy: 0.95004}}}).Error()
	for _, want := range []string{"is 0.9499, below 0.95", "lower the target accuracy to 0.949", "allow ε = 2, where"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q does not say %q", text, want)
		}
	}
}

// The printed ends of an interval are rounded outwards.
func TestIntervalIsShownWhole(t *testing.T) {
	for want, p := range map[string]Prediction{
		"0.920–0.942": {Low: 0.9204, High: 0.9416}, "0.920–0.941": {Low: 0.9206, High: 0.9401},
		"0.500–0.750": {Low: 0.5, High: 0.75}, "0.000–1.000": {Low: 0.0004, High: 0.9996}, "0.999–1.000": {Low: 0.9996,
			High: 1},
	} {
		r := &Report{
			Proposals: []Proposal{{Prediction: p}},
			Frontier:  []Point{{Epsilon: 1, Prediction: p}},
		}
		var text strings.Builder
		if err := r.WriteText(&text); err != nil {
			t.Fatal(err)
		}
		if got := strings.Count(text.String(), " "+want+" "); got != 2 {
			t.Errorf("[%v, %v] is shown as %s %d times, want twice:\n%s", p.Low, p.High, want, got, text.String())
		}
	}
}

// The report says that drawn data are drawn, for every kind of probing.
func TestDrawnDataAreSaidToBe(t *testing.T) {
	for _, probing := range []Probing{Own, Private} {
		r := &Report{Data: "drawn", Probe: Probe{Kind: probing, Synthetic: true, Private: &PrivateProbe{}}}
		var text strings.Builder
		if err := r.WriteText(&text); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(text.String(), "on drawn (SYNTHETIC data)") {
			t.Errorf("%s: %s", probing, text.String())
		}
	}
}

// Means over different numbers of seeds do not compare, so the report says which settings have how many.
func TestReportSaysHowManySeedsJudged(t *testing.T) {
	seeds := func(counts ...int) (all []Proposal) {
		for _, n := range counts {
			all = append(all, Proposal{Seeds: make([]float64, n)})
		}
		return all
	}
	for want, all := range map[string][]Proposal{
		" rows for each of 10 seeds, after": seeds(10, 10),
		" for each of 80 seeds (setting 1), 10 seeds (settings 2 to 4), so that only settings with as many seeds compare, ": seeds(80, 10, 10, 10),
		" for each of 40 seeds (settings 1 to 2), 20 seeds (setting 3), so that ":                                           seeds(40, 40, 20),
	} {
		var text strings.Builder
		if err := (&Report{Proposals: all}).WriteText(&text); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in\n%s", want, text.String())
		}
	}
}
