package experiments

import "testing"

// Of two releases, the one with the larger ε is worse. A release without any ε is worse than that, and an
// unknown one is worst.
func TestWhichReleaseIsWorse(t *testing.T) {
	of := func(least, epsilon string) []string { return []string{least, "", "", "", "", epsilon} }
	order := [][]string{of("10", "0.9"), of("9", "1"), of("10", ""), of("", "")}
	for i, a := range order {
		for j, b := range order {
			if got := worsePaid(a, b); (got > 0) != (i > j) || (got < 0) != (i < j) {
				t.Errorf("%q compared with %q: %d", a, b, got)
			}
		}
	}
}
