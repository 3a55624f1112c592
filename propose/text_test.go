package propose

import (
	"strings"
	"testing"
)

// An accuracy that is below what was wanted is not shown as that.
func TestTooAccurateShowsWhatIsBelow(t *testing.T) {
	s := &searcher{Request: Request{TargetAccuracy: 0.95}}
	text := s.tooAccurate(1, 0.94996, []Point{{Epsilon: 2, Prediction: Prediction{Accuracy: 0.95004}}}).Error()
	for _, want := range []string{"is 0.9499, below 0.95", "lower the target accuracy to 0.949", "allow ε = 2, where"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q does not say %q", text, want)
		}
	}
}

// Drawn data are said to be drawn, whoever looked at them.
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
