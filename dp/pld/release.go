package pld

import (
	"math"
	"slices"

	"proactivedp/internal/root"
)

// release is the composition of rounds in one direction. The privacy loss of rounds that use every
// record (q = 1) is Gaussian, and together these rounds are one Gaussian mechanism with μ² = gauss.
//
// If a few large losses determine δ, a release is peeled. Then only the release with at least one
// jump is integrated; a jump is a loss above a threshold. The rest, the bulk, is bounded: its
// rounding errors would be larger than δ.
type release struct {
	*effort
	rounds []*round
	gauss  float64
	out    float64 // probability that some round is outside its parts
	peeled bool
	rest   []alias // Chernoff bounds of δ(ε) of the bulk, if it is peeled
	// sketch is about the same release with few different rounds, or nil. It serves to choose
	// parameters, which need not be exact. few are its rounds.
	sketch *release
	few    []spec

	asked asked // the last question to shapeAt, and its answer
	shape shape

	// loose are many different rounds, which gather divides into cells and rounds.
	loose           []spec
	d               direction
	tail, threshold float64
	gathered        bool
	cells           []*cell
	alone           []*round
	own             float64 // the part of out that does not belong to the loose rounds
}

// planner returns the release from which parameters are chosen.
func (r *release) planner() *release {
	if r.sketch != nil {
		return r.sketch
	}
	return r
}

// about returns the rounds, or those of the sketch if they are in cells.
func (r *release) about() []*round {
	if r.loose != nil {
		return r.sketch.rounds
	}
	return r.rounds
}

// spec is a number of equal rounds.
type spec struct {
	q, sigma, count float64
	given           *measure // instead of q and sigma: rounds, or epochs, whose losses are discrete
}

// newRelease restricts all losses so that a probability of at most budget is lost. If the threshold
// is finite, the release is peeled there.
func newRelease(e *effort, d direction, specs []spec, budget, threshold float64) *release {
	many := len(specs) > e.alone
	r := &release{effort: e, few: sketched(specs, many)}
	many = many && r.few != nil
	if r.few != nil {
		r.sketch = newRelease(e, d, r.few, budget, threshold)
		r.peeled = many && r.sketch.peeled
	}
	var sampled float64
	for _, s := range specs {
		if s.q < 1 && s.given == nil {
			sampled += s.count
		}
	}
	tail := min(0.2, budget/(2*sampled))
	for _, s := range specs {
		if e.ctx.Err() != nil {
			break
		}
		if s.given != nil {
			one := s.given.round(d, s.count, threshold)
			r.rounds = append(r.rounds, one)
			r.out += one.count * one.out
			r.peeled = r.peeled || one.jump != nil
			continue
		}
		if s.q == 1 {
			sensitivity := 1.0
			if d == replace || d == fixed {
				sensitivity = 2
			}
			r.gauss += s.count * sensitivity * sensitivity / (s.sigma * s.sigma)
			continue
		}
		if many {
			r.loose = append(r.loose, s)
			continue
		}
		one := newRound(d, s, tail, threshold)
		r.rounds = append(r.rounds, one)
		r.out += one.count * one.out
		r.peeled = r.peeled || one.jump != nil
	}
	r.d, r.tail, r.threshold, r.own = d, tail, threshold, r.out
	return r
}

// gather divides the loose rounds into cells. If want has no times, only the transform on the real line is
// wanted, and any cells will do.
func (r *release) gather(want tolerances) {
	if r.loose == nil || want.times == nil && r.gathered {
		return
	}
	r.gathered = true
	if want.times == nil {
		want.times, want.weight, want.bulk, want.jump = []float64{0}, []float64{1}, tiltError, math.Inf(1)
	}
	var count float64
	for _, s := range r.loose {
		count += s.count
	}
	want.bulk /= count
	want.jump /= count
	want.tilt = tiltError / count
	if r.peeled && want.jump < math.Inf(1) {
		_, w := r.planner().tilts(want.lambda)
		want.jump *= min(1, w.k)
		want.tilt *= min(1, w.k)
	}
	var alone []spec
	r.cells, alone = cells(r.ctx, r.d, r.loose, r.tail, r.threshold, want)
	r.alone = nil
	r.out = r.own
	for _, c := range r.cells {
		r.out += c.out
		r.peeled = r.peeled || c.edge < c.to
	}
	for _, s := range alone {
		if r.ctx.Err() != nil {
			break
		}
		one := newRound(r.d, s, r.tail, r.threshold)
		r.alone = append(r.alone, one)
		r.out += one.count * one.out
		r.peeled = r.peeled || one.jump != nil
	}
	r.out *= 1 + 1e-9
	rest := r.rest
	r.rest = nil             // contours may hold the slice
	for _, a := range rest { // the edges of the cells have moved, so the bulk is another one
		bulk, _ := r.tilts(a.lambda)
		r.rest = append(r.rest, alias{a.lambda, bulk.certain(a.lambda, 0)})
	}
}

// tiltError is the relative error of e^K at any tilt that is wanted of cells.
const tiltError = 0.02

// tilt evaluates log E[e^(λY)] for the loss Y that is integrated.
func (r *release) tilt(lambda float64) tilted {
	bulk, jumps := r.tilts(lambda)
	if !r.peeled {
		return bulk
	}
	// The transform is e^bulk·(e^w - 1), w = jumps.k. Its derivatives are weighted means of those
	// of the whole, with weight 1+c, and those of the bulk, with weight -c.
	w := jumps.k
	c := 1 / math.Expm1(w)
	whole := bulk.mean + jumps.mean
	mean := whole*(1+c) - bulk.mean*c
	second := (bulk.variance+jumps.variance+whole*whole)*(1+c) - (bulk.variance+bulk.mean*bulk.mean)*c
	return tilted{
		k:        bulk.k + w - math.Log(1+c),
		mean:     mean,
		variance: max(0, second-mean*mean),
		err:      bulk.err + w*(1+c)*jumps.err,
	}
}

// tilts evaluates log E[e^(λY)] of the bulk, and w = Σ T·log(1 + jumps/bulk), with their
// derivatives. The error of w is relative.
func (r *release) tilts(lambda float64) (bulk, w tilted) {
	bulk = tilted{
		k:        r.gauss * lambda * (lambda + 1) / 2,
		mean:     r.gauss * (2*lambda + 1) / 2,
		variance: r.gauss,
	}
	r.gather(tolerances{lambda: lambda})
	var wrong float64 // of the cells' w
	for _, c := range r.cells {
		b, jumps := c.tilt(r, lambda)
		bulk.k += b.k
		bulk.mean += b.mean
		bulk.variance += b.variance
		bulk.err += b.err
		w.k += jumps.k
		w.mean += jumps.mean
		w.variance += jumps.variance
		wrong += jumps.err
	}
	for _, one := range slices.Concat(r.rounds, r.alone) {
		if r.ctx.Err() != nil {
			break
		}
		b := one.bulk.tilt(one, lambda)
		r.left -= tiltWork * float64(len(one.bulk.last.y))
		bulk.k += one.count * b.k
		bulk.mean += one.count * b.mean
		bulk.variance += one.count * b.variance
		bulk.err += one.count * b.err
		if one.jump == nil {
			continue
		}
		j := one.jump.tilt(one, lambda)
		w.add(one.count, b, j)
		w.err = max(w.err, j.err+b.err)
	}
	if wrong > 0 && w.k > 0 {
		w.err += wrong / w.k
	} else if wrong > 0 {
		w.err = math.Inf(1)
	}
	return bulk, w
}

// add adds count·log(1 + jumps/bulk) to w, without its error, and returns the logarithm. With share =
// jumps/(jumps+bulk), its derivatives are share·d and share·(1-share)·d² + share·(v_j - v_b).
func (w *tilted) add(count float64, bulk, jumps tilted) (k float64) {
	share, d := 1/(1+math.Exp(bulk.k-jumps.k)), jumps.mean-bulk.mean
	if jumps.k > bulk.k {
		k = jumps.k - bulk.k + math.Log1p(math.Exp(bulk.k-jumps.k))
	} else {
		k = math.Log1p(math.Exp(jumps.k - bulk.k))
	}
	w.k += count * k
	w.mean += count * share * d
	w.variance += count * share * ((1-share)*d*d + jumps.variance - bulk.variance)
	return k
}

// certain returns log E[e^(λY)], rounded up, after adding a Gaussian loss of variance smooth.
func (t tilted) certain(lambda, smooth float64) float64 {
	k := t.k + smooth*lambda*(lambda+1)/2
	return k + t.err + 1e-12*math.Abs(k)
}

// logChernoff returns the logarithm of λ^λ/(1+λ)^(1+λ), which is the maximum of
// (1-e^(-a))₊·e^(-λa). With it, δ(ε) ≤ e^(K(λ)-λε+logChernoff(λ)).
func logChernoff(lambda float64) float64 {
	if lambda == 0 {
		return 0
	}
	return -lambda*math.Log1p(1/lambda) - math.Log1p(lambda)
}

// saddle is where the integrand e^(K(z)-zε)/(z(z+1)) is least on the real line.
type saddle struct {
	lambda, epsilon float64
	spread          float64 // √ of the second derivative of its logarithm
	logDelta        float64 // the saddle-point approximation of log δ(ε)
}

// saddleAt returns the saddle at λ with its ε.
func (r *release) saddleAt(lambda float64) saddle {
	t := r.planner().tilt(lambda)
	eps := t.mean - 1/lambda - 1/(1+lambda)
	second := t.variance + 1/(lambda*lambda) + 1/((1+lambda)*(1+lambda))
	return saddle{
		lambda, eps, math.Sqrt(second),
		t.k - lambda*eps - math.Log(lambda) - math.Log1p(lambda) - 0.5*math.Log(2*math.Pi*second),
	}
}

// The range in which saddles are searched.
const (
	minLambda = 1e-9
	maxLambda = 1e15
)

// find returns the saddle at which goal, which increases with λ, changes its sign. If the sign does
// not change in the range, ok is false.
func (r *release) find(start float64, goal func(saddle) float64) (s saddle, ok bool) {
	at := func(logLambda float64) saddle { return r.saddleAt(math.Exp(logLambda)) }
	const factor = 1.5
	lo := math.Log(start)
	hi := lo
	switch value := goal(at(lo)); {
	case value < 0:
		for goal(at(hi)) < 0 {
			if lo, hi = hi, hi+factor; hi > math.Log(maxLambda) {
				return at(lo), false
			}
		}
	default:
		for goal(at(lo)) > 0 {
			if lo, hi = lo-factor, lo; lo < math.Log(minLambda) {
				return at(hi), false
			}
		}
	}
	x, err := root.Find(func(l float64) float64 { return goal(at(l)) }, lo, hi, 1e-6)
	if err != nil {
		return at(hi), false
	}
	return at(x), true
}

// start guesses the tilt from a Gaussian loss with the variance that the rounds have if it is
// moderate.
func (r *release) start(logInverseDelta float64) float64 {
	variance := r.gauss
	for _, one := range r.about() {
		variance += one.count * one.variance
	}
	lambda := math.Sqrt(2*logInverseDelta) / math.Sqrt(variance)
	return min(max(lambda, 0.1), 1e12)
}
