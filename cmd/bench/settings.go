//go:build unix

package main

import (
	"math"

	"proactivedp/dp"
	"proactivedp/dp/closedform"
	"proactivedp/internal/testkit"
	"proactivedp/plan"
	"proactivedp/rng"
)

// setting is a release of equal rounds, and the δ for its ε.
type setting struct {
	event dp.Event
	delta float64
}

// oracleSettings returns each setting for which public accountants have an answer, under
// add-or-remove adjacency with Poisson sampling, without duplicates.
func oracleSettings() ([]setting, error) {
	rows, err := testkit.Accountants()
	if err != nil {
		return nil, err
	}
	var settings []setting
	seen := map[setting]bool{}
	for _, row := range rows {
		if row.Adjacency != string(dp.AddOrRemove) || row.Sampling != string(dp.Poisson) {
			continue
		}
		e := dp.Event{
			Sampling: dp.Poisson, Adjacency: dp.AddOrRemove, NoiseMultiplier: row.Sigma,
			SampleSize: row.S, DatasetSize: row.N, Count: row.T,
		}
		if row.N == 0 {
			e.Rate = row.Q
		}
		if s := (setting{e, row.Delta}); !seen[s] {
			seen[s] = true
			settings = append(settings, s)
		}
	}
	return settings, nil
}

// randomSettings draws from these ranges.
const (
	minRate, maxRate     = 1e-5, 1
	minSigma, maxSigma   = 0.3, 1e4
	minRounds, maxRounds = 1, 1e6
	minDelta, maxDelta   = 1e-12, 1e-3
)

// randomSettings returns n settings. They depend only on the seed.
func randomSettings(n int, seed uint64) []setting {
	logUniform := logUniform(seed)
	settings := make([]setting, n)
	for i := range settings {
		settings[i] = setting{dp.Event{
			Sampling: dp.Poisson, Adjacency: dp.AddOrRemove, NoiseMultiplier: logUniform(minSigma, maxSigma),
			Rate: logUniform(minRate, maxRate), Count: int(logUniform(minRounds, maxRounds)),
		}, logUniform(minDelta, maxDelta)}
	}
	return settings
}

// Different rounds are drawn from these ranges.
const (
	mixedMinRate, mixedMaxRate   = 1e-3, 5e-2
	mixedMinSigma, mixedMaxSigma = 0.7, 4
	mixedDelta                   = 1e-6
)

// mixedEvents returns n different rounds. They depend only on the seed.
func mixedEvents(n int, seed uint64) []dp.Event {
	logUniform := logUniform(seed)
	events := make([]dp.Event, n)
	for i := range events {
		events[i] = dp.Event{Sampling: dp.Poisson, Adjacency: dp.AddOrRemove, Count: 1,
			NoiseMultiplier: logUniform(mixedMinSigma, mixedMaxSigma), Rate: logUniform(mixedMinRate, mixedMaxRate)}
	}
	return events
}

// oracleTargets returns each budget for which public libraries have calibrated σ, without
// duplicates, and the smallest σ that any of them has found.
func oracleTargets() (targets []plan.Target, least map[plan.Target]float64, err error) {
	noises, err := testkit.Noises()
	if err != nil {
		return nil, nil, err
	}
	least = map[plan.Target]float64{}
	for _, n := range noises {
		target := plan.Target{Epsilon: n.Epsilon, Delta: n.Delta, SampleRate: n.Q, Steps: n.T,
			Sampling: dp.Poisson, Adjacency: dp.AddOrRemove}
		sigma, ok := least[target]
		if !ok {
			targets = append(targets, target)
		}
		if !ok || n.Sigma < sigma {
			least[target] = n.Sigma
		}
	}
	return targets, least, nil
}

// paperSettings returns the inputs of the paper's three accountant comparisons (tables 2, 3 and 4),
// with δ = 1/N.
func paperSettings() []plan.Request {
	return []plan.Request{
		{N: 10_000, Delta: 1. / 10_000, Epochs: 5, Sigma: 19.29962, Method: plan.ClosedForm},
		{N: 60_000, Delta: 1. / 60_000, Epochs: 6, Sigma: 12.10881, Method: plan.ClosedForm},
		{N: 50_000, Delta: 1. / 50_000, Epochs: 7, Sigma: 6.572, Method: plan.ClosedForm},
	}
}

// plannedSettings draws n budgets with δ = 1/N. For each it returns the run that the closed form
// just allows: its σ_eq and the fewest rounds of k epochs.
func plannedSettings(n int, seed uint64) ([]setting, error) {
	logUniform := logUniform(seed)
	settings := make([]setting, n)
	for i := range settings {
		size, k, eps := int(logUniform(1e4, 1e7)), logUniform(2, 200), logUniform(0.01, 5)
		delta := 1 / float64(size)
		sigma, err := closedform.Sigma(eps, delta)
		if err != nil {
			return nil, err
		}
		limits, err := closedform.Limit(closedform.Corrected, size, k, 1, eps, delta)
		if err != nil {
			return nil, err
		}
		rounds := math.Ceil(limits.TMin)
		settings[i] = setting{dp.Event{
			Sampling: dp.Poisson, Adjacency: dp.AddOrRemove, NoiseMultiplier: sigma, Rate: k / rounds,
			Count: int(rounds),
		}, delta}
	}
	return settings, nil
}

// logUniform returns a function that draws log-uniform numbers.
func logUniform(seed uint64) func(lo, hi float64) float64 {
	stream := rng.New(seed).Stream(rng.Sampling, 0, 0)
	return func(lo, hi float64) float64 { return lo * math.Exp(stream.Float64()*math.Log(hi/lo)) }
}
