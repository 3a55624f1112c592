package pld

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"proactivedp/dp"
)

// query is a release and the limits of the work for an answer.
type query struct {
	*effort
	directions []direction
	specs      []spec
	adjacency  dp.Adjacency
	sampling   dp.Sampling
	events     []dp.Event // of allocation, shuffled batches and groups
	others     []dp.Event // that are not rounds of training
	upperEnd   bool       // only the upper end is asked for
	less       float64    // what a lower end subtracts from ε, see fallback
	tau        float64    // the probability that a truncated batch is cut, see uncut
	accuracy   float64
}

// maxMeasures limits the number of different rounds of allocation, shuffled batches and groups. Each one
// takes a fraction of a second.
const maxMeasures = 16

// maxBatches is the largest t of allocation and shuffled batches.
const maxBatches = 1_000_000

// query checks the events and merges equal ones. bad is the error of the caller's own argument, or
// nil. For each reason not to cover events, the error names the first event.
func (a Accountant) query(ctx context.Context, events []dp.Event, bad error) (query, error) {
	var wrong faults
	if errors.Is(bad, dp.ErrNotCovered) {
		wrong.uncovered = append(wrong.uncovered, bad)
	} else {
		wrong.invalid = append(wrong.invalid, bad)
	}
	if a.Accuracy != 0 && !(a.Accuracy >= minAccuracy && a.Accuracy <= 0.5) {
		wrong.invalid = append(wrong.invalid,
			fmt.Errorf("accuracy = %v, must be in [%v, 0.5]", a.Accuracy, minAccuracy))
	}
	q := query{effort: &effort{ctx: ctx, most: maxWork, left: unlimited, alone: maxAlone}, accuracy: a.Accuracy, upperEnd: a.UpperEnd}
	if q.accuracy == 0 {
		q.accuracy = DefaultAccuracy
	}
	events, q.tau = uncut(events)
	first := slices.IndexFunc(events, func(e dp.Event) bool { return e.Other == "" })
	if len(events) == 0 {
		wrong.notCovered("no events")
	} else if first < 0 {
		q.checkOthers(events, 0, &wrong)
		q.takeOthers(events)
	} else {
		q.checkOthers(events, first, &wrong)
		q.sampling, q.adjacency = events[first].Sampling, events[first].Adjacency
		counted, _, err := dp.Unamplified(events)
		if err != nil {
			wrong.uncovered = append(wrong.uncovered, err)
			counted = events
		}
		q.take(events, counted, first, &wrong)
		if events[first].Validate() == nil {
			var err error
			if q.directions, err = directionsOf(counted[first]); err != nil {
				wrong.uncovered = append(wrong.uncovered, err)
			}
		}
	}
	if err := context.Cause(ctx); err != nil {
		return query{}, err
	}
	return q, wrong.err()
}

// take merges equal rounds of counted and records which rounds cannot be accounted for. The first of them
// is event first.
func (q *query) take(events, counted []dp.Event, first int, wrong *faults) {
	index := map[[2]float64]int{}
	var rounds float64
	for i, e := range events {
		if e.Other != "" {
			continue
		}
		if err := e.Validate(); err != nil {
			wrong.invalid = append(wrong.invalid, fmt.Errorf("event %d: %w", i, err))
			continue
		}
		if e.Adjacency != q.adjacency || e.Sampling != q.sampling {
			wrong.notCovered("event %d: %s, %s sampling, must be %s, %s sampling as in event %d", i, e.Adjacency,
				e.Sampling, q.adjacency, q.sampling, first)
		}
		for _, err := range []error{
			dp.CheckRange("noise multiplier", e.NoiseMultiplier, MinSigma, MaxSigma),
			dp.CheckRange("sample rate", e.SampleRate(), MinRate, 1),
		} {
			if err != nil {
				wrong.notCovered("event %d: %w", i, err)
			}
		}
		if max(e.Group, 1) != max(events[first].Group, 1) { // 0 and 1 are both one record
			wrong.notCovered("event %d: group = %d, must be %d as in event %d", i, e.Group, events[first].Group, first)
		}
		if _, err := e.Scheme(); e.Truncated != 0 { // uncut has replaced the others
			wrong.uncovered = append(wrong.uncovered, fmt.Errorf("event %d: %w", i, err))
		}
		if e.Sampling.HasEpochs() || e.Group > 1 {
			q.events = append(q.events, e)
		}
		e = counted[i]
		if e.Sampling == dp.Allocation {
			if err := dp.CheckCount("batches", e.Batches(), 1, maxBatches); err != nil {
				wrong.notCovered("event %d: %w", i, err)
			}
			// This costs at least as much; see [dp.Unamplified]. It is used where it is sharper.
			e.Count, e.Rate = e.Epochs(), 1
		}
		rounds += float64(e.Count)
		key := [2]float64{e.SampleRate(), e.NoiseMultiplier}
		if _, ok := index[key]; !ok {
			index[key] = len(q.specs)
			q.specs = append(q.specs, spec{q: key[0], sigma: key[1]})
		}
		q.specs[index[key]].count += float64(e.Count)
	}
	if n := q.different(); n > maxMeasures {
		if q.sampling == dp.Shuffle { // its upper end needs no measure
			q.upperEnd = true
		} else {
			wrong.notCovered("more than %d different rounds of %s", maxMeasures, q.sampling)
		}
	}
	if rounds > MaxRounds {
		wrong.notCovered("rounds = %v, must be at most %v", rounds, MaxRounds)
	}
}

// different returns the number of different measures that the events need. It stops counting above
// maxMeasures.
func (q query) different() int {
	var seen []dp.Event
	for _, e := range q.events {
		if e.Redraw != dp.Once && !(e.Sampling == dp.Shuffle && e.Redraw == "") {
			e.Count = 0
		}
		e.Noise = dp.Noise{}
		if !slices.Contains(seen, e) {
			if seen = append(seen, e); len(seen) > maxMeasures {
				break
			}
		}
	}
	return len(seen)
}

// directionsOf returns the directions whose pairs dominate a round like e.
func directionsOf(e dp.Event) ([]direction, error) {
	scheme, err := e.Scheme()
	if err != nil {
		return nil, err
	}
	switch scheme {
	case dp.PoissonAddOrRemove:
		return []direction{remove, add}, nil
	case dp.PoissonReplaceOne:
		return []direction{replace}, nil
	case dp.FixedReplaceOne:
		return []direction{fixed}, nil
	case dp.AllocationAddOrRemove, dp.GroupAddOrRemove:
		return []direction{remove, add}, nil
	}
	return nil, fmt.Errorf("%s sampling under %s adjacency has no dominating pair here: %w", e.Sampling, e.Adjacency,
		dp.ErrNotCovered)
}

// spent returns the δ of the other releases together.
func (q query) spent() float64 {
	sum := 0.0
	for _, e := range q.others {
		sum += float64(e.Count) * e.Delta
	}
	return sum
}

// takeOthers prepares q for releases of other mechanisms without rounds of training. Their noise multipliers
// are relative to their sensitivities under their adjacency, and both directions of each are equal. So the
// Gaussian ones are rounds of all records, under any adjacency.
func (q *query) takeOthers(events []dp.Event) {
	q.sampling, q.adjacency, q.directions = dp.Unsampled, events[0].Adjacency, []direction{remove}
	q.others = nil
	for _, e := range events {
		if e.Other == dp.GaussianNoise {
			q.specs = append(q.specs, spec{q: 1, sigma: e.NoiseMultiplier, count: float64(e.Count)})
		} else {
			q.others = append(q.others, e)
		}
	}
}

// checkOthers takes the other releases of events. It records which of them cannot be composed with event
// first.
func (q *query) checkOthers(events []dp.Event, first int, wrong *faults) {
	rounds := events[first]
	for i, e := range events {
		if e.Other == "" {
			continue
		}
		q.others = append(q.others, e)
		if err := e.Validate(); err != nil {
			wrong.invalid = append(wrong.invalid, fmt.Errorf("event %d: mechanism %s: %w", i, e.Other, err))
			continue
		}
		if e.Adjacency != rounds.Adjacency {
			wrong.notCovered("event %d: mechanism %s: adjacency = %s, must be %s as in event %d", i, e.Other, e.Adjacency,
				rounds.Adjacency, first)
		}
		if rounds.Group > 1 {
			wrong.notCovered("event %d: mechanism %s: group = %d of the rounds, must be 1", i, e.Other, rounds.Group)
		}
		switch e.Other {
		case dp.ConcentratedDP:
			wrong.notCovered("event %d: mechanism %s: its losses are not known, only their moments; use rdp", i, e.Other)
		case dp.GaussianNoise:
			if err := dp.CheckRange("noise multiplier", e.NoiseMultiplier, MinSigma, MaxSigma); err != nil {
				wrong.notCovered("event %d: mechanism %s: %w", i, e.Other, err)
			}
		}
		if e.Count > MaxRounds {
			wrong.notCovered("event %d: mechanism %s: count = %v, must be at most %v", i, e.Other, e.Count, MaxRounds)
		}
	}
	if n := len(q.others); n > maxMeasures {
		wrong.notCovered("%d releases of other mechanisms, must be at most %d: count equal ones together", n, maxMeasures)
	}
}

// faults collects the errors of a question.
type faults struct {
	invalid, uncovered []error
	told               map[string]bool // reasons in uncovered; each is given for one event, because there may be thousands of events
}

// notCovered adds an error that wraps dp.ErrNotCovered, unless it has one with the same format.
func (f *faults) notCovered(format string, args ...any) {
	if f.told[format] {
		return
	}
	if f.told == nil {
		f.told = map[string]bool{}
	}
	f.told[format] = true
	f.uncovered = append(f.uncovered, fmt.Errorf(format+": %w", append(args, dp.ErrNotCovered)...))
}

// err joins all errors. The result is dp.ErrNotCovered only if nothing is invalid.
func (f *faults) err() error {
	err := errors.Join(f.invalid...)
	if err == nil {
		return errors.Join(f.uncovered...)
	}
	for _, e := range f.uncovered {
		err = fmt.Errorf("%w\n%v", err, e)
	}
	return err
}

// bound returns the Bound of the query's answers without their numbers.
func (q query) bound() dp.Bound {
	b := dp.Bound{Kind: dp.Interval, Accountant: Accountant{}.Name(), Adjacency: q.adjacency, Sampling: q.sampling}
	if q.tau == 0 && (q.exact() != nil && len(q.events) == 0 && len(q.others) == 0 || q.oneRelease() != nil) {
		b.Kind = dp.Exact
	}
	return b
}

// epsilon bounds ε at δ.
func (q query) epsilon(delta float64) (lower, upper float64, err error) {
	if form := q.oneRelease(); form != nil {
		if lower, upper, err = form.boundEpsilon(delta); err != nil {
			return 0, 0, err
		}
		return q.answer(lower, upper)
	}
	least, most, err := q.ends(lost * delta)
	if err != nil {
		return 0, 0, err
	}
	upper = math.Inf(1)
	for _, m := range most {
		lo, up, err := m.epsilonEnds(delta)
		if err != nil {
			return 0, 0, err
		}
		lower, upper = lo, min(upper, up)
	}
	if least != nil {
		lower = math.Inf(1)
		for _, attacks := range least {
			best := 0.0
			for _, a := range attacks {
				lo, _, err := a.epsilonEnds(delta)
				if err != nil {
					return 0, 0, err
				}
				best = max(best, lo-a.less)
			}
			lower = min(lower, best)
		}
	}
	return q.answer(lower, upper)
}

// epsilonEnds bounds ε for the specs.
func (q query) epsilonEnds(delta float64) (lower, upper float64, err error) {
	if m := q.sole(); m != nil {
		for _, d := range q.directions {
			lo, up := m.epsilon(d, delta)
			lower, upper = max(lower, lo), max(upper, up)
		}
		return lower, upper, nil
	}
	if form := q.exact(); form != nil {
		return form.boundEpsilon(delta)
	}
	// Many different rounds take most of their time to make the rules, not for the steps.
	q.most = maxWork * min(4, 1+float64(len(q.specs))/100)
	lower, upper = q.composeEpsilon(delta)
	return lower, upper, nil
}

// unknownDelta is the δ that may be lost if it is not known how small δ is.
const unknownDelta = 1e-32

// deltas bounds δ at each ε, which increase.
func (q query) deltas(epsilons []float64) (*profile, error) {
	if form := q.oneRelease(); form != nil {
		p := newProfile(epsilons)
		for i, eps := range epsilons {
			p.lower[i], p.upper[i] = form.boundDelta(eps)
		}
		return p, context.Cause(q.ctx)
	}
	least, most, err := q.ends(unknownDelta)
	if err != nil {
		return nil, err
	}
	runs := len(most)
	for _, attacks := range least {
		runs += len(attacks)
	}
	share := q.left / float64(runs)
	p := newProfile(epsilons)
	for _, m := range most {
		q.left = share
		one := m.deltaEnds(epsilons)
		p.lower = one.lower
		for i, upper := range one.upper {
			p.upper[i] = min(p.upper[i], upper)
		}
	}
	if least != nil {
		p.lower = slices.Repeat([]float64{1}, len(epsilons))
		for _, attacks := range least {
			best := make([]float64, len(epsilons))
			for _, a := range attacks {
				q.left = share
				moved := slices.Clone(epsilons)
				for i := range moved {
					moved[i] += a.less
				}
				for i, lower := range a.deltaEnds(moved).lower {
					best[i] = max(best[i], lower)
				}
			}
			for i, lower := range best {
				p.lower[i] = min(p.lower[i], lower)
			}
		}
	}
	for i := range epsilons {
		var err error
		if p.lower[i], p.upper[i], err = q.answer(p.lower[i], p.upper[i]); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// deltaEnds bounds δ for the specs.
func (q query) deltaEnds(epsilons []float64) *profile {
	p := newProfile(epsilons)
	if m := q.sole(); m != nil {
		clear(p.upper)
		for i, eps := range epsilons {
			for _, d := range q.directions {
				lower, upper := m.delta(d, eps)
				p.lower[i], p.upper[i] = max(p.lower[i], lower), max(p.upper[i], upper)
			}
		}
		return p
	}
	if form := q.exact(); form != nil {
		for i, eps := range epsilons {
			p.lower[i], p.upper[i] = form.boundDelta(eps)
		}
		return p
	}
	return q.composeDeltas(epsilons)
}

// answer returns the bounds of an answer. It fails once the context is done, and if the bounds
// cross, which only a fault of this package can cause.
func (q query) answer(lower, upper float64) (float64, float64, error) {
	if err := context.Cause(q.ctx); err != nil {
		return 0, 0, err
	}
	if !(lower <= upper*(1+1e-9)) {
		return 0, 0, fmt.Errorf("the bounds %v and %v contradict each other, which is a fault of this program", lower,
			upper)
	}
	return min(lower, upper), upper, nil
}

// ends returns the queries for the ends of an answer. The upper end is the smallest ε of the queries in
// most. Each element of least is a list of attacks and gives their largest ε; the lower end is the smallest
// of these. If least is nil, most[0] gives both ends. lost is the δ that may be lost.
func (q query) ends(lost float64) (least [][]query, most []query, err error) {
	if q.sampling == dp.Unsampled {
		most = []query{q}
	} else if least, most, err = q.ownEnds(lost); err != nil {
		return nil, nil, err
	}
	if len(q.others) == 0 {
		return least, most, err
	}
	return q.withOthers(least, most)
}

// ownEnds is ends for the rounds of training.
func (q query) ownEnds(lost float64) (least [][]query, most []query, err error) {
	switch {
	case len(q.events) > 0:
		if least, most, err = q.measured(lost); q.upperEnd {
			least = [][]query{nil}
		}
		return least, most, err
	case q.directions[0] == fixed && (q.exact() == nil || len(q.others) > 0):
		// All gradients are -u but that of the record, which is u or -u. The sums differ as those of
		// Poisson sampling, by 2C.
		if q.upperEnd {
			return [][]query{nil}, []query{q}, nil
		}
		attack := q
		attack.directions, attack.specs = []direction{remove, add}, slices.Clone(q.specs)
		for i := range attack.specs {
			attack.specs[i].sigma /= 2
		}
		return [][]query{{attack}}, []query{q}, nil
	}
	return nil, []query{q}, nil
}

// single returns the largest ε of any one round at δ. It is a lower bound for the release, because
// one round's result is a function of the release. If records are replaced, it uses a round in
// which a record is removed: a record may be replaced with one whose gradient is 0.
func (q query) single(delta float64) float64 {
	specs := q.specs
	if len(specs) > maxAlone { // two of them will do
		specs = []spec{
			slices.MaxFunc(specs, func(a, b spec) int { return cmp.Compare(a.q, b.q) }),
			slices.MinFunc(specs, func(a, b spec) int { return cmp.Compare(a.sigma, b.sigma) }),
		}
	}
	largest := 0.0
	for _, s := range specs {
		if q.ctx.Err() != nil {
			break
		}
		if s.given != nil {
			continue
		}
		if eps, err := oneEpsilon(s, min(delta*(1+exactRounding), 1-unit)); err == nil {
			largest = max(largest, eps*(1-exactRounding))
		}
	}
	return largest
}

// far bounds δ(0) by the rounds' total variation distances.
func (q query) far() float64 {
	var sum float64
	for _, s := range q.specs {
		if s.given != nil {
			sum += s.count * max(s.given.total(remove), s.given.total(add))
			continue
		}
		sum += s.count * total(q.directions[0], s.q, s.sigma)
	}
	return min(1, sum*(1+1e-12))
}
