package dp

import (
	"math"
	"strings"
	"testing"
)

// An event has either a rate or sizes. All its errors are reported at once.
func TestEventValidate(t *testing.T) {
	good := Event{Sampling: Poisson, Adjacency: AddOrRemove, NoiseMultiplier: 1, Rate: 0.1, Count: 1}
	for _, c := range []struct {
		set  func(*Event)
		want []string // none if it is valid
	}{
		{func(*Event) {}, nil},
		{func(e *Event) { e.Rate = 1 }, nil},
		{func(e *Event) { e.Rate, e.SampleSize, e.DatasetSize = 0, 1, 1 }, nil},
		{func(e *Event) { e.Rate, e.SampleSize, e.DatasetSize = 0, 10, 10 }, nil},
		{func(e *Event) { e.NoiseMultiplier = 0 }, nil},
		{func(e *Event) { e.SampleSize = 1 }, []string{"sample rate = 0.1 and sample size = 1 of N = 0"}},
		{func(e *Event) { e.DatasetSize = 10 }, []string{"sample rate = 0.1 and sample size = 0 of N = 10"}},
		{func(e *Event) { e.Rate = math.Nextafter(1, 2) }, []string{"sample rate = 1.0000000000000002"}},
		{func(e *Event) { e.Rate = -0.1 }, []string{"sample rate = -0.1"}},
		{func(e *Event) { e.Rate = math.NaN() }, []string{"sample rate = NaN"}},
		{func(e *Event) { e.Rate = 0 }, []string{"data set size N = 0"}},
		{func(e *Event) { e.Group = MaxGroup }, nil},
		{func(e *Event) { e.Group = MaxGroup + 1 }, []string{"group = 1001, must be in [1, 1000]"}},
		{func(e *Event) { e.Group = -1 }, []string{"group = -1, must be in [1, 1000]"}},
		{func(e *Event) { e.Truncated = 5 }, []string{"truncated batch size = 5, must be in [1, N = 0]"}},
		{func(e *Event) { e.DatasetSize, e.Truncated = 10, 10 }, nil},
		{func(e *Event) { e.DatasetSize, e.Truncated = 10, 11 }, []string{"truncated batch size = 11, must be in [1, N = 10]"}},
		{func(e *Event) { e.DatasetSize, e.Truncated = 10, -1 }, []string{"truncated batch size = -1"}},
		{func(e *Event) { e.Sampling, e.Redraw = Allocation, Once }, nil},
		{func(e *Event) { e.Sampling = Allocation }, []string{`redraw = "", must be`}},
		{func(e *Event) { e.Sampling, e.Redraw, e.Rate = Allocation, Once, 0.1001 }, []string{"must be 1/t of t batches"}},
		{func(e *Event) { e.Sampling, e.Redraw, e.Rate = Allocation, Once, 9e-9 }, []string{"must be at least 1e-08"}},
		{func(e *Event) { e.Rate, e.DatasetSize = 0, 10 }, []string{"sample size = 0, must be in [1, N = 10]"}},
		{func(e *Event) { e.Rate, e.SampleSize, e.DatasetSize = 0, 11, 10 },
			[]string{"sample size = 11, must be in [1, N = 10]"}},
		{func(e *Event) { e.NoiseMultiplier, e.Count = math.Inf(1), 0 },
			[]string{"noise multiplier = +Inf", "count of rounds = 0"}},
		{func(e *Event) { e.Sampling, e.Adjacency, e.NoiseMultiplier = "some", "near", -1 },
			[]string{`sampling = "some"`, `adjacency = "near"`, "noise multiplier = -1"}},
	} {
		e := good
		c.set(&e)
		err := e.Validate()
		if (err != nil) != (c.want != nil) {
			t.Errorf("%+v: %v", e, err)
		}
		for _, want := range c.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%+v: %v, want %q", e, err, want)
			}
		}
	}
}
