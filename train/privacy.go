package train

import (
	"context"

	"proactivedp/dp"
	"proactivedp/dp/claim"
	"proactivedp/models"
	"proactivedp/rng"
	"proactivedp/sim"
)

// PlannedPrivacy states what the run will guarantee, before it runs. The error is
// context.Cause(ctx).
func (p *Prepared) PlannedPrivacy(ctx context.Context) (claim.Report, error) {
	if err := p.made(); err != nil {
		return claim.Report{}, err
	}
	names := p.Config.Roots.Names()
	if p.Spec.Runner == DistributedRunner {
		names = nil // each client has a secret of its own
	}
	return p.report(names, func(acc dp.Accountant) (claim.Privacy, error) {
		return p.Config.PlannedPrivacy(ctx, acc, p.Delta)
	})
}

// ReleasedPrivacy states what a finished run of it guarantees, by what its
// clients released; where sizes adapt, never more than was planned, which holds for
// the run too. The error is context.Cause(ctx).
func (p *Prepared) ReleasedPrivacy(ctx context.Context, result *sim.Result) (claim.Report, error) {
	if err := p.made(); err != nil {
		return claim.Report{}, err
	}
	var events []dp.Event
	for i := range result.Ledgers {
		events = append(events, result.Ledgers[i].Events()...)
	}
	names, _ := dp.Names(events)
	return p.report(names, func(acc dp.Accountant) (claim.Privacy, error) {
		released, err := claim.OfLedgers(ctx, acc, result.Ledgers, !p.Config.Partition.Disjoint(), p.Delta)
		if err != nil || p.Config.Adapt == 0 {
			return released, err
		}
		planned, err := p.Config.PlannedPrivacy(ctx, acc, p.Delta)
		return released.Least(planned), err
	})
}

// report states what account claims of noise from roots of the names.
func (p *Prepared) report(names []rng.Name, account func(dp.Accountant) (claim.Privacy, error)) (claim.Report, error) {
	sigma := p.Config.Mechanism.NoiseMultiplier
	for i, own := range p.Config.Own { // the least is stated
		if i == 0 || own.NoiseMultiplier < sigma {
			sigma = own.NoiseMultiplier
		}
	}
	r, err := claim.NewReport(sigma, names, account)
	r.Sum, r.Drawn = models.Sensitivity(p.Config.Model), claim.Drawn(p.Config.Mechanism.Exact, names)
	return r, err
}
