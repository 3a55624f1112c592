package pool

import (
	"context"

	"proactivedp/dp"
	"proactivedp/dp/claim"
	"proactivedp/sim"
	"proactivedp/train"
)

// Paid has the privacy cost of a finished run whose clients adapted their batch sizes to their speed
// (train.Spec.Adapt): the rounds that were released, and their guarantee. The cost of other runs is known before the
// run.
type Paid struct {
	Runs    []dp.Run     `json:"runs"`    // for each client, how many rounds and gradients, and the largest batch size
	Privacy claim.Report `json:"privacy"` // the guarantee for these rounds
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

// Sizes returns how much the clients' batch sizes differed. least and most are the numbers of gradients of the
// clients that computed the fewest and the most. largest is the largest batch size of any round of any client. theta
// is θ: the ratio of a client's largest batch size to its mean batch size, for the client with the largest ratio.
func (p *Paid) Sizes() (least, most, largest int, theta float64) {
	least = p.Runs[0].Computed
	for _, r := range p.Runs {
		least, most = min(least, r.Computed), max(most, r.Computed)
		largest, theta = max(largest, r.Max), max(theta, r.Theta())
	}
	return least, most, largest, theta
}
