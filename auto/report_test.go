package auto

import (
	"strings"
	"testing"

	"proactivedp/train"
)

// The report prints each accuracy next to the accuracy of guessing. If the model is not better, the report
// says that it shows nothing. It speaks of the worst client only if there are several clients.
func TestReportSaysWhatGuessingGives(t *testing.T) {
	for _, c := range []struct {
		accuracy  float64
		clients   int
		says, not string
	}{
		{0.9, 1, "0.9000 on test records, which decided no stage: 0 rows of \nbaseline        0.5500 by always predicting", "WARNING"},
		{0.55, 1, "WARNING         " + train.MajorityWarning, "worst client"},
		{0.9, 2, "0.9000 on test records, which decided no stage (the worst client's): ", "WARNING"},
	} {
		r := Report{Tested: Tested{TestAccuracy: c.accuracy, MajorityShare: 0.55},
			Clients: make([]ClientReport, c.clients)}
		var text strings.Builder
		if err := r.WriteText(&text); err != nil {
			t.Fatal(err)
		}
		if got := text.String(); !strings.Contains(got, c.says) || strings.Contains(got, c.not) {
			t.Errorf("%d clients at %v: %s\nmust have %q and not %q", c.clients, c.accuracy, got, c.says, c.not)
		}
	}
}
