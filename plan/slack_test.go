package plan

import "testing"

// The remaining budget is rounded down, and a small missing amount is never shown as nothing.
func TestSlackIsRoundedDown(t *testing.T) {
	for margin, want := range map[float64]string{
		0: "+0.00 %", 0.01239: "+1.23 %", -0.01231: "-1.24 %", 0.99999: "+99.99 %", 0.00009: "+0.00 %",
		1.5: "+150.00 %", -1e-12: "-0.01 %", -1: "-100.00 %",
	} {
		if got := slack(margin); got != want {
			t.Errorf("a margin of %v is shown as %s, want %s", margin, got, want)
		}
	}
}
