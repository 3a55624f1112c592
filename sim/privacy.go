package sim

import (
	"context"
	"fmt"

	"proactivedp/dp"
	"proactivedp/dp/claim"
)

// PlannedPrivacy claims, at δ in (0, 1), what a run of the configuration will
// guarantee by acc: if clients adapt their sample sizes, what it does at the
// least, as if every sample were the largest allowed. The error is
// context.Cause(ctx).
func (c *Config) PlannedPrivacy(ctx context.Context, acc dp.Accountant, delta float64) (claim.Privacy, error) {
	rounds := c.Run().Rounds
	if c.Own != nil {
		planned := make([]dp.Ledger, len(c.Own))
		for i := range planned {
			for _, e := range c.Own[i].Events(rounds) {
				planned[i].Record(e)
			}
		}
		return claim.OfLedgers(ctx, acc, planned, !c.Partition.Disjoint(), delta)
	}
	if c.Adapt == 0 {
		return claim.OfClients(ctx, acc, c.Mechanism.Events(rounds), c.Clients(), !c.Partition.Disjoint(), delta)
	}
	var largest dp.Ledger
	for i := range rounds {
		largest.Record(c.Mechanism.EventOf(c.Adapt.largest(c.Mechanism.Sizes.At(i), c.Mechanism.DatasetSize)))
	}
	p, err := claim.OfClients(ctx, acc, largest.Events(), c.Clients(), !c.Partition.Disjoint(), delta)
	return p.AtMost(fmt.Sprintf("of the largest samples that clients may draw, %v times the nominal",
		float64(c.Adapt))), err
}
