package pool

import (
	"context"

	"proactivedp/dp"
	"proactivedp/dp/claim"
	"proactivedp/sim"
	"proactivedp/train"
)

// Paid has the privacy cost of a finished run with adaptive batch sizes: the rounds that were released, and their
// privacy guarantee. Without adaptive sizes the cost is known before the run.
type Paid struct {
	Runs    []dp.Run     `json:"runs"` // the rounds of each client
	Privacy claim.Report `json:"privacy"`
}

// paidFor returns the rounds that a finished run released and their privacy cost.
func paidFor(ctx context.Context, p *train.Prepared, result *sim.Result) (*Paid, error) {
	privacy, err := p.ReleasedPrivacy(ctx, result)
	if err != nil {
		return nil, err
	}
	out := Paid{Privacy: privacy}
	for i := range result.Ledgers {
		out.Runs = append(out.Runs, result.Ledgers[i].Run())
	}
	return &out, nil
}

// Sizes returns the smallest and the largest number of gradients that a client computed, the largest sample size of
// any round, and θ: the largest ratio of a client's largest sample size to its mean.
func (p *Paid) Sizes() (least, most, largest int, theta float64) {
	least = p.Runs[0].Computed
	for _, r := range p.Runs {
		least, most = min(least, r.Computed), max(most, r.Computed)
		largest, theta = max(largest, r.Max), max(theta, r.Theta())
	}
	return least, most, largest, theta
}
