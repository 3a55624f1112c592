package plan

import (
	"context"
	"math"

	"proactivedp/dp"
	"proactivedp/internal/root"
)

// far stands for the logarithm of a cost that is zero, infinite or unknown.
const far = 100

// dial is one quantity of a release, turned until the release just meets a
// budget.
type dial struct {
	price       func(v float64) (dp.Bound, error)
	safe        func(v float64) float64 // rounds v to the side of privacy
	start       float64                 // a guess
	least, most float64
	slope       float64 // a guess of d log ε/d log v; negative if more of it costs less
	tol         float64 // how near to the crossing, relative to v
	near        float64 // a cost less than this below the budget, in log ε, is near enough
}

// stop is where a dial was left: the value and its cost. If no value that was
// tried meets the budget it is the safest of the range, and err why it has no
// cost, if it has none.
type stop struct {
	value float64
	bound dp.Bound
	met   bool
	err   error
}

// turn returns the value with the least privacy that costs at most target. The
// cost is monotone in v, or nearly so; whatever it is, the value that is
// returned was priced. A value without a price, or without an upper end to it,
// counts as too dear. Once ctx is done the error is its cause.
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
		// The next value is a little beyond where the slope leads, and ever farther.
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

// ended returns the cause of a ctx that is done, whatever became of err then: an
// answer that was cut short is none.
func ended(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}
