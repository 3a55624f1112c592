package plan

import (
	"context"
	"fmt"
	"math"
	"slices"

	"proactivedp/dp"
	"proactivedp/dp/closedform"
)

// LeastNoise returns the least noise multiplier σ in [0.05, 1e6] with which the events together cost at most epsilon
// at delta, by the accountant acc. All rounds of training get this σ instead of their own noise multipliers. Events
// of other mechanisms, such as a count with Laplace noise, do not change. Use it instead of [Calibrate] if the rounds
// differ, for example in batch size. epsilon must be in [1e-8, 1e4] and delta in [1e-300, 1).
//
// LeastNoise also returns the bound of acc, whose upper ε is at most epsilon. σ is rounded up to 7 digits. By
// the upper ε of acc, it is the least σ within the budget, except for a relative error of at most 1e-4. The true ε lies
// below the upper ε of acc, so it may be within the budget for a slightly smaller σ, too.
//
// If the budget cannot be met, the error is an [*Infeasible]. It wraps dp.ErrNotCovered if acc does not cover such
// rounds at all.
func LeastNoise(
	ctx context.Context, events []dp.Event, epsilon, delta float64, acc dp.Accountant,
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
			if noisy[i].Other == "" {
				noisy[i].NoiseMultiplier = sigma
			}
		}
		return noisy
	}
	squares, adjacency := 0.0, dp.Adjacency("")
	errs.add(dp.CheckEvents(with(1)))
	for _, e := range events {
		if e.Other != "" {
			continue
		}
		squares += float64(e.Count) * e.SampleRate() * e.SampleRate()
		adjacency = e.Adjacency
	}
	if err := errs.join(); err != nil {
		return 0, dp.Bound{}, err
	}
	start := limitOf(epsilon, delta, adjacency).sigma(math.Sqrt(squares), 1)
	d := noiseDial(func(sigma float64) (dp.Bound, error) { return acc.Epsilon(ctx, with(sigma), delta) }, start, tolerance)
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
