package train

import (
	"context"

	"proactivedp/dp"
	"proactivedp/dp/claim"
	"proactivedp/sim"
)

// PlannedPrivacy states what the run will guarantee, before it runs. The error is
// context.Cause(ctx).
func (p *Prepared) PlannedPrivacy(ctx context.Context) (claim.Report, error) {
	return p.report(func(acc dp.Accountant) (claim.Privacy, error) {
		return p.Config.PlannedPrivacy(ctx, acc, p.Delta)
	})
}

// ReleasedPrivacy states what a finished run of it guarantees, by what its
// clients released. The error is context.Cause(ctx).
func (p *Prepared) ReleasedPrivacy(ctx context.Context, result *sim.Result) (claim.Report, error) {
	return p.report(func(acc dp.Accountant) (claim.Privacy, error) {
		return claim.OfLedgers(ctx, acc, result.Ledgers, !p.Config.Partition.Disjoint(), p.Delta)
	})
}

func (p *Prepared) report(account func(dp.Accountant) (claim.Privacy, error)) (claim.Report, error) {
	return claim.NewReport(p.Config.Mechanism.NoiseMultiplier, p.Config.Roots.Names(), account)
}
