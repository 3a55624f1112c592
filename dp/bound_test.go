package dp_test

import (
	"encoding/json"
	"math"
	"testing"

	"proactivedp/dp"
)

// A bound is read back as written. A number that is null or missing promises nothing: as an upper end of
// 0, it would be a guarantee that nobody has proved.
func TestBoundReadsBack(t *testing.T) {
	upper := dp.Bound{Epsilon: 1, EpsilonUpper: 1, DeltaLower: 1e-5, Delta: 1e-5, DeltaUpper: 1e-5, Kind: dp.Upper,
		Accountant: "rdp", Adjacency: dp.AddOrRemove, Sampling: dp.Poisson}
	interval := upper
	interval.EpsilonLower, interval.EpsilonUpper, interval.Kind = 0.5, 1.5, dp.Interval
	open := upper
	open.EpsilonUpper, open.Kind = math.Inf(1), dp.Approximation
	for _, want := range []dp.Bound{upper, interval, open} {
		text, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		var got dp.Bound
		if err := json.Unmarshal(text, &got); err != nil || got != want {
			t.Errorf("%s is read as %+v, %v, want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{`{}`, `{"epsilon": null, "epsilon_upper": null, "delta_upper": null}`} {
		var got dp.Bound
		if err := json.Unmarshal([]byte(text), &got); err != nil || !math.IsInf(got.Epsilon, 1) ||
			!math.IsInf(got.EpsilonUpper, 1) || !math.IsInf(got.DeltaUpper, 1) || got.EpsilonLower != 0 {
			t.Errorf("%s is read as %+v, %v, want a bound that promises nothing", text, got, err)
		}
	}
}
