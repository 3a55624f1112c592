package claim

import (
	"regexp"
	"strconv"
	"testing"

	"proactivedp/dp"
	"proactivedp/dp/rdp"
)

// If someone types the numbers of a statement into an accountant, the result is not larger than the stated
// ε. For this, a sample rate that was given without batch size and N is printed with all its digits.
func TestStatementReadsBack(t *testing.T) {
	numbers := regexp.MustCompile(`(\d+) rounds with sample rate q = (\S+) and noise multiplier σ = (\S+)\. .* ` +
		`with ε ≤ (\S+) at δ = (\S+) \(`)
	acc := rdp.Accountant{Orders: []float64{8, 16, 32}} // for the test to be fast
	for i := range 60 {
		e := dp.Event{Sampling: dp.Poisson, Adjacency: dp.AddOrRemove, NoiseMultiplier: 1.2345678901,
			Rate: 0.0123456 + 1.00001e-7*float64(i), Count: 1000}
		b, err := acc.Epsilon(t.Context(), []dp.Event{e}, 1.23456789e-6)
		if err != nil {
			t.Fatal(err)
		}
		found := numbers.FindStringSubmatch(Statement(PerRecord, b, e))
		if found == nil {
			t.Fatalf("no numbers in %s", Statement(PerRecord, b, e))
		}
		var v [5]float64
		for j := range v {
			if v[j], err = strconv.ParseFloat(found[j+1], 64); err != nil {
				t.Fatal(err)
			}
		}
		back, err := acc.Epsilon(t.Context(), []dp.Event{{Sampling: dp.Poisson, Adjacency: dp.AddOrRemove, Rate: v[1],
			NoiseMultiplier: v[2], Count: int(v[0])}}, v[4])
		if err != nil || back.EpsilonUpper > v[3] {
			t.Errorf("q = %v: typed %q costs %v (%v)", e.Rate, found[1:], back.EpsilonUpper, err)
		}
	}
}
