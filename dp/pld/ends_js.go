package pld

import (
	"fmt"

	"proactivedp/dp"
)

// measured is ends for allocation, shuffled batches and groups. The planner page must be small, so it
// has only the upper end of shuffled batches; the program has all of it.
func (q query) measured(float64) (least [][]query, most []query, err error) {
	if q.sampling == dp.Shuffle {
		return [][]query{nil}, []query{q}, nil
	}
	return nil, nil, fmt.Errorf("%s sampling and groups are answered by proactivedp account, not in a browser: %w",
		q.sampling, dp.ErrNotCovered)
}

// withOthers has no measures of other releases here.
func (q query) withOthers([][]query, []query) (least [][]query, most []query, err error) {
	return nil, nil, fmt.Errorf("releases that are not rounds of training are composed by proactivedp account, not in a "+
		"browser: %w", dp.ErrNotCovered)
}

// sole returns nil: no release is a single measure here.
func (q query) sole() *measure { return nil }
