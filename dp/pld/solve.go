package pld

import (
	"math"

	"proactivedp/internal/root"
)

const (
	// lost is the fraction of δ that truncation may lose.
	lost = 1e-7
	// floor is the smallest resolved ε as a fraction of the loss's standard deviation. Near δ(0) a
	// relative width has no meaning.
	floor = 1e-3
	// coarse is how many times less accurate a first look is.
	coarse = 30
	// firstLook is the accuracy of the first contour of a release that is hard to plan for.
	// coarsest is the largest width for which plans are reliable.
	firstLook = 0.3
	coarsest  = 0.1
	// sketchAccuracy is the best accuracy that is asked of a sketch, and roughAccuracy that of a sketch of cells.
	sketchAccuracy, roughAccuracy = 3e-3, 1e-2
)

// composeEpsilon bounds the ε of all directions at δ.
func (q query) composeEpsilon(delta float64) (lower, upper float64) {
	if q.far() <= delta {
		return 0, 0
	}
	lambda := 0.0
	for i, d := range q.directions {
		if i > 0 {
			// Usually the first direction has the larger value, which a tilt or a coarse look shows.
			other := q.look(d, delta, coarse*q.accuracy, lower, lambda)
			lower = max(lower, other.lower)
			if other.upper <= upper {
				continue
			}
		}
		one := q.look(d, delta, q.accuracy, 0, lambda)
		lower, upper, lambda = max(lower, one.lower), max(upper, one.upper), one.saddle.lambda
	}
	if upper-lower <= q.accuracy*upper { // a single round could hardly make it sharper
		return lower, upper
	}
	return max(lower, q.single(delta)), upper
}

// look bounds the ε of one direction at δ. An upper end of at most enough need not be sharper. lambda is 0, or a tilt
// that may show this at once.
func (q query) look(d direction, delta, accuracy, enough, lambda float64) *search {
	r := newRelease(q.effort, d, q.specs, lost*delta, math.Inf(1))
	if lambda > 0 {
		if upper := r.chernoff(lambda, delta); upper <= enough {
			return &search{upper: upper}
		}
	}
	s, ok := r.saddleOf(delta)
	whole := r.search(s, delta)
	upper := r.chernoff(s.lambda, delta)
	if !ok || upper <= enough {
		whole.upper = upper
		return whole
	}
	if r.few != nil {
		about := q
		about.specs = r.few
		rough := sketchAccuracy
		if r.loose != nil {
			rough = roughAccuracy
		}
		sketch := about.look(d, delta, max(accuracy, rough), 0, 0)
		whole.expect(sketch.upper, sketch.fall)
	}
	heavy, fast := whole.heavy(accuracy)
	heavy = heavy && d != add
	if heavy && !fast && !whole.expected {
		whole.run(max(accuracy, firstLook))
		whole.move()
		_, fast = whole.heavy(accuracy)
	}
	if fast {
		whole.run(accuracy)
	}
	for i := 0; heavy && i < 3 && !whole.done(accuracy); i++ { // because the threshold depends on ε, which may be smaller than expected
		before := whole.about()
		peeled := whole.peel(d, q.specs, accuracy)
		if peeled == nil {
			break
		}
		peeled.run(accuracy)
		whole.lower, whole.upper, whole.fall = peeled.lower, peeled.upper, peeled.fall
		if whole.done(accuracy) || whole.upper > 0.9*before {
			break
		}
	}
	whole.run(accuracy)
	whole.upper = min(whole.upper, upper)
	return whole
}

// search finds the ε of a release at δ by a few contours. Each contour is planned from the results
// of the previous one.
type search struct {
	*release
	delta, logDelta float64
	saddle          saddle  // the saddle of the next contour
	fall            float64 // the estimated density over -δ' there
	lower, upper    float64
	limited         bool // whether the limit of work prevented the accuracy
	expected        bool // whether a sketch has shown where ε is, so that no coarse contour is needed
}

func (r *release) search(s saddle, delta float64) *search {
	return &search{r, delta, math.Log(delta), s, 1 + s.lambda, 0, math.Inf(1), false, false}
}

// expect places the next contour at an ε that a sketch has shown.
func (s *search) expect(eps, fall float64) {
	if !(eps > 0 && fall > 0) || math.IsInf(eps, 1) {
		return
	}
	if moved, ok := s.find(s.saddle.lambda, func(m saddle) float64 { return m.epsilon - eps }); ok {
		s.saddle, s.fall, s.expected = moved, fall, true
		s.saddle.epsilon = eps
	}
}

// about returns the upper end, or where ε is expected.
func (s *search) about() float64 {
	if s.expected && math.IsInf(s.upper, 1) {
		return s.saddle.epsilon
	}
	return s.upper
}

// relative returns the relative width of the interval.
func (s *search) relative() float64 {
	if math.IsInf(s.upper, 1) {
		return 1
	}
	return (s.upper - s.lower) / s.upper
}

// width returns the requested width of ε.
func (s *search) width(accuracy float64) float64 {
	if s.saddle.epsilon == 0 { // ε may be 0, which has no relative width
		return accuracy * s.saddle.spread
	}
	return accuracy * max(s.saddle.epsilon, floor*s.saddle.spread)
}

func (s *search) done(accuracy float64) bool {
	return !math.IsInf(s.upper, 1) && s.upper-s.lower <= accuracy*max(s.upper, floor*s.saddle.spread)
}

// heavy reports whether a few large losses determine δ. For a loss with light tails, a period of a
// few standard deviations separates the copies. It is fast if a contour of the whole release has few points nevertheless.
func (s *search) heavy(accuracy float64) (heavy, fast bool) {
	p := s.shapeAt(s.saddle, s.logDelta, s.width(accuracy), s.fall)
	return s.saddle.epsilon == 0 || p.period > heavyPeriod*s.saddle.spread, p.fallen && p.steps() < manySteps
}

// run narrows the interval until it has the accuracy or the work reaches its limit. Steps get finer
// as more is known. Once the context is done, the interval stays as it is.
func (s *search) run(accuracy float64) {
	for attempt, idle := 0, 0; attempt < 7 && idle < 2 && !s.done(accuracy) && s.ctx.Err() == nil; attempt++ {
		before := s.upper - s.lower
		step := accuracy
		if attempt > 0 {
			s.move()
		}
		if heavy, fast := s.heavy(accuracy); attempt > 0 || !s.expected && heavy && !fast {
			step = max(accuracy, 0.1*s.relative())
		}
		s.step(step)
		switch {
		case s.upper-s.lower < 0.9*before:
			idle = 0
		case s.limited:
			return
		default:
			idle++
		}
	}
}

// peel returns a search for ε in the release peeled near the upper end, or nil.
func (s *search) peel(d direction, specs []spec, accuracy float64) *search {
	eps := s.about()
	r, at := peeled(s.effort, d, specs, s.delta, eps, accuracy*eps*s.saddle.lambda, s.saddle.lambda)
	if r == nil {
		return nil
	}
	next := r.search(at, s.delta)
	next.lower, next.upper, next.fall, next.expected = s.lower, s.upper, s.fall, s.expected
	return next
}

// peeled returns the release peeled at the largest usable threshold, and its saddle for eps. At a
// usable threshold, the bulk's δ(eps) is a fraction of the accuracy wanted for a δ of about delta.
// It returns nil if no threshold is usable or peeling does not help.
func peeled(e *effort, d direction, specs []spec, delta, eps, accuracy, lambda float64) (*release, saddle) {
	logRest := math.Log(restShare * min(0.5, accuracy) * delta)
	for _, part := range [...]float64{1, 1.5, 2, 3, 4, 6, 8, 12, 16, 24, 32} {
		r := newRelease(e, d, specs, lost*delta, eps/part)
		if !r.peeled || e.ctx.Err() != nil {
			break
		}
		r.rest = r.aliasesOfBulk(eps, logRest)
		if r.rest[0].logDelta(eps) > logRest {
			continue
		}
		s, ok := r.find(lambda, func(s saddle) float64 { return s.epsilon - eps })
		if _, w := r.planner().tilts(s.lambda); !ok || w.k > 20 {
			break
		}
		s.epsilon = eps
		return r, s
	}
	return nil, saddle{}
}

// step evaluates one contour.
func (s *search) step(accuracy float64) {
	width := s.width(min(accuracy, coarsest))
	p, limited, ok := s.affordable(s.saddle, s.logDelta, width, s.fall)
	s.limited = limited
	if !ok {
		return
	}
	c := s.contour(p)
	lo, up := c.solve(s.saddle.epsilon, s.delta, width)
	s.lower, s.upper = max(s.lower, lo), min(s.upper, up)
	if sum := c.sums(up); sum.slope > 0 && sum.most > 0 {
		s.fall = max(s.fall/2, min(16*s.fall, sum.most/(gapMostMean*sum.slope)))
	}
	if math.Abs(s.saddle.epsilon-s.upper) < 10*width {
		s.fall *= 1.5 // the contour was in the right place, but too coarse
	}
}

// move places the next contour at the upper end.
func (s *search) move() {
	if moved, ok := s.find(s.saddle.lambda, func(m saddle) float64 { return m.epsilon - s.upper }); ok {
		s.saddle = moved
		s.saddle.epsilon = s.upper
	}
}

// saddleOf returns the saddle at which δ(ε) is about delta, with ε ≥ 0.
func (r *release) saddleOf(delta float64) (s saddle, ok bool) {
	logDelta := math.Log(delta)
	s, ok = r.find(r.start(-logDelta), func(s saddle) float64 { return logDelta - s.logDelta })
	if ok && s.epsilon <= 0 { // ε is 0 or nearly 0
		s, ok = r.find(s.lambda, func(s saddle) float64 { return s.epsilon })
		s.epsilon = 0
	}
	return s, ok
}

// truncated returns the release truncated for δ(eps), whose size it guesses, and its saddle.
func (q query) truncated(d direction, eps float64) (r *release, s saddle, ok bool) {
	at := func(s saddle) float64 { return s.epsilon - eps }
	for _, budget := range [...]float64{1e-30, 1e-200} {
		r = newRelease(q.effort, d, q.specs, budget, math.Inf(1))
		if s, ok = r.find(r.start(20), at); !ok {
			continue
		}
		right := newRelease(q.effort, d, q.specs, max(1e-200, lost*min(1, math.Exp(s.logDelta))), math.Inf(1))
		if t, found := right.find(s.lambda, at); found {
			return right, t, true
		}
		break
	}
	return r, s, ok
}

// largest returns the largest possible finite loss, and the δ of infinite ones: the largest node of a
// measure, and log(1/(1-q)) per round if a record is added. For other rounds the loss is +Inf.
func largest(d direction, specs []spec) (loss, delta float64) {
	for _, s := range specs {
		switch {
		case s.given != nil:
			u := s.given.of[min(d, add)]
			most := 0.0
			for i, y := range u.y {
				most = max(most, y+unit*u.moved[i])
			}
			loss += s.count * most
			delta += s.count * s.given.infinite[min(d, add)]
		case d != add: // a round with q = 1 makes the bound infinite
			return math.Inf(1), 0
		default:
			loss -= s.count * math.Log1p(-s.q)
		}
	}
	return loss * (1 + 1e-12), delta * (1 + 1e-12)
}

// affordable returns the shape for the width, or for the least multiple of it that the limit of
// work allows. If no multiple is affordable, ok is false.
func (r *release) affordable(s saddle, logDelta, width, fall float64) (p shape, limited, ok bool) {
	for i := range 10 {
		p = r.shapeFor(s, logDelta, width, fall)
		if r.loose != nil {
			r.lengthen(&p)
		}
		work := r.work(p)
		if p.cut*p.period < 1e7 && work <= r.most {
			r.left -= work
			return p, i > 0, true
		}
		// The work is inversely proportional to the width, unless fall limits the smoothing.
		width *= min(max(1.3, 1.1*work/r.most), 100)
		if i > 0 {
			fall = max(1, fall/2)
		}
	}
	return p, true, false
}

// work estimates the number of steps of a contour's sums.
func (r *release) work(s shape) float64 {
	var nodes float64
	planner := r.planner()
	for _, one := range planner.rounds {
		nodes += one.bulk.nodes(one, s)
		if one.jump != nil {
			nodes += one.jump.nodes(one, s)
		}
	}
	all := float64(len(r.rounds))
	if r.loose != nil {
		all = usualNodes
	}
	nodes *= all / float64(max(1, len(planner.rounds)))
	return nodes * float64(s.steps())
}

// nodes estimates the number of nodes of the part's rule. A panel can hold a phase of about 36.
// Only panels whose tilted probability matters count.
func (p *part) nodes(r *round, s shape) float64 {
	p.tilt(r, s.lambda)
	if p.given != nil {
		return float64(len(p.given.y))
	}
	var panels float64
	for _, q := range p.last.panels {
		b := q.branch
		panels += 1 + math.Abs(b.value(r, q.center+q.half)-b.value(r, q.center-q.half))*s.cut/36
	}
	return panels * panelNodes
}

// mostDelta returns an upper bound of δ(eps) from one tilt. If eps is above all remaining losses, λ
// is at the end of its range, where the rule has no accuracy. Then a smaller λ is used at which it
// has; the bound is then mainly the probability that was cut off.
func (r *release) mostDelta(lambda, eps float64) float64 {
	for lambda > 1 && !(r.tilt(lambda).err < 1) {
		lambda /= 16
	}
	k := r.tilt(lambda).certain(lambda, 0) // first, because it gathers, which sets out

	if most := r.out + math.Exp(k+logChernoff(lambda)-lambda*eps); most < 1 { // not NaN
		return most
	}
	return 1
}

// chernoff returns an upper bound of ε from one tilt.
func (r *release) chernoff(lambda, delta float64) float64 {
	if r.gather(tolerances{lambda: lambda}); r.peeled || delta <= r.out {
		return math.Inf(1)
	}
	k := r.tilt(lambda).certain(lambda, 0) + logChernoff(lambda)
	if math.IsNaN(k) {
		return math.Inf(1)
	}
	return max(0, (k-math.Log(delta-r.out))/lambda*(1+1e-13))
}

// solve returns lower and upper with δ(upper) ≤ delta ≤ δ(lower). start is about where they are,
// and width about how far apart.
func (c *contour) solve(start, delta, width float64) (lower, upper float64) {
	width = min(width, 1/c.lambda) // farther away, the bounds are wider than planned
	if _, most, _ := c.bounds(-c.shift); most <= delta {
		return 0, 0
	}
	fine := 0.01 * width
	upper, ok := crossing(func(eps float64) float64 {
		_, most, _ := c.bounds(eps)
		return math.Log(most / delta)
	}, start, width, fine)
	if !ok {
		return 0, math.Inf(1)
	}
	lower, ok = crossing(func(eps float64) float64 {
		least, _, _ := c.bounds(eps)
		return math.Log(max(least, delta*1e-3) / delta)
	}, max(0, upper-width), width, -fine)
	if !ok {
		lower = 0
	}
	return max(0, lower-c.shift), upper + c.shift
}

// crossing returns a point ε ≥ 0 within |margin| of the place where f falls through 0. f is at most
// 0 there if margin is positive, and at least 0 if it is negative.
func crossing(f func(float64) float64, start, step, margin float64) (eps float64, ok bool) {
	lo, hi := start, start
	if f(start) > 0 {
		for range 60 {
			if lo, hi = hi, hi+step; f(hi) <= 0 {
				break
			}
			step *= 2
		}
	} else {
		for lo > 0 {
			if lo, hi = max(0, lo-step), lo; f(lo) > 0 {
				break
			}
			step *= 2
		}
	}
	x, err := root.Find(f, lo, hi, min(0.5, math.Abs(margin)/(4*hi)))
	if err != nil {
		return 0, false
	}
	// The crossing is within margin/4 of x.
	for range 8 {
		if v := f(max(0, x)); (margin > 0 && v <= 0) || (margin < 0 && v >= 0) {
			return max(0, x), true
		}
		x += margin / 2
		margin *= 2
	}
	return 0, false
}
