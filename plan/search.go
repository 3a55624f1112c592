package plan

import (
	"context"
	"math"

	"proactivedp/dp"
	"proactivedp/internal/root"
)

// far is used for the logarithm of a cost that is zero, infinite or unknown.
const far = 100

// dial searches for the value of one quantity at which a release just meets its budget.
type dial struct {
	price       func(v float64) (dp.Bound, error)
	safe        func(v float64) float64 // rounds v to the safe side
	start       float64                 // first value to try
	least, most float64
	slope       float64 // guess of d log ε/d log v; negative if a larger v costs less
	tol         float64 // accuracy of the result, relative to v
	near        float64 // a cost below the budget by at most this, in log ε, ends the search
}

// stop is the result of a dial: the value and its cost. If no value meets the budget, it is the safest
// value that was tried, and err says why the cost of that value is unknown, if it is.
type stop struct {
	value float64
	bound dp.Bound
	met   bool
	err   error
}

// turn returns the value with the largest cost of at most target. It assumes that the cost is monotone
// in v, or nearly so. In any case, the cost of the returned value was computed and met the target. A
// value without a finite upper bound on its cost is treated as too expensive. If ctx is cancelled,
// turn returns context.Cause(ctx).
func (d dial) turn(ctx context.Context, target float64) (stop, error) {
	tried := map[float64]stop{}
	excess := func(v float64) float64 {
		if ctx.Err() != nil {
			return 0 // ends the search
		}
		v = min(max(d.safe(v), d.least), d.most)
		s, known := tried[v]
		if !known {
			b, err := d.price(v)
			s = stop{v, b, err == nil && b.EpsilonUpper <= target, err}
			tried[v] = s
		}
		if s.err != nil {
			return far
		}
		e := min(max(math.Log(s.bound.EpsilonUpper/target), -far), far)
		if e <= 0 && e >= -d.near {
			return 0
		}
		return e
	}

	v := min(max(d.start, d.least), d.most)
	e := excess(v)
	slope, step := d.slope, 0.0
	for e != 0 {
		// Step a little further than the slope suggests, and further each time.
		step = math.Copysign(min(max(1.2*math.Abs(e/slope), 2*math.Abs(step), 2*d.tol), 1+2*math.Abs(step)), -e*d.slope)
		next := min(max(v*math.Exp(step), d.least), d.most)
		if next == v {
			break
		}
		f := excess(next)
		if e < 0 != (f < 0) {
			if _, err := root.Find(excess, min(v, next), max(v, next), d.tol); err != nil {
				return stop{}, err
			}
			break
		}
		if s := (f - e) / math.Log(next/v); s*d.slope > 0 {
			slope = s
		}
		v, e = next, f
	}

	if err := context.Cause(ctx); err != nil {
		return stop{}, err
	}
	best, safest := stop{}, stop{}
	for _, s := range tried {
		if s.met && (!best.met || (s.value > best.value) == (d.slope > 0)) {
			best = s
		}
		if safest.value == 0 || (s.value < safest.value) == (d.slope > 0) {
			safest = s
		}
	}
	if best.met {
		return best, nil
	}
	return safest, nil
}

// ended returns context.Cause(ctx) if ctx is cancelled, and err otherwise. An answer that was interrupted
// must not be used.
func ended(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}
