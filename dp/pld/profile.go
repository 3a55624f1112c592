package pld

import (
	"context"
	"math"
	"slices"
)

// effort limits the work for an answer. The unit is one step of a contour's sums, which takes one
// or two nanoseconds.
type effort struct {
	ctx  context.Context // when it is done, every loop ends at once
	most float64         // the limit of one contour
	left float64         // what remains of the limit for all contours and rules

	alone int // up to so many different rounds are not in cells
	fast  fast
}

const (
	// maxWork limits a contour for a single answer.
	maxWork = 1.2e8
	// unlimited is more than the contours of any single answer cost. It is finite, because
	// fractions of it are computed.
	unlimited = 1e300
	// profileWork limits all contours of a profile, and sharedWork each of them.
	profileWork, sharedWork = 4e8, 2.5e7
	// keptPoints limits the points of the contours that a profile keeps.
	keptPoints = 1e6
	// tiltWork is the cost of a rule's node at another tilt, and pointWork the cost of a contour's
	// point at another ε.
	tiltWork, pointWork = 20, 40
	// firstPass is the accuracy of a profile's first pass.
	firstPass = 0.05
)

// profile holds bounds of δ at several ε, which increase.
type profile struct {
	eps, lower, upper []float64
	enough            []float64 // an upper bound up to this is narrow enough

	contours [][]*contour // the contours that were made for each ε
	points   int          // of all contours
}

func newProfile(eps []float64) *profile {
	n := len(eps)
	return &profile{
		eps: eps, lower: make([]float64, n), upper: slices.Repeat([]float64{1}, n), enough: make([]float64, n),
		contours: make([][]*contour, n),
	}
}

// composeDeltas bounds the δ of all directions at each ε.
func (q query) composeDeltas(eps []float64) *profile {
	p := newProfile(eps)
	clear(p.upper)
	// The second direction takes less work. A part of the effort is kept for it.
	kept := q.left * float64(len(q.directions)-1) / 5
	q.left -= kept
	for i, d := range q.directions {
		one := newProfile(eps)
		if i > 0 {
			// The first direction nearly always has the larger δ, which coarse bounds already show.
			q.left = max(0, q.left) + kept
			look := newProfile(eps)
			copy(look.enough, p.lower)
			q.narrow(look, d, coarse*q.accuracy)
			one.upper = look.upper
			copy(one.enough, p.upper)
			for j, lower := range look.lower {
				p.lower[j] = max(p.lower[j], lower)
			}
		}
		q.narrow(one, d, q.accuracy)
		for j := range eps {
			p.lower[j], p.upper[j] = max(p.lower[j], one.lower[j]), max(p.upper[j], one.upper[j])
		}
	}
	far := q.far()
	for j, upper := range p.upper {
		p.upper[j] = min(upper, far)
	}
	return p
}

// narrow brings the bounds of δ in p closer together, in one direction of the adjacency, until they have
// the accuracy or the query's effort is used up. If there are several ε, a first, coarse pass gives all of
// them usable bounds, in case the effort ends in the second pass.
func (q query) narrow(p *profile, d direction, accuracy float64) {
	order := spreadOut(len(p.eps))
	if len(order) > 1 {
		q.pass(p, order, d, max(accuracy, firstPass))
	}
	q.pass(p, order, d, accuracy)
}

// pass narrows p in the given order. It uses the contours made for the nearest ε on both sides and,
// if these do not reach the accuracy, makes new ones. Every contour is valid at every ε, and sharp
// near the ε that it was made for.
func (q query) pass(p *profile, order []int, d direction, accuracy float64) {
	for _, i := range order {
		if q.ctx.Err() != nil {
			return
		}
		p.share(i, accuracy, q.effort)
		if q.left > 0 && !p.known(i, accuracy) {
			q.narrowAt(p, i, d, accuracy)
		}
	}
	for i := 1; i < len(p.eps); i++ { // δ(ε) does not increase
		p.upper[i] = min(p.upper[i], p.upper[i-1])
		j := len(p.eps) - 1 - i
		p.lower[j] = max(p.lower[j], p.lower[j+1])
	}
}

// known reports whether the bounds at the i-th ε need not be narrower.
func (p *profile) known(i int, accuracy float64) bool {
	lower, upper := p.lower[i], p.upper[i]
	return upper <= p.enough[i] || lower > 0 && upper-lower <= accuracy*upper
}

// share takes the bounds at the i-th ε from the contours that were made for the nearest ε.
func (p *profile) share(i int, accuracy float64, e *effort) {
	for _, step := range [...]int{-1, 1} {
		j := i + step
		for j >= 0 && j < len(p.eps) && len(p.contours[j]) == 0 {
			j += step
		}
		if j < 0 || j == len(p.eps) {
			continue
		}
		for _, c := range p.contours[j] {
			if e.left > -profileWork/2 && !p.known(i, accuracy) {
				e.left -= pointWork * float64(len(c.points))
				lower, upper, _ := c.certified(p.eps[i])
				p.lower[i], p.upper[i] = max(p.lower[i], lower), min(p.upper[i], upper)
			}
		}
	}
}

// narrowAt narrows p by contours for its i-th ε.
func (q query) narrowAt(p *profile, i int, d direction, accuracy float64) {
	eps := p.eps[i]
	loss, delta := largest(d, q.specs)
	p.upper[i] = min(p.upper[i], delta-math.Expm1(min(0, eps-loss))) // by 1-e^(ε-Y) for Y ≤ loss
	if eps >= loss {
		return
	}
	r, s, ok := q.truncated(d, eps)
	most := r.mostDelta(s.lambda, eps)
	// If the truncation is nearly all of the bound and tiny, ε is far above the losses, and no contour is sharper.
	// A truncation that is not tiny was chosen for too large a δ.
	if !ok || most <= p.enough[i] || most <= r.out*(1+accuracy) && r.out < 1e-190 {
		p.upper[i] = min(p.upper[i], most)
		return
	}
	s.epsilon = eps
	lower, upper := r.delta(s, 0, 1, accuracy, p, i)
	if d == add || eps == 0 || upper-lower <= accuracy*upper {
		return
	}
	if r, s := peeled(q.effort, d, q.specs, max(lower, 1e-3*upper), eps, accuracy, s.lambda); r != nil {
		s.logDelta = math.Log(upper)
		r.delta(s, lower, upper, accuracy, p, i)
	}
}

// spreadOut returns the numbers below n in an order in which each is far from those before it.
func spreadOut(n int) []int {
	order := []int{0, n - 1}
	if n < 2 {
		return order[:n]
	}
	for gaps := [][2]int{{0, n - 1}}; len(gaps) > 0; gaps = gaps[1:] {
		lo, hi := gaps[0][0], gaps[0][1]
		if mid := lo + (hi-lo)/2; mid > lo {
			order = append(order, mid)
			gaps = append(gaps, [2]int{lo, mid}, [2]int{mid, hi})
		}
	}
	return order
}

// delta narrows the bounds of δ(s.epsilon), the i-th of p, and keeps the last contour there.
func (r *release) delta(s saddle, lower, upper, accuracy float64, p *profile, i int) (float64, float64) {
	logDelta, fall, slope := s.logDelta, 1+s.lambda, s.lambda
	idle := 0.99
	if r.loose != nil { // the error of cells does not get smaller, and their contours take longer
		idle = 0.7
	}
	var last *contour
	for range 6 {
		shape, _, ok := r.affordable(s, logDelta, accuracy/slope, fall)
		if !ok || r.ctx.Err() != nil {
			break
		}
		last = r.contour(shape)
		lo, up, sum := last.certified(s.epsilon)
		before := upper - lower
		lower, upper = max(lower, lo), min(upper, up)
		if upper-lower <= accuracy*upper || upper-lower > idle*before || r.left <= 0 {
			break
		}
		logDelta = math.Log(upper)
		if sum.slope > 0 && sum.most > 0 && sum.delta > 0 {
			slope = max(slope/2, min(2*slope, sum.slope/sum.delta))
			fall = max(fall/2, min(16*fall, sum.most/(gapMostMean*sum.slope)))
		}
		fall *= 1.5
	}
	upper = max(lower, upper)
	p.lower[i], p.upper[i] = max(p.lower[i], lower), min(p.upper[i], upper)
	if last != nil && p.points+len(last.points) <= keptPoints {
		p.points += len(last.points)
		p.contours[i] = append(p.contours[i], last)
	}
	return lower, upper
}
