//go:build !js

package pld

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"proactivedp/dp"
)

// measured returns the ends for allocation, shuffled batches and groups, in the form of
// [query.ends].
func (q query) measured(lost float64) (least [][]query, most []query, err error) {
	switch {
	case q.sampling == dp.Allocation:
		least, most = q.allocationEnds(lost)
		return least, most, nil
	case q.sampling == dp.Shuffle && q.upperEnd:
		return nil, []query{q}, nil
	case q.sampling == dp.Shuffle:
		return q.shuffleEnds(lost), []query{q}, nil
	}
	return q.groupEnds(lost)
}

// shuffleEnds returns attacks on shuffled batches. With drop_last, a record may be in no batch of an
// epoch. If it is not known of an event whether the permutation is drawn anew, an attack must work for
// both.
func (q query) shuffleEnds(lost float64) (least [][]query) {
	redraws := dp.Redraws()
	if !slices.ContainsFunc(q.events, func(e dp.Event) bool { return e.Redraw == "" }) {
		redraws = redraws[:1] // every event says whether it draws anew
	}
	m := q.measures(lost)
	for _, open := range redraws {
		var attacks []query
		for kind := itself; kind <= shuffled; kind++ {
			if kind == shuffled && q.adjacency != dp.ZeroOut {
				break
			}
			var specs []spec
			for _, e := range q.events {
				one := epoch{attack: kind, batches: e.Batches(), present: 1}
				whole := e.Count / one.batches
				if whole == 0 || one.batches > maxBatches {
					continue
				}
				var count float64
				redraw := cmp.Or(e.Redraw, open)
				one.sigma, count = epochsOf(e, whole, redraw)
				if used := float64(one.batches) * e.SampleRate(); used < 1-1e-12 { // otherwise present stays 1: the rate 1/t was only rounded
					one.present = used * (1 - 1e-12)
				}
				if q.adjacency == dp.ReplaceOne { // the others are -u, and the record is u or -u
					one.sigma /= 2
				}
				var ok bool
				if specs, ok = m.add(specs, one, false, count); !ok && one.present == 1 && kind == itself {
					attacks = append(attacks, q.fallback(one, count))
				}
				if ok && len(q.events) > 1 && redraw == dp.Once { // events may share their draw
					attacks = append(attacks, q.with(specs...))
					specs = nil
				}
			}
			if len(specs) > 0 {
				attacks = append(attacks, q.with(specs...))
			}
		}
		least = append(least, attacks)
	}
	return least
}

// groupEnds returns the ends of persons with several records.
func (q query) groupEnds(lost float64) (least [][]query, most []query, err error) {
	k := q.events[0].Group
	var rounds float64
	for _, s := range q.specs {
		rounds += s.count
	}
	var below, above []spec
	for _, s := range q.specs {
		if s.q == 1 {
			s.sigma /= float64(k)
			below, above = append(below, s), append(above, s)
			continue
		}
		l, m := newCrowd(k, s.q, s.sigma).measures(lost, rounds)
		if m == nil {
			return nil, nil, fmt.Errorf("group = %d at noise multiplier %v, must be at most %d: %w", k, s.sigma,
				int(math.Sqrt(steepestLoss*maxCells)/2*s.sigma), dp.ErrNotCovered)
		}
		below = append(below, spec{q: s.q, count: s.count, given: l})
		above = append(above, spec{q: s.q, count: s.count, given: m})
	}
	return [][]query{{q.with(below...)}}, []query{q.with(above...)}, nil
}
