package pld

import (
	"context"
	"errors"
	"fmt"
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
	upperOnly  bool // the rounds were replaced with others that cost at least as much
	accuracy   float64
}

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
	q := query{effort: &effort{ctx: ctx, most: maxWork, left: unlimited}, accuracy: a.Accuracy}
	if q.accuracy == 0 {
		q.accuracy = DefaultAccuracy
	}
	if len(events) == 0 {
		wrong.notCovered("no events")
	} else {
		q.sampling, q.adjacency = events[0].Sampling, events[0].Adjacency
		counted, others, err := dp.Unamplified(events)
		if err != nil {
			wrong.uncovered = append(wrong.uncovered, err)
			counted = events
		}
		q.upperOnly = others
		q.take(events, counted, &wrong)
		if events[0].Validate() == nil {
			var err error
			if q.directions, err = directionsOf(counted[0]); err != nil {
				wrong.uncovered = append(wrong.uncovered, err)
			}
		}
	}
	if err := context.Cause(ctx); err != nil {
		return query{}, err
	}
	return q, wrong.err()
}

// take merges equal events of counted and records which events cannot be accounted for.
func (q *query) take(events, counted []dp.Event, wrong *faults) {
	index := map[[2]float64]int{}
	var rounds float64
	for i, e := range events {
		if err := e.Validate(); err != nil {
			wrong.invalid = append(wrong.invalid, fmt.Errorf("event %d: %w", i, err))
			continue
		}
		if e.Adjacency != q.adjacency || e.Sampling != q.sampling {
			wrong.notCovered("event %d: %s, %s sampling, must be %s, %s sampling as in event 0", i, e.Adjacency,
				e.Sampling, q.adjacency, q.sampling)
		}
		for _, err := range []error{
			dp.CheckRange("noise multiplier", e.NoiseMultiplier, MinSigma, MaxSigma),
			dp.CheckRange("sample rate", e.SampleRate(), MinRate, 1),
		} {
			if err != nil {
				wrong.notCovered("event %d: %w", i, err)
			}
		}
		e = counted[i]
		rounds += float64(e.Count)
		key := [2]float64{e.SampleRate(), e.NoiseMultiplier}
		if _, ok := index[key]; !ok {
			index[key] = len(q.specs)
			q.specs = append(q.specs, spec{q: key[0], sigma: key[1]})
		}
		q.specs[index[key]].count += float64(e.Count)
	}
	if rounds > MaxRounds {
		wrong.notCovered("rounds = %v, must be at most %v", rounds, MaxRounds)
	}
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
	}
	return nil, fmt.Errorf("%s sampling under %s adjacency has no dominating pair here: %w", e.Sampling, e.Adjacency,
		dp.ErrNotCovered)
}

// faults collects the errors of a question.
type faults struct {
	invalid, uncovered []error
	told               map[string]bool // reasons that are in uncovered, each for one event, because there may be thousands
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
	sampled := slices.ContainsFunc(q.specs, func(s spec) bool { return s.q < 1 })
	switch {
	case q.upperOnly, sampled && slices.Contains(q.directions, fixed):
		b.Kind = dp.Upper
	case q.exact() != nil:
		b.Kind = dp.Exact
	}
	return b
}

// epsilon bounds ε at δ.
func (q query) epsilon(delta float64) (lower, upper float64, err error) {
	if form := q.exact(); form != nil {
		return form.boundEpsilon(delta)
	}
	least, most := q.ends()
	lower, upper = most.composeEpsilon(delta)
	if least != nil {
		lower, _ = least.composeEpsilon(delta)
	}
	return q.answer(lower, upper)
}

// deltas bounds δ at each ε, which increase.
func (q query) deltas(epsilons []float64) (*profile, error) {
	if form := q.exact(); form != nil {
		p := newProfile(epsilons)
		for i, eps := range epsilons {
			p.lower[i], p.upper[i] = form.boundDelta(eps)
		}
		return p, nil
	}
	least, most := q.ends()
	if least != nil {
		q.left /= 2 // for each end
	}
	half := q.left
	p := most.composeDeltas(epsilons)
	if least != nil {
		q.left = half
		p.lower = least.composeDeltas(epsilons).lower
	}
	for i := range epsilons {
		var err error
		if p.lower[i], p.upper[i], err = q.answer(p.lower[i], p.upper[i]); err != nil {
			return nil, err
		}
	}
	return p, nil
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

// ends returns the queries for both ends of the answer. least is nil if most gives both.
func (q query) ends() (least, most *query) {
	if len(q.specs) <= maxSpecs {
		return nil, &q
	}
	l, m := q, q
	l.specs, m.specs = grouped(q.ctx, q.specs)
	return &l, &m
}

// single returns the largest ε of any one round at δ. It is a lower bound for the release, because
// one round's result is a function of the release. If records are replaced, it uses a round in
// which a record is removed: a record may be replaced with one whose gradient is 0.
func (q query) single(delta float64) float64 {
	largest := 0.0
	for _, s := range q.specs {
		if q.ctx.Err() != nil {
			break
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
		sum += s.count * total(q.directions[0], s.q, s.sigma)
	}
	return min(1, sum*(1+1e-12))
}
