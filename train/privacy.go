package train

import (
	"context"
	"fmt"
	"slices"

	"proactivedp/dp"
	"proactivedp/dp/claim"
	"proactivedp/dp/pld"
	"proactivedp/models"
	"proactivedp/rng"
	"proactivedp/sim"
)

// PlannedPrivacy returns the privacy guarantee that the run will have, without training. With adaptive batch sizes,
// every batch counts as the largest that a client may draw. Use [Prepared.ReleasedPrivacy] after the run. If ctx is
// cancelled, the error is context.Cause(ctx).
func (p *Prepared) PlannedPrivacy(ctx context.Context) (claim.Report, error) {
	if err := p.made(); err != nil {
		return claim.Report{}, err
	}
	names := p.Config.Roots.Names()
	if p.Spec.Runner == DistributedRunner {
		names = nil // each client has its own secret
	}
	return p.report(names, func(acc dp.Accountant) (claim.Privacy, error) {
		return p.Config.PlannedPrivacy(ctx, acc, p.Delta)
	})
}

// ReleasedPrivacy returns the privacy guarantee of a finished run. It counts the rounds that the clients really
// released, which result lists. With adaptive batch sizes, the ε may be below that of [Prepared.PlannedPrivacy].
// Otherwise the two are equal. If ctx is cancelled, the error is context.Cause(ctx).
func (p *Prepared) ReleasedPrivacy(ctx context.Context, result *sim.Result) (claim.Report, error) {
	if err := p.made(); err != nil {
		return claim.Report{}, err
	}
	var named []dp.Event // the first event of each name, or a few more
	for i := range result.Ledgers {
		for e := range result.Ledgers[i].All() {
			if n := len(named); n == 0 || named[n-1].Noise.Name != e.Noise.Name {
				named = append(named, e)
			}
		}
	}
	names, _ := dp.Names(named)
	return p.report(names, func(acc dp.Accountant) (claim.Privacy, error) {
		released, err := claim.OfLedgers(ctx, acc, result.Ledgers, !p.Config.Partition.Disjoint(), p.Delta)
		if err != nil || p.Config.Adapt == 0 {
			return released, err
		}
		planned, err := p.Config.PlannedPrivacy(ctx, acc, p.Delta)
		return released.Least(planned), err
	})
}

// report returns the report of the guarantees that account computes, for noise from roots with these
// names.
func (p *Prepared) report(names []rng.Name, account func(dp.Accountant) (claim.Privacy, error)) (claim.Report, error) {
	sigma := p.Config.Mechanism.NoiseMultiplier
	for i, own := range p.Config.Own { // the smallest σ is stated
		if i == 0 || own.NoiseMultiplier < sigma {
			sigma = own.NoiseMultiplier
		}
	}
	r, err := claim.NewReport(sigma, names, func(acc dp.Accountant) (claim.Privacy, error) {
		if p.Spec.BoundsEpsilon == 0 {
			return account(acc)
		}
		why := fmt.Sprintf("including ε = %v for the private bounds of columns", p.Spec.BoundsEpsilon)
		if pld, ok := acc.(pld.Accountant); ok {
			training, err := account(composing{acc: pld, more: p.boundsEvents()})
			return training.AtMost(why), err
		}
		training, err := account(acc)
		return training.Plus(p.Spec.BoundsEpsilon, why), err
	})
	r.Sum, r.Drawn = models.Sensitivity(p.Config.Model), claim.Drawn(p.Config.Mechanism.Exact, names)
	return r, err
}

// composing accounts for more releases of the same records in addition to the rounds that it is asked
// about.
type composing struct {
	acc  pld.Accountant // not embedded: its other methods would ignore the field more
	more []dp.Event
}

func (c composing) Name() string { return c.acc.Name() }

func (c composing) Epsilon(ctx context.Context, events []dp.Event, delta float64) (dp.Bound, error) {
	return c.acc.Epsilon(ctx, slices.Concat(events, c.more), delta)
}

func (c composing) Delta(ctx context.Context, events []dp.Event, epsilon float64) (dp.Bound, error) {
	return c.acc.Delta(ctx, slices.Concat(events, c.more), epsilon)
}
