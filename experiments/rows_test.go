package experiments

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
)

// The table of a figure: ε rounded up, and none for the reference.
func TestPrivacyRows(t *testing.T) {
	var all []member
	var privacy []PrivacyReport
	for i, change := range []func(*TrainSpec){
		func(s *TrainSpec) { s.NoiseMultiplier = 0 }, manyRounds, func(s *TrainSpec) { s.Sampling = "fixed" },
	} {
		all = append(all, member{name: fmt.Sprint("m", i), reference: i == 0})
		privacy = append(privacy, planned(t, change))
	}
	rows := privacyRows(all, privacy)
	if got := strings.Join(rows[1], " "); got != "m0 50 – – – –" {
		t.Errorf("without noise: %s", got)
	}
	if got := rows[3]; !strings.HasPrefix(got[2], "ε ≤ ") || got[4] != notCovered || got[5] != notCovered {
		t.Errorf("fixed sampling: %s", got)
	}
	want := []*float64{
		privacy[1].Certified.PerClient.EpsilonUpper, privacy[1].Certified.PerRecord.EpsilonUpper,
		privacy[1].PerClient.EpsilonUpper, privacy[1].PerRecord.EpsilonUpper,
	}
	for i, cell := range rows[2][2:] {
		got, err := strconv.ParseFloat(strings.TrimPrefix(cell, "ε ≤ "), 64)
		if err != nil || got < *want[i] || got > *want[i]*1.002 {
			t.Errorf("%s: %s for %v", rows[0][2+i], cell, *want[i])
		}
	}
}
