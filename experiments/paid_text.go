package experiments

import (
	"slices"
	"strconv"

	"proactivedp/internal/decimal"
	"proactivedp/internal/report"
	"proactivedp/train/pool"
)

var paidColumns = []string{"grad_computations_min", "grad_computations_max", "largest_sample_size", "theta",
	"certified_epsilon_per_client_worst", "certified_epsilon_per_record"}

// paidRecord returns sizes and the certified ε as cells of a table. For nil the cells are empty.
func paidRecord(p *pool.Paid) []string {
	if p == nil {
		return make([]string, len(paidColumns))
	}
	least, most, largest, theta := p.Sizes()
	certified := p.Privacy.Certified
	return []string{strconv.Itoa(least), strconv.Itoa(most), strconv.Itoa(largest), decimal.Up(theta, 6),
		epsilonText(certified.PerClient.EpsilonUpper), epsilonText(certified.PerRecord.EpsilonUpper)}
}

// paidRow returns the same numbers for the table below a picture.
func paidRow(p *pool.Paid) []string {
	if p == nil {
		return slices.Repeat([]string{report.NoAnswer}, 5)
	}
	least, most, largest, theta := p.Sizes()
	k := strconv.Itoa(least)
	if most > least {
		k += "–" + strconv.Itoa(most)
	}
	certified := p.Privacy.Certified
	return []string{k, strconv.Itoa(largest), decimal.Up(theta, 3),
		epsilonAtMost(certified.PerClient.EpsilonUpper), epsilonAtMost(certified.PerRecord.EpsilonUpper)}
}
