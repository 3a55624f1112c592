package plan

import (
	"context"
	"fmt"
	"math"
	"slices"

	"proactivedp/dp"
	"proactivedp/dp/closedform"
)

// LeastNoise returns the least noise multiplier σ in [0.05, 1e6], the same in all
// events, with which their composition costs at most ε at δ in [1e-300, 1), and what acc
// says of it: an upper ε of at most epsilon, in [1e-8, 1e4]. σ is rounded up to 7 digits;
// it is the least within a relative 1e-4 beside what acc leaves uncertain. The noise
// multipliers that the events have are not looked at. coarse is that of Calibrate.
//
// A budget that cannot be met is an *Infeasible error; it wraps dp.ErrNotCovered if acc
// has no answer for such releases at all.
func LeastNoise(
	ctx context.Context, events []dp.Event, epsilon, delta float64, acc, coarse dp.Accountant,
) (float64, dp.Bound, error) {
	errs := rangeErrors{}
	errs.add(CheckEpsilon(epsilon))
	errs.add(dp.CheckDelta(delta, closedform.MinDelta))
	if len(events) == 0 {
		errs.fail("no events, must be at least one")
	}
	with := func(sigma float64) []dp.Event {
		noisy := slices.Clone(events)
		for i := range noisy {
			noisy[i].NoiseMultiplier = sigma
		}
		return noisy
	}
	squares, adjacency := 0.0, dp.Adjacency("")
	errs.add(checkEvents(with(1)))
	for _, e := range events {
		squares += float64(e.Count) * e.SampleRate() * e.SampleRate()
		adjacency = e.Adjacency
	}
	if err := errs.join(); err != nil {
		return 0, dp.Bound{}, err
	}
	start := limitOf(epsilon, delta, adjacency).sigma(math.Sqrt(squares), 1)
	by := func(acc dp.Accountant, tol float64) dial {
		return noiseDial(func(sigma float64) (dp.Bound, error) { return acc.Epsilon(ctx, with(sigma), delta) }, start,
			tol)
	}
	d := by(acc, tolerance)
	if coarse != nil {
		if s, err := by(coarse, roughly).turn(ctx, epsilon); err == nil && s.met {
			d.start = s.value
		}
	}
	s, err := d.turn(ctx, epsilon)
	switch {
	case err != nil:
		return 0, dp.Bound{}, ended(ctx, err)
	case !s.met:
		return 0, dp.Bound{}, ended(ctx, &Infeasible{SolvedFor: string(noise),
			Cost: s.cost(fmt.Sprintf("even σ = %g", s.value), epsilon), why: s.err})
	}
	return s.value, s.bound, nil
}
