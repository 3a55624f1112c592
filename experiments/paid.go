package experiments

import (
	"context"
	"strconv"

	"proactivedp/dp"
	"proactivedp/dp/claim"
	"proactivedp/internal/decimal"
	"proactivedp/sim"
	"proactivedp/train"
)

// paid is what a run released whose sample sizes were not fixed beforehand, and
// what that costs.
type paid struct {
	Runs    []dp.Run     `json:"runs"` // the rounds of each client
	Privacy claim.Report `json:"privacy"`
}

// paidFor returns what a finished run paid.
func paidFor(ctx context.Context, p *train.Prepared, result *sim.Result) (*paid, error) {
	privacy, err := p.ReleasedPrivacy(ctx, result)
	if err != nil {
		return nil, err
	}
	out := paid{Privacy: privacy}
	for i := range result.Ledgers {
		out.Runs = append(out.Runs, result.Ledgers[i].Run())
	}
	return &out, nil
}

// worse reports whether p's release costs a record more than o's.
func (p *paid) worse(o *paid) bool {
	a, b := p.Privacy.Certified.PerRecord.EpsilonUpper, o.Privacy.Certified.PerRecord.EpsilonUpper
	return b != nil && (a == nil || *a > *b)
}

// sizes returns the least and the most gradients of a client, the largest sample size
// and the largest θ of any.
func (p *paid) sizes() (least, most, largest int, theta float64) {
	least = p.Runs[0].Computed
	for _, r := range p.Runs {
		least, most = min(least, r.Computed), max(most, r.Computed)
		largest, theta = max(largest, r.Max), max(theta, r.Theta())
	}
	return least, most, largest, theta
}

// paidColumns is the header of record.
var paidColumns = []string{"grad_computations_min", "grad_computations_max", "largest_sample_size", "theta",
	"certified_epsilon_per_client_worst", "certified_epsilon_per_record"}

// record returns sizes and the certified ε as cells of a table.
func (p *paid) record() []string {
	least, most, largest, theta := p.sizes()
	certified := p.Privacy.Certified
	return []string{strconv.Itoa(least), strconv.Itoa(most), strconv.Itoa(largest), decimal.Up(theta, 6),
		epsilonText(certified.PerClient.EpsilonUpper), epsilonText(certified.PerRecord.EpsilonUpper)}
}

// row returns the same cells for people to read.
func (p *paid) row() []string {
	least, most, largest, theta := p.sizes()
	k := strconv.Itoa(least)
	if most > least {
		k += "–" + strconv.Itoa(most)
	}
	certified := p.Privacy.Certified
	return []string{k, strconv.Itoa(largest), decimal.Up(theta, 3),
		epsilonAtMost(certified.PerClient.EpsilonUpper), epsilonAtMost(certified.PerRecord.EpsilonUpper)}
}
