package dist

import (
	"testing"
)

// A training to its end: each update once, T rounds in every ledger, and the result is
// the fold of what was sent.
func TestATrainingInOneProcess(t *testing.T) {
	r := newTestRun(t, smallSpec(40), drawn())
	report, joined := r.run(t.Context())
	r.checkFold(report)
	if report.Updates != 120 || report.Rounds != 40 || report.MaxLag > 1 || len(report.Refused) > 0 {
		t.Errorf("%+v", report)
	}
	for c, j := range joined {
		if j.Rounds != 40 || j.Client != c || j.MaxLag > 1 {
			t.Errorf("client %d: %+v", c, j)
		}
	}
	if names := report.Privacy.Noise; len(names) != 3 || report.Privacy.Simulation || names[0] == names[1] {
		t.Errorf("noise of %v", names)
	}
}
