package libraries

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"proactivedp/dp"
)

// Records of rounds of several kinds are read back as the same rounds. In a history of Opacus, the rates are those with which
// Opacus draws.
func TestRecordsAreReadBack(t *testing.T) {
	rounds := func(sigma, rate float64, count int) dp.Event {
		return dp.Event{Sampling: dp.Poisson, Adjacency: dp.AddOrRemove, NoiseMultiplier: sigma, Rate: rate, Count: count}
	}
	other := func(o dp.Other, count int) dp.Event {
		return dp.Event{Other: o, Sampling: dp.Unsampled, Adjacency: dp.AddOrRemove, Count: count}
	}
	laplace, pure, approximate, concentrated := other(dp.LaplaceNoise, 1), other(dp.PureDP, 2), other(dp.ApproximateDP, 1), other(dp.ConcentratedDP, 3)
	laplace.NoiseMultiplier, pure.Epsilon, approximate.Epsilon, approximate.Delta, concentrated.Rho = 1./3, 0.1, 0.5, 1e-7, 0.01
	allocation := dp.Event{Sampling: dp.Allocation, Adjacency: dp.AddOrRemove, NoiseMultiplier: 1, Rate: 1. / 98, Redraw: dp.EachEpoch, Count: 980}
	truncated := rounds(1, 0.01, 40)
	truncated.Truncated, truncated.DatasetSize = 500, 30_000
	bound := dp.Bound{Kind: dp.Upper, EpsilonUpper: 1, Epsilon: 1, Sampling: dp.Poisson, Adjacency: dp.AddOrRemove}
	of := func(s dp.Sampling) dp.Bound { b := bound; b.Sampling = s; return b }
	for _, c := range []struct {
		bound  dp.Bound
		events []dp.Event
	}{
		{bound, []dp.Event{rounds(1.1, 1./3, 1)}},
		{bound, []dp.Event{rounds(1.1, 0.004, 10_000), rounds(2, 0.1, 1), rounds(1e6, 1, 5)}},
		{bound, []dp.Event{laplace, rounds(1.1, 0.004, 10_000), approximate, pure, concentrated}},
		{of(dp.Unsampled), []dp.Event{laplace}},
		{of(dp.Allocation), []dp.Event{allocation, laplace}},
		{bound, []dp.Event{truncated}},
	} {
		r, err := OfEvents(c.events, c.bound)
		if err != nil {
			t.Fatal(err)
		}
		code, err := Write(DPAccounting, r)
		h, readErr := Read([]byte(code.Text), dp.Poisson, "")
		if err := errors.Join(err, readErr); err != nil || !reflect.DeepEqual(h.Events, c.events) {
			t.Errorf("%s: %+v, want %+v: %v", code.Text, h.Events, c.events, err)
		}
		if opacus, err := Write(Opacus, r); c.events[0].Truncated > 0 && !errors.Is(err, dp.ErrNotCovered) {
			t.Errorf("code that does not cut batches: %s, %v", opacus.Text, err)
		}
		code, err = Write(OpacusHistory, r)
		if trained := c.bound.Sampling == dp.Poisson && c.events[0].Other == "" && c.events[0].Truncated == 0; !trained {
			if !errors.Is(err, dp.ErrNotCovered) {
				t.Errorf("a history of %+v: %s, %v", c.events, code.Text, err)
			}
			continue
		}
		h, readErr = Read([]byte(code.Text), dp.Poisson, "")
		for i, e := range h.Events {
			if want := c.events[i]; e.Rate != drawnRate(want.Rate) || e.NoiseMultiplier != want.NoiseMultiplier || e.Count != want.Count {
				t.Errorf("%s: %+v, want %+v", code.Text, e, want)
			}
		}
		if err := errors.Join(err, readErr); err != nil || len(h.Events) != len(c.events) {
			t.Errorf("%s: %+v, %v", code.Text, h, err)
		}
	}

	// A plan of several clients that hold a record has the rounds of all of them.
	code, err := Write(OpacusHistory, Release{Event: rounds(1.5, 0.25, 10), Bound: bound, Holders: 3})
	if want := `{"history": [[1.5,0.25,30]], "mechanism": "rdp"}` + "\n"; err != nil || code.Text != want {
		t.Errorf("%s, %v, want %s", code.Text, err, want)
	}
}

// What a record cannot express is refused.
func TestRecordsThatCannotBeWritten(t *testing.T) {
	poisson := dp.Event{Sampling: dp.Poisson, Adjacency: dp.AddOrRemove, NoiseMultiplier: 1, Rate: 0.1, Count: 3}
	with := func(change func(e *dp.Event)) dp.Event {
		e := poisson
		change(&e)
		return e
	}
	allocation := func(redraw dp.Redraw, count int) dp.Event {
		return with(func(e *dp.Event) { e.Sampling, e.Redraw, e.Count = dp.Allocation, redraw, count })
	}
	response := dp.Event{Other: dp.RandomizedResponse, Sampling: dp.Unsampled, Adjacency: dp.ReplaceOne, Epsilon: 1, Count: 1}
	for want, c := range map[string]struct {
		f Format
		e dp.Event
	}{
		"event 1: sampling = allocation, must be poisson":  {OpacusHistory, allocation(dp.EachEpoch, 10)},
		"event 1: count = 3, must be whole epochs of 10":   {DPAccounting, allocation(dp.EachEpoch, 3)},
		`event 1: redraw = "once", must be "epoch"`:        {DPAccounting, allocation(dp.Once, 10)},
		"event 1: adjacency = replace-one, must be add-or": {DPAccounting, response},
		"event 1: group = 3, must be poisson":              {OpacusHistory, with(func(e *dp.Event) { e.Group = 3 })},
		"noise multiplier = 0, must be above 0":            {DPAccounting, with(func(e *dp.Event) { e.NoiseMultiplier = 0 })},
	} {
		r := Release{Event: poisson, More: []dp.Event{c.e}, Bound: dp.Bound{Kind: dp.Upper, EpsilonUpper: 1, Sampling: dp.Poisson,
			Adjacency: dp.AddOrRemove}}
		if code, err := Write(c.f, r); !errors.Is(err, dp.ErrNotCovered) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s, %v, must say %q", code.Text, err, want)
		}
	}
	if _, err := OfEvents(nil, dp.Bound{}); !errors.Is(err, dp.ErrNotCovered) {
		t.Error(err)
	}
}
