package pld

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/integrate/quad"
)

// unit is the unit roundoff of float64.
const unit = 0x1p-53

// panelNodes is the number of Gauss–Legendre nodes of a panel.
const panelNodes = 32

// legendreX has the nodes of the Gauss–Legendre rule on [-1, 1], legendreLogW the logarithms of its
// weights.
var legendreX, legendreLogW = legendre()

func legendre() (x, logW [panelNodes]float64) {
	quad.Legendre{}.FixedLocations(x[:], logW[:], -1, 1)
	for i, w := range logW {
		logW[i] = math.Log(w)
	}
	return x, logW
}

// panel is the interval [center-half, center+half] of a branch.
type panel struct {
	branch       branch
	center, half float64
}

// maxWidth is the width of the initial panels, divided by min(σ, σ²).
const maxWidth = 6.0

// frame has what bounds an integrand around a panel, for any λ and t: the losses L(x) and L(-x) at the ends of pieces
// of the ellipse's real axis, and the largest changes of g off that axis.
type frame struct {
	rho                 float64
	order               float64         // the logarithm of the error of the rule over the largest integrand
	nearest             [pieces]float64 // -x²/(2σ²) at the x of a piece that is nearest to 0
	up, down            [pieces + 1]float64
	height              float64 // v²/(2σ²) at the top of the ellipse
	argUp, shrinkUp     float64 // for g(x)
	argDown, shrinkDown float64 // for g(-x)
	vanishes            bool    // g may be 0 in the ellipse
}

const pieces = 6

// frame returns the frame of the Bernstein ellipse with parameter rho ≥ 1.
func (r *round) frame(p panel, rho float64) (f frame) {
	reach := p.half * (rho + 1/rho) / 2
	height := p.half * (rho - 1/rho) / 2
	angle := height / (r.sigma * r.sigma)
	f.rho, f.height = rho, height*height/(2*r.sigma*r.sigma)
	f.order = math.Log(4.01*p.half) - 2*panelNodes*math.Log(rho) - math.Log1p(-1/(rho*rho))
	if f.vanishes = angle > 0.95*math.Pi; f.vanishes {
		return f
	}
	up, down := p.branch.up != 0 || p.branch.weight != 0, p.branch.down != 0
	left := p.center - reach
	for i := range pieces + 1 {
		right := p.center - reach + 2*reach*float64(i)/pieces
		if up {
			f.up[i] = r.loss(right)
		}
		if down {
			f.down[i] = r.loss(-right)
		}
		if i > 0 {
			nearest := max(left, min(0, right))
			f.nearest[i-1] = -nearest * nearest / (2 * r.sigma * r.sigma)
		}
		left = right
	}
	if rho == 1 {
		return f
	}
	first, last := p.center-reach, p.center+reach
	if up {
		f.argUp, f.shrinkUp = r.maxArgument(last, angle), r.maxShrink(first, last, angle)
	}
	if down {
		f.argDown, f.shrinkDown = r.maxArgument(-first, angle), r.maxShrink(-last, -first, angle)
	}
	return f
}

// logBound returns the logarithm of a bound of |φ(x)·g(x)^weight·e^((λ+iτ)Y(x))| for all |τ| ≤ t
// and all complex x in the frame's ellipse, with the weight and the Y of b. It returns +Inf if g may vanish
// there.
//
// At x = u+iv, with angle = v/σ² and the share at u: |φ(x)| = φ(u)·e^(v²/2σ²);
// |g(x)| = g(u)·√(1 - 4·share·(1-share)·sin²(angle/2)); and |arg g(x)| grows with share/(1-share).
func (f *frame) logBound(r *round, b branch, lambda, t float64) float64 {
	if f.vanishes {
		return math.Inf(1)
	}
	most := math.Inf(-1)
	up, down := b.weight+lambda*b.up, lambda*b.down // the exponents of g(x) and g(-x)
	for i, near := range f.nearest {
		most = max(most, near+max(up*f.up[i], up*f.up[i+1])+max(down*f.down[i], down*f.down[i+1]))
	}
	most -= r.logNorm
	if f.rho == 1 {
		return most
	}
	return most + f.height + math.Abs(b.up)*t*f.argUp + max(0, -up)*f.shrinkUp +
		math.Abs(b.down)*t*f.argDown + max(0, -down)*f.shrinkDown
}

// maxArgument bounds |arg g(u+iv)| for |v|/σ² ≤ angle < π and all u up to last.
func (r *round) maxArgument(last, angle float64) float64 {
	odds := r.q / (1 - r.q) * math.Exp(min(r.exponent(last), 700))
	if cos := math.Cos(angle); odds >= 1 || cos > -odds {
		return math.Atan2(odds*math.Sin(angle), 1+odds*cos)
	}
	return math.Asin(odds)
}

// maxShrink bounds log(g(u)/|g(u+iv)|) for |v|/σ² ≤ angle and u in [first, last].
func (r *round) maxShrink(first, last, angle float64) float64 {
	share := 0.5
	if s := r.share(last); s < 0.5 {
		share = s
	} else if s := r.share(first); s > 0.5 {
		share = s
	}
	sin := math.Sin(angle / 2)
	return -0.5 * math.Log1p(-4*share*(1-share)*sin*sin)
}

// logError returns the logarithm of a bound of the error of the Gauss–Legendre rule for ∫ φ
// g^weight e^((λ+iτ)Y) dx over the frame's panel, for all |τ| ≤ t.
//
// An integrand that is at most M in the ellipse with parameter ϱ has Chebyshev coefficients of at
// most 2M·ϱ^(-k) (Trefethen, Approximation Theory and Approximation Practice, Theorem 8.1). A rule
// with n nodes is exact up to degree 2n-1, and odd degrees cancel. For the Chebyshev polynomial
// T_k, the rule and the integral differ by at most 2 + 2/(k²-1). Together the error is at most
// 4.01·M·ϱ^(-2n)/(1-ϱ^(-2)) times the half-width.
func (f *frame) logError(r *round, b branch, lambda, t float64) float64 {
	return f.logBound(r, b, lambda, t) + f.order
}

// rhos are the parameters of the ellipses that are tried, beginning with those that are most often good enough. On
// the real line, where t is 0, the integrand is smooth enough for the first two.
var rhos = [...]float64{4, 2, 2.8, 6, 1.5}

const realRhos = 2

// rule is a discrete measure that approximates a part of the loss. Node j has the loss y[j] and the
// probability e^logP[j] under P.
type rule struct {
	panels, dropped []panel // dropped panels have no nodes
	y, logP         []float64
	// moved bounds the rounding of each y, including that of its x. weighed bounds the relative
	// rounding of e^logP. Both are in units.
	moved, weighed []float64
	share          []float64 // of each node but that of an atom
	// frames are those of all panels for the first realRhos of rhos. They may be missing.
	frames []frame
	whole  []frame // those of the dropped panels, with ϱ = 1
}

// The logarithms of M(λ) over a panel's bound at which the panel is dropped (hardly) and at which
// it needs no split (accurate).
const (
	hardly   = 44 // e^-44 = 8e-20
	accurate = 39 // e^-39 = 1e-17
	surely   = 42 // for which no other ellipse is tried
	finest   = 1e-7
)

// ruleFor returns the rule for ∫ e^((λ+iτ)Y) dP over the part, for all |τ| ≤ t, and a bound of its
// error divided by e^(u.top(λ)). It splits panels until their error bound is smaller than the
// rounding error.
func (p *part) ruleFor(r *round, lambda, t float64) (u *rule, wrong float64) {
	if p.given != nil {
		return p.given, 0
	}
	type looked struct {
		panel
		middle float64 // the logarithm of half the panel's width times the integrand in its center
	}
	var todo []looked
	top := math.Inf(-1) // a lower bound of log M(λ), up to rounding
	look := func(q panel) looked {
		logDensity, value := q.branch.at(r, q.center)
		middle := logDensity + lambda*value + math.Log(q.half)
		top = max(top, middle)
		return looked{q, middle}
	}
	widest := maxWidth * min(r.sigma, r.sigma*r.sigma)
	for _, b := range slices.Backward(p.branches) {
		n := math.Ceil((b.hi - b.lo) / widest)
		half := (b.hi - b.lo) / (2 * n)
		for i := n - 1; i >= 0; i-- {
			todo = append(todo, look(panel{b, b.lo + (2*i+1)*half, half}))
		}
	}
	if p.atom > 0 {
		top = max(top, math.Log(p.atom))
	}
	var dropped []panel
	var out []frame
	kept := make([]panel, 0, len(todo))
	logs := make([]float64, 0, len(todo)) // logarithms of bounds of the errors
	var frames []frame
	tried := rhos[:]
	if t == 0 {
		tried = tried[:realRhos]
		frames = make([]frame, 0, realRhos*len(todo))
	}
	for len(todo) > 0 {
		last := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		q := last.panel
		if last.middle < top-hardly { // the bound of the panel is larger
			whole := r.frame(q, 1)
			bound := whole.logBound(r, q.branch, lambda, 0) + math.Log(2*q.half)
			if bound < top-hardly {
				logs = append(logs, bound)
				dropped, out = append(dropped, q), append(out, whole)
				continue
			}
		}
		e, before := math.Inf(1), len(frames)
		for _, rho := range tried {
			if t > 0 && e < top-surely {
				break
			}
			f := r.frame(q, rho)
			e = min(e, f.logError(r, q.branch, lambda, t))
			if t == 0 {
				frames = append(frames, f)
			}
		}
		if e > top-accurate && q.half > finest*r.sigma {
			half := q.half / 2
			left := look(panel{q.branch, q.center - half, half})
			right := look(panel{q.branch, q.center + half, half})
			todo = append(todo, right, left)
			frames = frames[:before]
			continue
		}
		logs = append(logs, e)
		kept = append(kept, q)
	}
	u = r.newRule(kept, p.atom)
	u.dropped, u.frames, u.whole = dropped, frames, out
	largest := u.top(lambda)
	for _, l := range logs {
		wrong += math.Exp(l - largest)
	}
	return u, wrong
}

// newRule evaluates the loss of r at the nodes of the panels.
func (r *round) newRule(ps []panel, atom float64) *rule {
	n := len(ps)*panelNodes + 1
	u := &rule{panels: ps, y: make([]float64, 0, n), logP: make([]float64, 0, n), moved: make([]float64, 0, n),
		weighed: make([]float64, 0, n), share: make([]float64, 0, n)}
	variance := r.sigma * r.sigma
	for _, p := range ps {
		logHalf := math.Log(p.half)
		for i, t := range legendreX {
			x := p.center + p.half*t
			shift := 3 * (math.Abs(x) + p.half) // how far rounding may move x
			logDensity := -x*x/(2*variance) - r.logNorm
			y, moved := 0.0, 0.0
			for side, factor := range [...]float64{p.branch.up, p.branch.down} {
				if factor == 0 {
					continue
				}
				at := x
				if side == 1 {
					at = -x
				}
				loss, share := r.lossAndShare(at)
				y += factor * loss
				if side == 0 {
					logDensity += p.branch.weight * loss
					u.share = append(u.share, share)
				}
				moved += 8*math.Abs(loss) + 4*math.Abs(r.exponent(at))*share + share/variance*shift
			}
			u.y = append(u.y, y)
			u.logP = append(u.logP, legendreLogW[i]+logHalf+logDensity)
			u.moved = append(u.moved, moved)
			u.weighed = append(u.weighed, 8+4*x*x/variance+2*math.Abs(logDensity)+2*math.Abs(logHalf)+
				math.Abs(x)/variance*shift+p.branch.weight*moved)
		}
	}
	if atom > 0 {
		u.y, u.logP = append(u.y, 0), append(u.logP, math.Log(atom))
		u.moved, u.weighed = append(u.moved, 0), append(u.weighed, 8)
	}
	return u
}

// tilted is log E[e^(λY)] of a part, a round or a release, with its derivatives and a bound of its
// error from quadrature and rounding.
type tilted struct {
	k, mean, variance float64
	err               float64
}

// seen is a result of tilt, and the rule that gave it.
type seen struct {
	tilted
	by *rule
}

// tilt evaluates log ∫ e^(λY) dP over the part for λ > 0. It reuses the last rule if that is
// accurate enough for this λ.
func (p *part) tilt(r *round, lambda float64) tilted {
	const enough = 1e-12
	if p.given != nil {
		p.last = p.given
		return p.given.tilt(lambda, p.given.top(lambda), 0)
	}
	if s, ok := p.seen[lambda]; ok {
		p.last = s.by
		return s.tilted
	}
	if p.seen == nil {
		p.seen = map[float64]seen{}
	}
	var t tilted
	if p.last != nil {
		top := p.last.top(lambda)
		t = p.last.tilt(lambda, top, p.last.wrong(r, lambda, top))
	}
	if p.last == nil || !(t.err < enough) {
		var wrong float64
		p.last, wrong = p.ruleFor(r, lambda, 0)
		t = p.last.tilt(lambda, p.last.top(lambda), wrong)
	}
	p.seen[lambda] = seen{t, p.last}
	return t
}

// wrong bounds the error of a rule for t = 0 at another λ: that of ∫ e^(λY) dP, divided by e^top.
func (u *rule) wrong(r *round, lambda, top float64) float64 {
	var sum float64
	for i := range u.dropped {
		q := &u.dropped[i]
		sum += math.Exp(u.whole[i].logBound(r, q.branch, lambda, 0)-top) * 2 * q.half
	}
	for i := range u.panels {
		e := math.Inf(1)
		for j := range realRhos {
			e = min(e, u.frames[i*realRhos+j].logError(r, u.panels[i].branch, lambda, 0))
		}
		sum += math.Exp(e - top)
	}
	return sum
}

// tilt evaluates log ∫ e^(λY) dP by the rule. top must be u.top(λ), and wrong a bound of the rule's
// error divided by e^top.
func (u *rule) tilt(lambda, top, wrong float64) tilted {
	var sum, first, second, rounding float64
	for j, y := range u.y {
		w := math.Exp(u.logP[j] + lambda*y - top)
		sum += w
		first += w * y
		second += w * y * y
		rounding += w * (u.weighed[j] + 2*lambda*math.Abs(y) + lambda*u.moved[j])
	}
	m := first / sum
	return tilted{
		k: top + math.Log(sum), mean: m, variance: max(0, second/sum-m*m),
		err: 1.01*(wrong+unit*rounding)/sum + unit*(float64(len(u.y))+4+math.Abs(top)),
	}
}

// top returns the largest λy + logP of the nodes.
func (u *rule) top(lambda float64) float64 {
	top := math.Inf(-1)
	for j, y := range u.y {
		top = max(top, u.logP[j]+lambda*y)
	}
	return top
}
