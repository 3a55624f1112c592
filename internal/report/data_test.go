package report

import "testing"

func TestDataSaysWhatIsToBeKnown(t *testing.T) {
	for _, c := range []struct {
		synthetic  bool
		note, want string
	}{
		{false, "", "phishing"},
		{true, "", "phishing (SYNTHETIC data)"},
		{false, "every second row", "phishing; every second row"},
		{true, "every second row", "phishing (SYNTHETIC data); every second row"},
	} {
		if got := Data("phishing", c.synthetic, c.note); got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
}
