package pld

import (
	"context"
	"math"

	"proactivedp/internal/root"
)

// measure is a pair of discrete distributions (P, Q) that bounds one epoch of allocation, or one
// round of a group, from above or from below at every order, and so after composition.
type measure struct {
	of       [2]*rule   // of remove and add
	infinite [2]float64 // the probability under P of an infinite loss; for an upper end
	variance float64    // a guess of the loss's variance
}

// A measure is made for a δ of at least leastDelta; for smaller δ it is wider.
const leastDelta = 1e-40

// The names of the pairs that are bounded from below, by an attack.
type attack int

const (
	// itself is the pair of allocation: (1/t)·ΣN(e_i) against N(0).
	itself attack = iota
	// shuffled is (1/t)·ΣN(2e_i) against (1/t)·ΣN(e_i). All gradients but one are -u, and that one is
	// +u or 0 (Chua et al., "How Private are DP-SGD Implementations?", ICML 2024, arXiv 2403.17673; for
	// several epochs "Scalable DP-SGD: Shuffling vs. Poisson Subsampling", NeurIPS 2024, arXiv
	// 2411.04205).
	shuffled
)

// epoch is one epoch of a measure: t rounds. With probability present, the record is in one of
// them, and otherwise in none.
type epoch struct {
	attack  attack
	batches int
	sigma   float64
	present float64
}

// steepness is the exponent p of the statistic Σe^(p·x_i/σ²) of the shuffled attack. At σ = 2 and one
// epoch, 2.5 gives the largest lower end of 1, 1.5, 2, 2.5, 3 and 4; at σ ≤ 1 all from 1.5 on are
// equal.
const steepness = 2.5

// The grid. A sum of n coordinates has a relative variance of v/n, v = e^(1/σ²)-1, and its rounding
// adds h²/6. So h falls with √n, to finestStep/(2σ²) and no further: ε is about 1/(2σ²) where σ is so small that
// this is more.
const (
	finestShare = 0.02
	finestStep  = 1e-4
	coarsestH   = 0.025
)

func (e epoch) grid() (h float64, halvings func(n float64) int) {
	v := math.Expm1(min(1/(e.sigma*e.sigma), 4))
	h = min(coarsestH/e.sigma, finestShare*math.Sqrt(v))
	return h, func(n float64) int {
		want := max(finestShare*math.Sqrt(v/n), finestStep/(2*e.sigma*e.sigma))
		return int(max(0, math.Ceil(math.Log2(h/want))))
	}
}

// upper returns the measure that bounds e from above. lost is the δ that may be lost in all count
// epochs. It is nil if float64 has no room for the tails.
func (e epoch) upper(ctx context.Context, lost, count float64) *measure {
	s := statistic{a: 1 / e.sigma, b: -1 / (2 * e.sigma * e.sigma)}
	h, halvings := e.grid()
	t := float64(e.batches)
	share := max(leastDelta, lost) / (count * 40)
	l, ok := lawOfSum(ctx, s, e.batches, h, halvings, cut{true, share / t, share})
	if !ok {
		return nil
	}
	m := &measure{variance: e.variance()}
	logT := math.Log(t)
	top := math.Exp(l.h*float64(l.first+len(l.usual)-1) - logT)
	const underflow = 1e-290
	m.infinite[remove] = l.over/t*(1+1e-9) + underflow*top
	m.infinite[add] = l.zero*(1+1e-9) + underflow
	up, down := &rule{}, &rule{}
	for i, q := range l.usual {
		if !(q > 0) {
			continue
		}
		y, logQ := l.h*float64(l.first+i)-logT, math.Log(q)
		moved := 8 * (math.Abs(y) + logT + 1)
		up.add(y+l.bias, logQ+y+l.bias, moved, l.units+8+4*math.Abs(logQ)+moved)
		down.add(-y+l.bias, logQ, moved, l.units+8+4*math.Abs(logQ))
	}
	m.of[remove], m.of[add] = up, down
	return m
}

// lower returns a measure that bounds e from below; see upper.
func (e epoch) lower(ctx context.Context, lost, count float64) *measure {
	h, halvings := e.grid()
	s := statistic{a: 1 / e.sigma, b: -1 / (2 * e.sigma * e.sigma), means: []float64{1 / e.sigma}}
	if e.attack == shuffled {
		s = statistic{a: steepness / e.sigma, means: []float64{2 / e.sigma, 1 / e.sigma}}
		h *= 2
	}
	share := max(leastDelta, lost) / (count * 40)
	l, ok := lawOfSum(ctx, s, e.batches, h, halvings, cut{false, share / float64(e.batches), share})
	if !ok {
		return nil
	}
	p, q := l.special[0], l.usual
	if e.attack == shuffled {
		q = l.special[1]
	}
	if e.present < 1 { // both are mixtures with the distribution without the record
		mixed := func(p []float64) []float64 {
			out := make([]float64, len(p))
			for i, v := range p {
				out[i] = e.present*v + (1-e.present)*l.usual[i]
			}
			return out
		}
		if p = mixed(p); e.attack == shuffled {
			q = mixed(q)
		}
		l.units += 4
	}
	return lowerMeasure(p, q, l.units, e.variance())
}

// variance guesses the variance of one epoch's loss.
func (e epoch) variance() float64 {
	return math.Expm1(min(1/(e.sigma*e.sigma), 5)) / float64(e.batches)
}

// lowerMeasure returns the measure of the distributions p and q of a function of the release. Points
// with almost no probability are left out, which makes δ smaller.
func lowerMeasure(p, q []float64, units, variance float64) *measure {
	const least = 1e-290
	up, down := &rule{}, &rule{}
	for i := range p {
		if !(p[i] > least && q[i] > least) {
			continue
		}
		y, logP, logQ := math.Log(p[i]/q[i]), math.Log(p[i]), math.Log(q[i])
		moved := 2*units + 8 + 4*math.Abs(y)
		up.add(y, logP, moved, units+8+2*math.Abs(logP))
		down.add(-y, logQ, moved, units+8+2*math.Abs(logQ))
	}
	return &measure{of: [2]*rule{remove: up, add: down}, variance: variance}
}

// round returns the round of a release that has the measure's losses; see newRound.
func (m *measure) round(d direction, count, threshold float64) *round {
	if d > add { // only measures of other releases have these directions, and both of theirs are equal
		d = add
	}
	r := &round{count: count, out: m.infinite[d], variance: m.variance}
	r.bulk.given = m.of[d]
	if bulk, jumps := m.of[d].split(threshold); len(bulk.y) > 0 && len(jumps.y) > 0 {
		r.bulk.given, r.jump = bulk, &part{given: jumps}
	}
	return r
}

// total bounds the total variation distance of the pair, which is an upper bound of δ(0).
func (m *measure) total(d direction) float64 {
	_, upper := m.delta(d, 0)
	return upper
}

// add appends a node.
func (u *rule) add(y, logP, moved, weighed float64) {
	u.y, u.logP = append(u.y, y), append(u.logP, logP)
	u.moved, u.weighed = append(u.moved, moved), append(u.weighed, weighed)
}

// split returns the nodes with losses up to the threshold, and those above it.
func (u *rule) split(threshold float64) (bulk, jumps *rule) {
	bulk, jumps = &rule{}, &rule{}
	for i, y := range u.y {
		part := bulk
		if y > threshold {
			part = jumps
		}
		part.add(y, u.logP[i], u.moved[i], u.weighed[i])
	}
	return bulk, jumps
}

// delta bounds δ(ε) = Σ P(y)·(1-e^(ε-y))₊ + P(∞) of one round or epoch.
func (m *measure) delta(d direction, eps float64) (lower, upper float64) {
	u := m.of[d]
	var low, high float64
	for i, y := range u.y {
		moved := unit * (u.moved[i] + 4*math.Abs(eps) + 4)
		if a := eps - y - moved; a < 0 {
			p, wrong := math.Exp(u.logP[i]), unit*(u.weighed[i]+16)
			high += p * -math.Expm1(a) * (1 + wrong)
			if a += 2 * moved; a < 0 {
				low += p * -math.Expm1(a) * (1 - wrong)
			}
		}
	}
	sums := unit * float64(2*len(u.y)+16)
	return low * (1 - sums), min(1, high*(1+sums)+m.infinite[d])
}

// epsilon returns the ends of the ε of one round or epoch at delta: the least ε at which the upper
// bound of δ is at most delta, and the largest at which the lower bound is at least delta.
func (m *measure) epsilon(d direction, delta float64) (lower, upper float64) {
	largest := 1.0
	for _, y := range m.of[d].y {
		largest = max(largest, y)
	}
	most := math.Log(largest) // of log(1+ε)
	at := func(x float64) float64 { return math.Expm1(x) }
	find := func(bound func(eps float64) float64, safe float64) (float64, bool) {
		if bound(0) <= delta {
			return 0, true
		}
		hi := most + 1
		if bound(at(hi)) > delta {
			return 0, false
		}
		x, err := root.Find(func(x float64) float64 {
			return math.Log(max(bound(at(x)), delta*1e-3) / delta)
		}, 0, hi, 1e-9)
		if err != nil {
			return 0, false
		}
		for step := 1e-9; step < 1; step *= 2 {
			eps := max(0, at(x*(1+safe*step)))
			if v := bound(eps); safe > 0 && v <= delta || safe < 0 && v >= delta {
				return eps, true
			}
		}
		return 0, false
	}
	lower, _ = find(func(eps float64) float64 { l, _ := m.delta(d, eps); return l }, -1)
	upper, ok := find(func(eps float64) float64 { _, u := m.delta(d, eps); return u }, 1)
	if !ok {
		upper = math.Inf(1)
	}
	return lower, upper
}
