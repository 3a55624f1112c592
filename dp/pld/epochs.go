package pld

import (
	"math"
	"slices"

	"proactivedp/dp"
)

// sole returns the measure of a release that is a single round or epoch, whose δ is a sum.
func (q query) sole() *measure {
	if len(q.specs) == 1 && q.specs[0].count == 1 {
		return q.specs[0].given
	}
	return nil
}

// ofContour is the part of the accuracy that is left for the contour of measures. The other part is
// for the measures' own width.
const ofContour = 0.6

// with returns q for other specs, under add-or-remove adjacency.
func (q query) with(specs ...spec) query {
	q.directions, q.specs = []direction{remove, add}, specs
	q.accuracy = max(minAccuracy, ofContour*q.accuracy)
	return q
}

// epochsOf returns the noise and the number of the epochs that compose to an event: E epochs with σ, or
// one with σ/√E if the draw is kept. If the draw is kept for all epochs, the mean of a record's E rounds is a
// sufficient statistic.
func epochsOf(e dp.Event, epochs int, redraw dp.Redraw) (sigma, count float64) {
	if redraw == dp.Once {
		return e.NoiseMultiplier / math.Sqrt(float64(epochs)), 1
	}
	return e.NoiseMultiplier, float64(epochs)
}

// fallback returns the lower end of rounds of t batches for which float64 has no room, from the test
// that the sum of some choice of one round in each epoch is above a threshold. Under P it has the
// probability that one given choice has, or more. Under Q it has at most t^E times that of one
// choice. So ε is at least that of Gaussian rounds less E·log t.
func (q query) fallback(e epoch, count float64) query {
	a := q.with(spec{q: 1, sigma: e.sigma, count: count})
	a.less = count * math.Log(float64(e.batches)) * (1 + 1e-12)
	return a
}

// measures makes each measure of epochs once. For equal epochs, specs are counted together.
type measures struct {
	query
	lost, epochs float64
	of           []epoch
	made         []*measure // for each of them; nil if float64 has no room for it
}

func (q query) measures(lost float64) *measures {
	m := &measures{query: q, lost: lost}
	for _, e := range q.events {
		m.epochs += float64(e.Epochs())
	}
	return m
}

// add adds epochs to specs, bounded from above or from below. ok is false if there is no such measure.
func (m *measures) add(specs []spec, one epoch, above bool, count float64) (all []spec, ok bool) {
	if one.batches == 1 && one.attack == itself && one.present == 1 {
		return append(specs, spec{q: 1, sigma: one.sigma, count: count}), true
	}
	var given *measure
	if i := slices.Index(m.of, one); i >= 0 {
		given = m.made[i]
	} else {
		if above {
			given = one.upper(m.ctx, m.lost, m.epochs)
		} else {
			given = one.lower(m.ctx, m.lost, m.epochs)
		}
		m.of, m.made = append(m.of, one), append(m.made, given)
	}
	if given == nil {
		return specs, false
	}
	for i := range specs {
		if specs[i].given == given {
			specs[i].count += count
			return specs, true
		}
	}
	return append(specs, spec{q: 1, count: count, given: given}), true
}

// allocationEnds returns the ends of allocation. The upper end is also at most that of Gaussian
// rounds, because a record is in one round of each epoch; see [dp.Unamplified]. Several events that keep
// their draw may all keep the same one. Then only the upper end of Gaussian rounds holds, and an attack
// uses at most one of these events.
func (q query) allocationEnds(lost float64) (least [][]query, most []query) {
	up, low := q.measures(lost), q.measures(lost)
	var below, above []spec
	var attacks []query
	kept := 0
	for _, e := range q.events {
		if e.Redraw == dp.Once {
			kept++
		}
	}
	all := kept <= 1
	for _, e := range q.events {
		one := epoch{batches: e.Batches(), present: 1}
		var count float64
		var ok bool
		one.sigma, count = epochsOf(e, e.Epochs(), e.Redraw)
		if above, ok = up.add(above, one, true, count); !ok {
			all = false
		}
		whole := e.Count / one.batches // the others are not known to have used the record
		if whole == 0 || q.upperEnd {
			continue
		}
		one.sigma, count = epochsOf(e, whole, e.Redraw)
		if below, ok = low.add(below, one, false, count); !ok {
			attacks = append(attacks, q.fallback(one, count))
		}
		if kept > 1 && e.Redraw == dp.Once && len(below) > 0 {
			attacks = append(attacks, q.with(below...))
			below = nil
		}
	}
	most = []query{q}
	if all {
		most = append(most, q.with(above...))
	}
	if len(below) > 0 {
		attacks = append(attacks, q.with(below...))
	}
	return [][]query{attacks}, most
}
