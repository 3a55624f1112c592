package rdp

import (
	"context"
	"math"
	"sort"
)

// maxPairs is the largest number of different pairs whose divergences are integrated.
const maxPairs = 768

// grouped is a release of many different rounds. The divergence of a round is bounded by those of
// four nodes, which are the corners of a cell of a grid over q and σ.
//
// Let H_γ = ∫(P - γQ)₊. Up to a factor that does not depend on the pair, E_Q[(P/Q)^(1+a)] - 1 is the
// integral of γ^(a-1)·H_γ over γ > 1 plus that of γ^(a-1)·(H_γ - (1-γ)) over γ < 1 (I. Sason and S.
// Verdú, "f-Divergence Inequalities", IEEE Trans. Inf. Theory 62, 2016, Section VII). So it is convex
// in every parameter in which all H_γ are convex. For the pair mixture:
//
//   - at a given σ, H_γ is convex in q, because P is linear in q and Q is constant;
//   - at a given q, H_γ = q·h(1 + (γ-1)/q), where h is that of the Gaussian mechanism with μ = 1/σ, and
//     1-γ where the argument is not positive. h is a Black–Scholes price with volatility μ, so
//     h″/h′ = (log γ)²/μ³ - μ/4. That is at least u″/u′ with u = erf(μ/√8), and u grows with μ. So h is
//     convex in u.
//
// The pair symmetric has the same H_γ for γ ≥ 1 (J. Dong, A. Roth, W. Su, "Gaussian Differential
// Privacy", 2022, Theorem 4.2), and H_γ = 1 - γ + γ·H_(1/γ) for γ < 1. So the
// moment of a round is at most the mean of those at the corners, with weights that interpolate
// linearly in q and in u. The logarithm is concave. So all rounds of a cell together cost at most
// as much as rounds of their mean weights. The excess is of second order in the size of a cell.
//
// For the pair opposite only the largest q and the smallest σ of a cell are used: the moment grows
// with q, in which both distributions are linear, and falls with σ, because noise is post-processing.
type grouped struct {
	alone release // composed one by one
	nodes []pair
	cells []cell
}

// cell is a number of rounds with the weights of their nodes.
type cell struct {
	count  float64
	node   [4]int
	weight [4]float64
}

// grouped returns the release with at most most different pairs, and one for all without sampling.
func (r release) grouped(most int) grouped {
	if len(r) <= most {
		return grouped{alone: r}
	}
	var sampled release
	squares := 0.0
	for _, p := range r {
		if p.shape == gaussian {
			squares += p.count / (p.sigma * p.sigma)
		} else {
			sampled = append(sampled, p)
		}
	}
	var g grouped
	for width := 0.02; ; width *= 1.5 {
		if g = sampled.inCells(width); len(g.nodes) <= most {
			break
		}
	}
	if squares > 0 { // together they are one Gaussian mechanism
		g.alone = release{{pair{gaussian, 1, 1 / math.Sqrt(squares)}, 1}}
	}
	return g
}

// inCells groups rounds without gaussian ones by a grid whose lines are about width apart in log q.
// They are closer in log σ if σ is small, because divergences then change faster.
func (r release) inCells(width float64) (g grouped) {
	if len(r) == 0 {
		return g
	}
	rates := r.lines(func(p pair) float64 { return p.q }, func(float64) float64 { return width })
	noises := r.lines(func(p pair) float64 { return p.sigma }, func(s float64) float64 { return width / (1 + 1/s) })
	nodes, cells := map[[2]int]int{}, map[[2]int]int{}
	for _, p := range r {
		i, j := rates.below(p.q), noises.below(p.sigma)
		at, ok := cells[[2]int{i, j}]
		if !ok {
			at = len(g.cells)
			cells[[2]int{i, j}] = at
			var c cell
			for k := range c.node {
				place := [2]int{min(i+k/2, len(rates)-1), min(j+k%2, len(noises)-1)}
				n, ok := nodes[place]
				if !ok {
					n = len(g.nodes)
					nodes[place] = n
					g.nodes = append(g.nodes, pair{p.shape, rates[place[0]], noises[place[1]]})
				}
				c.node[k] = n
			}
			g.cells = append(g.cells, c)
		}
		c := &g.cells[at]
		c.count += p.count
		first, last := g.nodes[c.node[0]], g.nodes[c.node[3]]
		high, loud := part(first.q, p.q, last.q), 1-partOfNoise(last.sigma, p.sigma, first.sigma)
		if p.shape == opposite {
			high, loud = 1, 0
		}
		for k, w := range [...]float64{(1 - high) * (1 - loud), (1 - high) * loud, high * (1 - loud), high * loud} {
			c.weight[k] += p.count * w
		}
	}
	for i := range g.cells {
		c := &g.cells[i]
		for k := range c.weight {
			c.weight[k] /= c.count
		}
	}
	return g
}

// lines are the places of a grid's lines, in ascending order.
type lines []float64

// lines returns lines from the least to the largest of r. step is the logarithm of the distance from
// the line at x to the next.
func (r release) lines(of func(pair) float64, step func(x float64) float64) (l lines) {
	lo, hi := math.Inf(1), 0.0
	for _, p := range r {
		lo, hi = min(lo, of(p.pair)), max(hi, of(p.pair))
	}
	for x := lo; x < hi; x *= math.Exp(step(x)) {
		l = append(l, x)
	}
	return append(l, hi)
}

// below returns the last line, except the highest, that is at most x.
func (l lines) below(x float64) int {
	return max(0, min(sort.SearchFloat64s(l, math.Nextafter(x, math.Inf(1))), len(l)-1)-1)
}

// slack is added to the weight of the costlier corner, for rounding.
const slack = 1e-9

// part returns the weight of hi if x is between lo and hi.
func part(lo, x, hi float64) float64 {
	if lo == hi {
		return 1
	}
	return min(1, (x-lo)/(hi-lo)+slack)
}

// partOfNoise returns the weight of the smaller σ, hence of the larger u, if σ is between low and high.
func partOfNoise(high, sigma, low float64) float64 {
	if low == high {
		return 1
	}
	u := func(s float64) float64 { return math.Erf(1 / (2 * math.Sqrt2 * s)) }
	if low < 1 { // u may be almost 1
		u = func(s float64) float64 { return -math.Erfc(1 / (2 * math.Sqrt2 * s)) }
	}
	return part(u(high), u(sigma), u(low))
}

// divergence bounds the divergence of order alpha. Once ctx is done the result is incomplete, and
// the caller must not use it.
func (g grouped) divergence(ctx context.Context, alpha float64) float64 {
	sum, a := g.alone.divergence(ctx, alpha), alpha-1
	logs := make([]float64, len(g.nodes))
	for i, p := range g.nodes {
		if ctx.Err() != nil {
			return sum
		}
		logs[i] = p.logMoment(a)
	}
	for _, c := range g.cells {
		var s logSum
		for k, n := range c.node {
			s.add(logs[n] + math.Log(c.weight[k]))
		}
		sum += c.count * ofLogMoment(s.log(), a) * (1 + margin)
	}
	return sum
}
