package pld

import (
	"context"
	"math"
	"slices"

	"proactivedp/internal/mixture"
)

const (
	// maxSpecs is the largest number of different rounds that are composed one by one.
	maxSpecs = 1024
	// If there are more, maxMerged limits the rounds of the lower end, and maxCorners those of the
	// upper end, which is sharper.
	maxMerged, maxCorners = 512, 1024
)

// cheaper returns a release with few different rounds that costs at most as much as the given rounds.
// Rounds of about the same rate and noise become rounds of the smallest rate and the largest noise.
//
// A smaller rate costs less for every order of the hockey-stick divergence, and so after
// composition: its pair is a mixture of the pair of the larger rate and a pair of equal
// distributions, and the divergence is jointly convex. For fixed-size sampling, C_q(f) falls with
// q, and composition preserves the order. More noise is post-processing.
func cheaper(ctx context.Context, specs []spec) []spec {
	return cellsOf(ctx, specs, func(c *spec, s spec) { c.q, c.sigma = min(c.q, s.q), max(c.sigma, s.sigma) })
}

// costlier returns a release that costs at least as much; see cheaper.
func costlier(ctx context.Context, specs []spec) []spec {
	return cellsOf(ctx, specs, func(c *spec, s spec) { c.q, c.sigma = max(c.q, s.q), min(c.sigma, s.sigma) })
}

// cellsOf merges the rounds in each cell of a grid over log q and log σ.
func cellsOf(ctx context.Context, specs []spec, merge func(cell *spec, s spec)) []spec {
	for width := 1e-4; ; width *= 1.5 {
		var cells []spec
		index := map[[2]float64]int{}
		for _, s := range specs {
			cell := [2]float64{math.Floor(math.Log(s.q) / width), math.Floor(math.Log(s.sigma) / width)}
			i, ok := index[cell]
			if !ok {
				if index[cell] = len(cells); len(cells) > maxMerged {
					break
				}
				cells = append(cells, s)
				continue
			}
			merge(&cells[i], s)
			cells[i].count += s.count
		}
		if len(cells) <= maxMerged || ctx.Err() != nil { // in the second case, the answer is not used
			return cells
		}
	}
}

// sharp reports whether the release is one of mixtures, and bounds of its ε are so near that no other
// release needs to be looked at. A release with few large losses is not peeled if it has mixtures,
// so its bounds may be wide.
func (q query) sharp(lower, upper float64) bool {
	return slices.ContainsFunc(q.specs, func(s spec) bool { return s.corners != nil }) && upper <= lower*(1+20*q.accuracy)
}

// corner is a round of a mixture, with its probability.
type corner struct{ q, sigma, weight float64 }

// mixtures returns a release of Poisson sampling under add-or-remove adjacency that costs at least
// as much as the given rounds, and hardly more. Its rounds are mixtures, see package mixture. The
// rounds of one spec have weights whose mean is that of its corners; see mixed.
func mixtures(specs []spec) []spec {
	var all []spec
	var sampled []mixture.Round
	for _, s := range specs {
		if s.q == 1 {
			all = append(all, s) // a release is fast with any number of them
			continue
		}
		sampled = append(sampled, mixture.Round{Q: s.q, Sigma: s.sigma, Count: s.count})
	}
	if len(sampled) == 0 {
		return all
	}
	nodes, cells := mixture.Of(sampled, maxCorners, false)
	for _, c := range cells {
		s := spec{count: c.Count}
		for k, n := range c.Node {
			if w := c.Weight[k]; w > 0 {
				s.corners = append(s.corners, corner{nodes[n].Q, nodes[n].Sigma, w})
				s.q += w * nodes[n].Q
				s.sigma += w * nodes[n].Sigma
			}
		}
		all = append(all, s)
	}
	return all
}

// mixed is a number T of rounds that are mixtures of corners, with different weights of mean weight.
//
// The transform of round i is M_i = Σ_k w_ik·M_k. Let M = Σ_k w_k·M_k with the mean weights w_k,
// and x_i = M_i/M - 1. Then Σx_i = 0 and |x_i| ≤ ξ = max|M_k - M|/|M|. So the product of the M_i is M^T·e^θ with
// |θ| ≤ Σ|log(1+x_i) - x_i| ≤ T·ξ²/(2(1-ξ)) if ξ < 1. On the real line θ ≤ 0, because the logarithm is
// concave.
type mixed struct {
	count  float64
	corner []int // in release.corners
	weight []float64
}

// addMixed adds the rounds of s. Each tail of a corner's loss that is cut off has a probability of at
// most tail. known has the places of the corners.
func (r *release) addMixed(d direction, s spec, tail float64, known map[[2]float64]int) {
	m := mixed{count: s.count}
	for _, c := range s.corners {
		at := [2]float64{c.q, c.sigma}
		i, ok := known[at]
		if !ok {
			i = len(r.corners)
			known[at] = i
			r.corners = append(r.corners, newRound(d, spec{q: c.q, sigma: c.sigma, count: 1}, tail, math.Inf(1)))
		}
		m.corner, m.weight = append(m.corner, i), append(m.weight, c.weight)
		r.out += s.count * c.weight * r.corners[i].out * (1 + 1e-12)
	}
	r.mixes = append(r.mixes, m)
}

// tiltMixed adds log E[e^(λY)] of all mixed rounds, rounded up, to t.
func (r *release) tiltMixed(lambda float64, t *tilted) {
	corners := make([]tilted, len(r.corners))
	for i, one := range r.corners {
		if r.ctx.Err() != nil {
			return
		}
		corners[i] = one.bulk.tilt(one, lambda)
		r.left -= tiltWork * float64(len(one.bulk.last.y))
	}
	for _, m := range r.mixes {
		top, sum, mean, second, wrong := math.Inf(-1), 0.0, 0.0, 0.0, 0.0
		for _, i := range m.corner {
			top = max(top, corners[i].k)
		}
		for k, i := range m.corner {
			c := corners[i]
			w := m.weight[k] * math.Exp(c.k-top)
			sum += w
			mean += w * c.mean
			second += w * (c.variance + c.mean*c.mean)
			wrong = max(wrong, c.err+unit*(2*(top-c.k)+16))
		}
		mean /= sum
		t.k += m.count * (top + math.Log(sum))
		t.mean += m.count * mean
		t.variance += m.count * max(0, second/sum-mean*mean)
		t.err += m.count * (wrong + 4*unit*math.Abs(top))
	}
}

// composeMixed multiplies the products at the contour's points up to t = last by the mixed rounds.
func (r *release) composeMixed(products []product, c *contour, last float64) {
	corners := make([]transform, len(r.corners))
	for i, one := range r.corners {
		if r.ctx.Err() != nil {
			return
		}
		corners[i] = one.bulk.transform(one, c, last, 0, len(products)) // the same center for all
	}
	for _, m := range r.mixes {
		base := math.Inf(-1)
		for _, i := range m.corner {
			base = max(base, corners[i].logMass)
		}
		size, weight := make([]float64, len(m.corner)), make([]float64, len(m.corner))
		mass, moved, weighed := 0.0, 0.0, 0.0
		for k, i := range m.corner {
			f := &corners[i]
			size[k] = math.Exp(f.logMass - base)
			weight[k] = m.weight[k] * size[k]
			mass += weight[k]
			moved, weighed = max(moved, f.moved), max(weighed, f.weighed+2*(base-f.logMass)+2*math.Abs(base)+16)
		}
		c.logScale += m.count * (base + math.Log(mass))
		c.relative += m.count * unit * weighed
		c.shift += m.count * unit * moved
		for j := range products {
			t, p := float64(j)*c.step, &products[j]
			var re, im, wrong float64
			for k, i := range m.corner {
				f := &corners[i]
				re += weight[k] * f.re[j]
				im += weight[k] * f.im[j]
				wrong += weight[k] * (f.wrong(t, c.step) + 16*unit)
			}
			var apart, largest float64
			for k, i := range m.corner {
				f := &corners[i]
				off := size[k] * (f.wrong(t, c.step) + 16*unit)
				apart = max(apart, math.Hypot(size[k]*f.re[j]-re, size[k]*f.im[j]-im)+off)
				largest = max(largest, size[k]*math.Hypot(f.re[j], f.im[j])+off)
			}
			abs := math.Hypot(re, im)
			above := abs + wrong
			xi := (apart + wrong) / max(abs-wrong, 1e-300)
			p.lRe += m.count * math.Log(max(abs/mass, 1e-300))
			p.lIm += m.count * math.Atan2(im, re)
			if theta := m.count * xi * xi / (2 * (1 - xi)); xi < 0.5 && theta < 1 {
				p.mostL += m.count*math.Log(above/mass) + theta
				p.bulkErr += m.count*wrong/above + theta
			} else { // both products are at most this
				p.mostL += m.count * math.Log(max(largest, above)/mass)
				p.bulkErr += 2
			}
		}
	}
}

// manySpecs is the number of different rounds from which on parameters are chosen from a sketch.
const manySpecs = 128

// sketched returns about the same rounds with fewer different ones, or nil if there are few already or
// nothing is gained.
func sketched(specs []spec) []spec {
	if len(specs) <= manySpecs {
		return nil
	}
	var whole float64 // Σ count/σ² of the rounds with q = 1, which are together one Gaussian
	var kept []spec
	for _, s := range specs {
		s.corners = nil
		switch {
		case s.given != nil:
			kept = append(kept, s)
		case s.q == 1:
			whole += s.count / (s.sigma * s.sigma)
		}
	}
	if whole > 0 {
		kept = append(kept, spec{q: 1, sigma: 1 / math.Sqrt(whole), count: 1})
	}
	for width := 0.02; ; width *= 1.3 {
		index := map[[2]float64]int{}
		few := slices.Clone(kept)
		for _, s := range specs {
			s.corners = nil
			if s.given != nil || s.q == 1 {
				continue
			}
			// A moment of the loss changes faster with σ than with q, and fastest if σ is small.
			cell := [2]float64{math.Floor(math.Log(s.q) / (4 * width)), math.Floor((math.Log(s.sigma) - 2/s.sigma) / width)}
			i, ok := index[cell]
			if !ok {
				index[cell] = len(few)
				few = append(few, s)
				continue
			}
			f := &few[i]
			f.count += s.count
			f.q = math.Sqrt(f.q*f.q + (s.q*s.q-f.q*f.q)*s.count/f.count)
			f.sigma += (s.sigma - f.sigma) * s.count / f.count
		}
		if len(index) > manySpecs {
			continue
		}
		if len(few) < len(specs) { // so a sketch of sketches ends
			return few
		}
		return nil
	}
}
