package pld

import "math"

// decay bounds from below how far a round's |M(λ+iτ)| has fallen from M(λ), in its logarithm, for all |τ| ≥ t.
//
// In terms of w = (2x-1)/(2σ²), the integral over a branch is moved from real w to the path w + iα(w), on which
// |g^(iτ)| falls. Let s be the share at w, and 0 ≤ α ≤ a ≤ 1. Then g(w+iα) = g(w)·(1-s+s·e^(iα)), so |g| does not grow,
// and arg g ≥ sin(arg g) ≥ s·sin(α). So |g^(iτ)| ≤ e^(-b·s·α) with b = (1-a²/6)·t. The density of the noise grows by
// e^(σ²α²/2), and the length of the path by at most e^(α'²/2). A factor g^(-λ) with a share r at its place grows by at
// most e^(0.57·λ·r(1-r)·α²). With α = min(a, b·s/K), where |α'| ≤ α because s' = s(1-s), and K = σ² + 1, plus 1.14·λ/4
// if there is such a factor, the integrand is multiplied by at most e^(-G) with
//
//	G = ½·b·s·min(a, b·s/K) ≥ ½·(b·s)²/(K + b·s/a)
//
// The ends of the path are connected with the real line by segments of length σ²α, on which the integrand does not
// grow either. So |M(λ+iτ)| ≤ ∫ e^(λY-G) dP + ends. A rule for t = 0 evaluates M(λ) - ∫ e^(λY-G) dP. In an ellipse of
// height πσ²/4 around a panel, the argument of s is at most π/4, so |e^(-G)| ≤ 1 there.
type decay struct {
	count, k, a   float64
	weight, share []float64    // of the nodes; the weights are divided by M(λ)
	wrong         float64      // the error of the rule and of its rounding, divided by M(λ)
	ends          [][2]float64 // of branches: the share, and σ² times the density divided by M(λ)
}

// decay returns the decay of a round at λ that is not peeled.
func (r *round) decay(lambda float64) decay {
	m := r.bulk.tilt(r, lambda)
	u := r.bulk.last
	variance := r.sigma * r.sigma
	d := decay{count: r.count, k: variance + 1, a: min(1, 3/r.sigma), wrong: 2 * m.err}
	for _, b := range r.bulk.branches {
		if b.up < 0 || b.down < 0 {
			d.k += 1.14 / 4 * lambda
		}
		for _, x := range [...]float64{b.lo, b.hi} {
			density := math.Exp(b.logDensity(r, x) + lambda*b.value(r, x) - m.k)
			d.ends = append(d.ends, [2]float64{r.share(x), variance * density})
		}
	}
	d.weight, d.share = make([]float64, 0, len(u.share)), make([]float64, 0, len(u.share))
	for j, s := range u.share {
		s = max(0, s-10*unit*r.q) // its error; a smaller share decays less
		if w := math.Exp(u.logP[j] + lambda*u.y[j] - m.k); w*s > 1e-20 {
			d.weight, d.share = append(d.weight, w), append(d.share, s)
		}
	}
	for _, p := range u.panels {
		slope := min(15./8, math.Pi/4*variance/p.half) // (ϱ-1/ϱ)/2, at most that of ϱ = 4
		f := r.frame(p, slope+math.Sqrt(1+slope*slope))
		d.wrong += 2 * math.Exp(f.logError(r, p.branch, lambda, 0)-m.k)
	}
	return d
}

// at returns the bound for |τ| ≥ t of all the rounds.
func (d decay) at(t float64) float64 {
	b := (1 - d.a*d.a/6) * t
	var sum, ends float64
	for j, w := range d.weight {
		x := b * d.share[j]
		sum -= w * math.Expm1(-x*x/(2*(d.k+x/d.a)))
	}
	for _, e := range d.ends {
		ends += e[1] * min(d.a, b*e[0]/d.k)
	}
	const rounding = 1e-9 // of shares, G and sums
	return d.count * max(0, -math.Log1p(d.wrong+ends*(1+rounding)-sum*(1-rounding))) * (1 - rounding)
}

// decays returns a lower bound of the logarithm of |M(λ)/M(λ+iτ)| for |τ| ≥ t, without Gaussian parts.
func (r *release) decays(lambda float64) func(t float64) float64 {
	var all []decay
	for _, one := range r.rounds {
		if !r.peeled && one.bulk.given == nil { // discrete losses do not decay
			all = append(all, one.decay(lambda))
		}
	}
	return func(t float64) (sum float64) {
		for _, d := range all {
			sum += d.at(t)
		}
		return sum
	}
}

// fallen returns a t up to most from which on |M| has fallen so far that the integrals of e^excess·|M/M(λ)|/t² beyond
// it are at most π. If there is none, it returns +Inf.
func (r *release) fallen(s saddle, excess, most float64) float64 {
	decays := r.decays(s.lambda)
	for t := 6 / s.spread; t <= most; {
		fall, want := decays(t)+r.gauss*t*t/2, excess-math.Log(math.Pi*t)
		if fall >= want {
			return t
		}
		t *= min(4, max(1.1, math.Sqrt(want/fall)))
	}
	return math.Inf(1)
}
