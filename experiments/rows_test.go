package experiments

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"proactivedp/dp/claim"
	"proactivedp/internal/report"
	"proactivedp/train"
)

// In the table of a figure, ε is rounded up, and the reference has none.
func TestPrivacyRows(t *testing.T) {
	var all []member
	var privacy []claim.Report
	for i, change := range []func(*train.Spec){
		func(s *train.Spec) { s.NoiseMultiplier = 0 },
		func(s *train.Spec) { s.NoiseMultiplier, s.GradComps, s.SampleSize, s.Delta = 60, 600, "1", 1e-5 },
		func(s *train.Spec) { s.Sampling = "fixed" },
	} {
		spec := smallSpec()
		change(&spec)
		all = append(all, member{name: fmt.Sprint("m", i), reference: i == 0})
		planned, err := prepared(t, spec, drawn()).PlannedPrivacy(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		privacy = append(privacy, planned)
	}
	rows := privacyRows(all, privacy, []string{"0.5", "0.6", "0.7"})
	if got := strings.Join(rows[1], " "); got != "m0 0.5 50 – – –" {
		t.Errorf("without noise: %s", got)
	}
	if got := rows[3]; !strings.HasPrefix(got[3], "ε ≤ ") || got[5] != report.NotCovered {
		t.Errorf("fixed sampling: %s", got)
	}
	want := []*float64{
		privacy[1].Certified.PerClient.EpsilonUpper, privacy[1].Certified.PerRecord.EpsilonUpper,
		privacy[1].ClosedForm.PerClient.EpsilonUpper,
	}
	for i, cell := range rows[2][3:] {
		got, err := strconv.ParseFloat(strings.TrimPrefix(cell, "ε ≤ "), 64)
		if err != nil || got < *want[i] || got > *want[i]*1.002 {
			t.Errorf("%s: %s for %v", rows[0][3+i], cell, *want[i])
		}
	}
}
