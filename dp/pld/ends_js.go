package pld

import (
	"fmt"

	"proactivedp/dp"
)

// measured is ends for allocation, shuffled batches and groups. The planner page must be small, so it
// has no groups, and only the upper end of shuffled batches; the program has all of it.
func (q query) measured(lost float64) (least [][]query, most []query, err error) {
	switch q.sampling {
	case dp.Allocation:
		least, most = q.allocationEnds(lost)
		return least, most, nil
	case dp.Shuffle:
		return [][]query{nil}, []query{q}, nil
	}
	return nil, nil, fmt.Errorf("groups are answered by proactivedp plan and account, not in a browser: %w", dp.ErrNotCovered)
}

// withOthers has no measures of other releases here.
func (q query) withOthers([][]query, []query) (least [][]query, most []query, err error) {
	return nil, nil, fmt.Errorf("releases that are not rounds of training are composed by proactivedp account, not in a "+
		"browser: %w", dp.ErrNotCovered)
}

// oneRelease has no closed forms here.
func (query) oneRelease() *exactForm { return nil }
