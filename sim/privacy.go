package sim

import (
	"context"
	"errors"
	"fmt"

	"proactivedp/dp"
	"proactivedp/dp/claim"
)

// PlannedEvents returns what one client (a number from 0) will release in all its rounds, as events for an
// accountant. Use it to compute the cost before the run. If clients adapt their batch sizes, every batch counts as
// the largest that is allowed, so the real run may cost less.
func (c *Config) PlannedEvents(client int) []dp.Event {
	m, rounds := c.mechanism(client), c.RunOf(client).Rounds
	if c.Adapt == 0 {
		return m.Events(rounds)
	}
	var largest dp.Ledger
	for i := range rounds {
		largest.Record(m.EventOf(c.Adapt.largest(m.Sizes.At(i), m.DatasetSize)))
	}
	return largest.Events()
}

// PlannedPrivacy returns the privacy guarantee that a run of the configuration will have at delta in (0, 1), before
// the run. The accountant acc computes it from PlannedEvents of all clients. If clients adapt their batch sizes, the
// real run may cost less. If ctx is cancelled, the error is context.Cause(ctx).
func (c *Config) PlannedPrivacy(ctx context.Context, acc dp.Accountant, delta float64) (claim.Privacy, error) {
	if err := c.made(); err != nil {
		return claim.Privacy{}, err
	}
	if c.Mechanism.Sizes == nil {
		return claim.Privacy{}, errors.New("no sample sizes")
	}
	if c.Own != nil {
		planned := make([]dp.Ledger, len(c.Own))
		for i := range planned {
			for _, e := range c.PlannedEvents(i) {
				planned[i].Record(e)
			}
		}
		return claim.OfLedgers(ctx, acc, planned, !c.Partition.Disjoint(), delta)
	}
	p, err := claim.OfClients(ctx, acc, c.PlannedEvents(0), c.Clients(), !c.Partition.Disjoint(), delta)
	if c.Adapt == 0 {
		return p, err
	}
	return p.AtMost(fmt.Sprintf("of the largest samples that clients may draw, %v times the nominal",
		float64(c.Adapt))), err
}
