package dp_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"proactivedp/dp"
)

// A release that is not a round of training has only its own fields. Accountants that cannot compose it
// refuse it.
func TestOtherReleasesAreChecked(t *testing.T) {
	laplace := dp.Event{Other: dp.LaplaceNoise, Sampling: dp.Unsampled, Adjacency: dp.AddOrRemove, NoiseMultiplier: 2, Count: 1}
	approximate := dp.Event{Other: dp.ApproximateDP, Sampling: dp.Unsampled, Adjacency: dp.AddOrRemove, Epsilon: 1, Delta: 1e-6, Count: 1}
	concentrated := dp.Event{Other: dp.ConcentratedDP, Sampling: dp.Unsampled, Adjacency: dp.AddOrRemove, Rho: 0.1, Count: 1}
	pure := dp.Event{Other: dp.PureDP, Sampling: dp.Unsampled, Adjacency: dp.AddOrRemove, Epsilon: 1, Count: 1}
	for want, e := range map[string]dp.Event{
		`mechanism = "exponential", must be "gaussian", "lap`:   with(laplace, func(e *dp.Event) { e.Other = "exponential" }),
		`sampling = "poisson", must be "none"`:                  with(laplace, func(e *dp.Event) { e.Sampling = dp.Poisson }),
		"noise multiplier = 0, must be in [0.01, 1e+06]":        with(laplace, func(e *dp.Event) { e.NoiseMultiplier = 0 }),
		"noise multiplier = 0, must be finite and positive":     with(laplace, func(e *dp.Event) { e.Other, e.NoiseMultiplier = dp.GaussianNoise, 0 }),
		"noise multiplier = NaN":                                with(laplace, func(e *dp.Event) { e.NoiseMultiplier = math.NaN() }),
		"epsilon = 1 and delta = 0, must not be given":          with(laplace, func(e *dp.Event) { e.Epsilon = 1 }),
		"epsilon = 0 and delta = 0.1, must not be given":        with(laplace, func(e *dp.Event) { e.Delta = 0.1 }),
		"sample rate = 0.5, sample size = 0, N = 0, redraw =":   with(laplace, func(e *dp.Event) { e.Rate = 0.5 }),
		"group = 2, must not be given":                          with(laplace, func(e *dp.Event) { e.Group = 2 }),
		"truncated batch size = 9 and group = 0, must not be":   with(laplace, func(e *dp.Event) { e.Truncated = 9 }),
		"count of releases = 0":                                 with(laplace, func(e *dp.Event) { e.Count = 0 }),
		`adjacency = "", must be`:                               with(laplace, func(e *dp.Event) { e.Adjacency = "" }),
		"noise multiplier = 3, must not be given":               with(approximate, func(e *dp.Event) { e.NoiseMultiplier = 3 }),
		"epsilon = 101, must be in (0, 100]":                    with(approximate, func(e *dp.Event) { e.Epsilon = 101 }),
		"epsilon = -1, must be in (0, 100]":                     with(approximate, func(e *dp.Event) { e.Epsilon = -1 }),
		"delta = 1, must be in (0, 1)":                          with(approximate, func(e *dp.Event) { e.Delta = 1 }),
		"mechanism pure has δ = 0":                              with(approximate, func(e *dp.Event) { e.Delta = 0 }),
		"epsilon = 0, must be in (0, 100]":                      with(approximate, func(e *dp.Event) { e.Epsilon = 0 }),
		"epsilon = 1 and delta = 1e-06, must not":               with(pure, func(e *dp.Event) { e.Delta = 1e-6 }),
		"rho = 0.1, must not be given with mechanism pure":      with(pure, func(e *dp.Event) { e.Rho = 0.1 }),
		"rho = 51, must be in [1e-12, 50]":                      with(concentrated, func(e *dp.Event) { e.Rho = 51 }),
		"rho = NaN, must be in":                                 with(concentrated, func(e *dp.Event) { e.Rho = math.NaN() }),
		"epsilon = 2 and delta = 0, must not be given":          with(concentrated, func(e *dp.Event) { e.Epsilon = 2 }),
		"noise multiplier = 2, must not be given":               with(concentrated, func(e *dp.Event) { e.NoiseMultiplier = 2 }),
		"a record that is not there has no answer":              with(pure, func(e *dp.Event) { e.Other = dp.RandomizedResponse }),
		"epsilon = 1, delta = 0 and rho = 0, must not be given": with(poissonRounds(), func(e *dp.Event) { e.Epsilon = 1 }),
	} {
		if err := e.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, must say %q", err, want)
		}
	}
	for _, acc := range accountants() {
		_, err := acc.Epsilon(t.Context(), []dp.Event{poissonRounds(), laplace}, 1e-5)
		if (err == nil) != (acc.Name() == "pld" || acc.Name() == "rdp") || err != nil && !errors.Is(err, dp.ErrNotCovered) {
			t.Errorf("%s: %v", acc.Name(), err)
		}
	}
	for _, acc := range accountants() {
		_, err := acc.Epsilon(t.Context(), []dp.Event{poissonRounds(), concentrated}, 1e-5)
		if (err == nil) != (acc.Name() == "rdp") || err != nil && !errors.Is(err, dp.ErrNotCovered) {
			t.Errorf("zcdp by %s: %v", acc.Name(), err)
		}
	}
	if err := errors.Join(concentrated.Validate(), laplace.Validate(), approximate.Validate(), pure.Validate()); err != nil {
		t.Error(err)
	}
}

func with(e dp.Event, change func(*dp.Event)) dp.Event {
	change(&e)
	return e
}
