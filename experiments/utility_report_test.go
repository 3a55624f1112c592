package experiments

import (
	"strings"
	"testing"

	"proactivedp/train"
	"proactivedp/train/pool"
)

// The text warns if w* is no better than guessing, and only then.
func TestUtilityTextWarnsOfAGuess(t *testing.T) {
	r := UtilityReport{Majority: 0.75, Lines: []*pool.Utility{{Clip: 0.5, Accuracy: 0.75}, {Clip: 2, Accuracy: 0.76}}}
	var text strings.Builder
	if err := r.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(strings.Fields(text.String()), " "); !strings.Contains(got,
		"baseline 0.7500 0.7500") ||
		!strings.Contains(got, "WARNING: C = 0.5: "+train.MajorityWarning) || strings.Contains(got, "C = 2: ") {
		t.Errorf("it says\n%s", got)
	}
}
