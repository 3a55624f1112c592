package experiments

import (
	"cmp"
	"math"
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

// paidRow returns the same numbers for the table below a picture, from the cells of paidRecord.
func paidRow(cells []string) ([]string, error) {
	if cells[0] == "" {
		return slices.Repeat([]string{report.NoAnswer}, 5), nil
	}
	theta, err := strconv.ParseFloat(cells[3], 64)
	if err != nil {
		return nil, err
	}
	k := cells[0]
	if cells[1] != k {
		k += "–" + cells[1]
	}
	row := []string{k, cells[2], decimal.Up(theta, 3)}
	for _, cell := range cells[4:] {
		if cell == "" {
			row = append(row, epsilonAtMost(nil))
			continue
		}
		e, err := strconv.ParseFloat(cell, 64)
		if err != nil {
			return nil, err
		}
		row = append(row, epsilonAtMost(&e))
	}
	return row, nil
}

// worsePaid compares the cells of two runs by their ε of a record. A run without an ε is worse than any other whose cost
// is known, and one of unknown cost is the worst.
func worsePaid(a, b []string) int {
	cost := func(cells []string) (unknown int, epsilon float64) {
		if cells[0] == "" {
			return 1, 0
		}
		if e, err := strconv.ParseFloat(cells[5], 64); err == nil {
			return 0, e
		}
		return 0, math.Inf(1)
	}
	unknownA, epsilonA := cost(a)
	unknownB, epsilonB := cost(b)
	return cmp.Or(cmp.Compare(unknownA, unknownB), cmp.Compare(epsilonA, epsilonB))
}
