package experiments

import (
	"strconv"

	"proactivedp/dp"
	"proactivedp/internal/decimal"
	"proactivedp/internal/report"
	"proactivedp/sim"
	"proactivedp/train"
)

// paid is what a run released whose sample sizes were not fixed beforehand.
type paid struct {
	Runs    []dp.Run            `json:"runs"` // by client
	Privacy train.PrivacyReport `json:"privacy"`
}

// paidFor accounts a finished run.
func paidFor(p *train.Prepared, result *sim.Result) *paid {
	out := paid{Privacy: p.ReleasedPrivacy(result)}
	for i := range result.Ledgers {
		out.Runs = append(out.Runs, result.Ledgers[i].Run())
	}
	return &out
}

// worse reports that p's release costs a record more than o's.
func (p *paid) worse(o *paid) bool {
	a, b := p.Privacy.Certified.PerRecord.EpsilonUpper, o.Privacy.Certified.PerRecord.EpsilonUpper
	return b != nil && (a == nil || *a > *b)
}

// sizes returns the least and the most that a client computed, the largest size
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
var paidColumns = []string{"grad_computations_min", "grad_computations_max", "largest_sample_size", "theta", "certified_epsilon_per_client_worst", "certified_epsilon_per_record"}

// record is sizes and the certified ε for a table.
func (p *paid) record() []string {
	least, most, largest, theta := p.sizes()
	certified := p.Privacy.Certified
	return []string{strconv.Itoa(least), strconv.Itoa(most), strconv.Itoa(largest), report.Number(theta),
		epsilonText(certified.PerClient.EpsilonUpper), epsilonText(certified.PerRecord.EpsilonUpper)}
}

// row is record for people.
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
