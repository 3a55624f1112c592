package claim

import (
	"math"
	"strings"
	"testing"

	"proactivedp/dp"
)

func event(size, n, count int, sigma float64) dp.Event {
	return dp.Event{
		Sampling: dp.Poisson, Adjacency: dp.AddOrRemove, NoiseMultiplier: sigma, SampleSize: size, DatasetSize: n, Count: count,
	}
}

// A statement says what is released, for whom, ε, δ, adjacency, sampling,
// accountant, and whether it is a guarantee.
func TestStatement(t *testing.T) {
	bound := func(k dp.Kind, lo, eps, hi float64) dp.Bound {
		return dp.Bound{EpsilonLower: lo, Epsilon: eps, EpsilonUpper: hi, DeltaLower: 1e-5, Delta: 1e-5, DeltaUpper: 1e-5, Kind: k, Accountant: "some", Adjacency: dp.ReplaceOne, Sampling: dp.FixedSize}
	}
	e := event(100, 10000, 500, 8.25)
	all := []string{"noised sum of clipped gradients of every round", "intermediate and the final model", "replace-one adjacency with fixed-size sampling", "at δ = 1e-05", "some", "fixed before the first release", "when to stop, by what was released is not included"}
	for _, tt := range []struct {
		text string
		want []string
		not  string
	}{
		{Statement(PerRecord, bound(dp.Upper, 0, 1.234561, 1.234561), e), append(all, "all clients that hold it", "500 rounds with sample rate q = 0.01 and noise multiplier σ = 8.25 (s = 100 of N = 10000)", "ε ≤ 1.2346 at", "an upper bound"), "APPROX"},
		{Statement(PerClient, bound(dp.Interval, 1.23456, 1.23457, 1.234561), e), append(all, "that client only", "ε ≤ 1.2346", "at least 1.2345", "certified"), "APPROX"},
		{Statement(PerRecord, bound(dp.Exact, 1.5, 1.5, 1.5), e), append(all, "ε = 1.5 at", "exact"), "APPROX"},
		{Statement(PerRecord, bound(dp.Approximation, 0, 1.5, math.Inf(1)), e), append(all, "about 1.5", "APPROXIMATION", "not a guarantee"), "≤"},
		{Statement(PerRecord, bound(dp.Interval, 1, 2, math.Inf(1)), e), []string{"No ε can be stated", "some accountant"}, "Inf"},
		{Statement(PerRecord, bound(dp.Upper, 0, 1, 1)), []string{"and the final model. For one record"}, ": ."},
		{Statement(PerRecord, bound(dp.Upper, 0, 1, 1), e, event(1, 10000, 1, 3), e, e), []string{"1501 rounds with sample rates q from 0.0001 to 0.01 and noise multipliers σ from 3 to 8.25"}, "s ="},
	} {
		for _, want := range tt.want {
			if !strings.Contains(tt.text, want) {
				t.Errorf("no %q in %s", want, tt.text)
			}
		}
		if strings.Contains(tt.text, tt.not) || strings.Contains(tt.text, "\n") {
			t.Errorf("%q in %s", tt.not, tt.text)
		}
	}
}
