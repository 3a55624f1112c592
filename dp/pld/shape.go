package pld

import "math"

// How the allowed error is divided. The Gaussian that smooths the loss gets most of it, because
// halving that part doubles the work.
const (
	smoothShare   = 0.75
	aliasShare    = 0.02
	cutShare      = 0.01
	restShare     = 0.05
	roundingShare = 0.02
	cellShare     = 0.02
)

// usualCut is about the τ at which the integrand of a smoothed loss is cut.
const usualCut = 5

// shapeFor chooses the contour for bounds of δ(ε) near s.epsilon, where δ is about e^logDelta. As
// bounds of ε they should differ by at most width. fall is the loss's density there divided by -δ'.
//
// Usually the contour goes through the saddle. For a loss with heavy tails, a smaller tilt allows a
// shorter period, at the price of cancellation.
func (r *release) shapeFor(s saddle, logDelta, width, fall float64) shape {
	best := r.shapeAt(s, logDelta, width, fall)
	if best.period < heavyPeriod*s.spread || best.fallen && best.steps() < fewSteps {
		return best
	}
	var count float64
	for _, one := range r.about() {
		count += one.count
	}
	// Up to this excess, the rounding of the rounds' transforms is a fraction of the width.
	most := math.Log(roundingShare * min(0.5, width*s.lambda) / (300 * unit * count))
	if r.loose != nil { // the error of cells is larger
		most = best.excess + 1.5
	}
	for range 10 {
		s.lambda *= 0.8
		next := r.shapeAt(s, logDelta, width, fall)
		if next.excess > most || next.steps() > best.steps() {
			break
		}
		best = next
	}
	return best
}

// heavyPeriod is the quotient of period and standard deviation above which a loss has heavy tails. They do not matter
// to a contour of fewer than fewSteps, and fewer than manySteps take less time than a peeled release.
const heavyPeriod, fewSteps, manySteps = 9, 128, 4096

// shapeAt is shapeFor with the tilt of s.
func (r *release) shapeAt(s saddle, logDelta, width, fall float64) shape {
	if asked := (asked{s, logDelta, width, fall}); asked != r.asked {
		r.asked, r.shape = asked, r.newShape(s, logDelta, width, fall)
	}
	return r.shape
}

// asked is a question to shapeAt, which is often asked again.
type asked struct {
	saddle
	logDelta, width, fall float64
}

func (r *release) newShape(s saddle, logDelta, width, fall float64) shape {
	// As an error of ε, the gap is smooth·density/|δ'|.
	p := shape{saddle: s, smooth: smoothShare * width / (gapWidth * fall)}
	p.smooth = min(p.smooth, 0.4)
	if fall > 1 {
		p.smooth = min(p.smooth, 0.3/(fall*(fall-1)))
	}
	// The width in δ is about width·|δ'|, and log δ falls by at least λ per unit of ε.
	logTolerance := logDelta + math.Log(min(0.5, width*s.lambda))
	if r.gauss > 40*p.smooth {
		p.smooth = 0 // the integrand decays by itself
	} else if r.loose == nil {
		k := r.planner().tilt(s.lambda).certain(s.lambda, 0)
		excess := k - s.lambda*s.epsilon - logTolerance - math.Log(cutShare)
		if t := r.planner().fallen(s, excess, usualCut/math.Sqrt(p.smooth)); !math.IsInf(t, 1) {
			p.smooth, p.cut, p.fallen = 0, t, true
		}
	}
	decay := r.gauss + p.smooth
	p.decay = decay
	logScale := r.planner().tilt(s.lambda).certain(s.lambda, p.smooth) - s.lambda*s.epsilon
	p.excess = logScale - logDelta
	p.tolerance = min(0.5, width*s.lambda) * min(1, math.Exp(math.Log(s.lambda*(s.lambda+1)*s.spread*2.5)-p.excess))

	target := logScale - logTolerance - math.Log(aliasShare)
	p.copies = logTolerance + math.Log(aliasShare/2)
	p.aliases, p.period = r.aliasesFor(s, decay, target, p.copies)

	if p.fallen {
		return p
	}
	// The part that is cut off the sums is bounded at τ = t√decay.
	root := math.Sqrt(decay)
	excess := logScale - logTolerance - math.Log(cutShare)
	for tau := 2.5; ; tau += 0.1 {
		_, size := (&contour{lambda: s.lambda, smooth: p.smooth}).gapMost(tau / root)
		left := math.Exp(excess-tau*tau/2) / (math.Pi * root * tau)
		if left*(decay/(tau*tau)+p.smooth*size/(1-3/(tau*tau))) <= 1 || tau > 60 {
			p.cut = tau / root
			break
		}
	}
	return p
}

// aliasesFor chooses Chernoff bounds on both sides of the saddle, and the least period for which
// they bound the copies by e^logTolerance. If there is a sketch, they are those of the sketch.
func (r *release) aliasesFor(s saddle, decay, target, logTolerance float64) ([]alias, float64) {
	target = max(target, 1)
	distance := math.Sqrt(2*target) / s.spread
	best := [2]alias{}
	period := [2]float64{math.Inf(1), math.Inf(1)}
	consider := func(side int, a alias) {
		p := (a.logDelta(s.epsilon) - logTolerance) / math.Abs(a.lambda-s.lambda)
		if p < period[side] {
			best[side], period[side] = a, p
		}
	}
	at := func(lambda float64) alias {
		return alias{lambda, r.planner().tilt(lambda).certain(lambda, decay-r.gauss)}
	}
	for _, f := range [...]float64{0.2, 0.4, 0.7, 1, 1.5} {
		consider(0, at(s.lambda+f*distance))
		if below := s.lambda - f*distance; below > 0 {
			consider(1, at(below))
		} else {
			consider(1, at(s.lambda/(2+f)))
		}
	}
	consider(1, alias{0, 0}) // the bound δ ≤ 1
	// The period is long enough that the sums over the copies converge at once.
	shortest := 3 / min(math.Abs(best[0].lambda-s.lambda), math.Abs(best[1].lambda-s.lambda))
	return best[:], max(period[0], period[1], shortest)
}

// lengthen makes the period of p long enough for the moments of the cells. Those of the sketch may be far too small
// at a large tilt, where a few of the rounds matter. If that is so, a smaller tilt allows a shorter period.
func (r *release) lengthen(p *shape) {
	far, shortest := p.aliases[0].lambda-p.lambda, math.Inf(1)
	for _, f := range [...]float64{1, 0.7, 0.5, 0.35, 0.25, 0.15} {
		a := alias{lambda: p.lambda + f*far}
		a.logMoment = r.tilt(a.lambda).k + p.smooth*a.lambda*(a.lambda+1)/2
		period := max((a.logDelta(p.epsilon)-p.copies)/(f*far), 3/(f*far))
		if !(period < shortest) {
			break
		}
		shortest, p.aliases[0] = period, a
		if f == 1 && period <= p.period {
			return
		}
	}
	p.period = max(p.period, shortest)
}

// aliasesOfBulk returns Chernoff bounds for the bulk's δ near eps. If the logarithm of δ is above
// most, they may be those of the sketch.
func (r *release) aliasesOfBulk(eps, most float64) []alias {
	of := func(r *release, lambda float64) alias {
		b, _ := r.tilts(lambda)
		return alias{lambda, b.certain(lambda, 0)}
	}
	bound := func(lambda float64) alias { return of(r.planner(), lambda) }
	best := bound(1 / eps)
	for factor := 4.0; factor > 1.05; factor = math.Sqrt(factor) {
		for _, f := range [...]float64{factor, 1 / factor} {
			for {
				next := bound(best.lambda * f)
				if !(next.logDelta(eps) < best.logDelta(eps)) {
					break
				}
				best = next
			}
		}
	}
	if r.sketch != nil && best.logDelta(eps) <= most {
		best = of(r, best.lambda)
	}
	return []alias{best}
}
