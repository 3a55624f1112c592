package rdp

import (
	"math"
	"sort"
)

// A grid bounds the cost of many different rounds of sampled Gaussian mechanisms by a few rounds, so that fewer
// divergences are computed.
//
// The idea: take four rounds with the rates and noise multipliers at the corners of a cell. A round inside the cell
// costs at most as much as this game: draw one of the corners at random, publish which one, and run its round. So only
// corners need to be computed. The excess is of second order in the size of a cell.
//
// Proof that a round inside a cell costs at most as much as the random corner, at every order. Let (P, Q) be the pair of
// a round of Poisson sampling, (1-q)N(0, σ²) + qN(1, σ²) and N(0, σ²), and let H_γ = ∫(P - γQ)₊ be its hockey-stick
// divergence. For every γ ≥ 0:
//
//   - At a given σ, H_γ is convex in q, because P is linear in q and Q is constant.
//   - At a given q, H_γ = q·h(1 + (γ-1)/q), where h belongs to the Gaussian mechanism with μ = 1/σ, and
//     H_γ = 1-γ if the argument is not positive. h is a Black–Scholes price with volatility μ, so
//     h″/h′ = (log γ)²/μ³ - μ/4. That is at least u″/u′ with u = erf(μ/√8), and u grows with μ. So h is
//     convex in u.
//
// The probabilities of the corners interpolate linearly, in q and in u. Composition preserves the order.
//
// Fixed-size sampling: under C_q(G_μ), H_γ is the same for γ ≥ 1 (J. Dong, A. Roth, W. Su, "Gaussian
// Differential Privacy", 2022, Theorem 4.2), and 1 - γ + γ·H_(1/γ) for γ < 1. So the same holds there.

// node is count equal rounds with sample rate q, below 1, and noise multiplier sigma.
type node struct{ q, sigma, count float64 }

// cell is a number of rounds whose rates and noise multipliers are in the same cell of a grid, with the corners of
// that cell.
type cell struct {
	count  float64
	corner [4]int     // indexes of the corners; of those that are not needed it may be any index
	weight [4]float64 // their mean probabilities. Their sum is 1, and those of corners that are not needed are 0.
}

// inCells groups the rounds by the cells of a grid of rates and noise multipliers. It returns the nodes of the grid, with
// a count of 0, and the cells that have rounds. most, at least 4, is the largest number of nodes. If top is true,
// each cell has only the corner with the largest rate and the smallest noise multiplier. That corner costs at least
// as much as the rounds of the cell if more rate and less noise never cost less.
func inCells(rounds []node, most int, top bool) (nodes []node, cells []cell) {
	for width := 0.02; ; width *= 1.3 {
		if nodes, cells = grid(rounds, width, most, top); len(nodes) <= most {
			return nodes, cells
		}
	}
}

// grid groups rounds by a grid whose lines are about width apart in log q. They are closer in log σ
// if σ is small, because the cost then changes faster. It gives up once there are more than most nodes.
func grid(rounds []node, width float64, most int, top bool) (nodes []node, cells []cell) {
	rates := lines(rounds, func(r node) float64 { return r.q }, func(float64) float64 { return width })
	noises := lines(rounds, func(r node) float64 { return r.sigma }, func(s float64) float64 { return width / (1 + 1/s) })
	nodeAt, cellAt := map[[2]int]int{}, map[[2]int]int{}
	for _, r := range rounds {
		if len(nodes) > most {
			break
		}
		i, j := below(rates, r.q), below(noises, r.sigma)
		at, ok := cellAt[[2]int{i, j}]
		if !ok {
			at = len(cells)
			cellAt[[2]int{i, j}] = at
			var c cell
			for k := range c.corner {
				if top && k != 2 {
					continue
				}
				place := [2]int{min(i+k/2, len(rates)-1), min(j+k%2, len(noises)-1)}
				n, ok := nodeAt[place]
				if !ok {
					n = len(nodes)
					nodeAt[place] = n
					nodes = append(nodes, node{q: rates[place[0]], sigma: noises[place[1]]})
				}
				c.corner[k] = n
			}
			cells = append(cells, c)
		}
		c := &cells[at]
		c.count += r.count
		first, last := nodes[c.corner[0]], nodes[c.corner[3]]
		rate, noise := 1.0, 1.0 // the weights of the larger q, and of the smaller σ
		if !top {
			rate, noise = part(first.q, r.q, last.q), partOfNoise(last.sigma, r.sigma, first.sigma)
		}
		for k, w := range [...]float64{(1 - rate) * noise, (1 - rate) * (1 - noise), rate * noise, rate * (1 - noise)} {
			c.weight[k] += r.count * w
		}
	}
	for i := range cells {
		w := &cells[i].weight
		sum := w[0] + w[1] + w[2] + w[3] // the count, but for rounding
		for k := range w {
			w[k] /= sum
		}
	}
	return nodes, cells
}

// lines returns the places of a grid's lines, in ascending order, from the least to the largest value
// of the rounds. step is the logarithm of the distance from the line at x to the next.
func lines(rounds []node, of func(node) float64, step func(x float64) float64) (l []float64) {
	lo, hi := math.Inf(1), 0.0
	for _, r := range rounds {
		lo, hi = min(lo, of(r)), max(hi, of(r))
	}
	for x := lo; x < hi; x *= math.Exp(step(x)) {
		l = append(l, x)
	}
	return append(l, hi)
}

// below returns the last of the lines, except the highest, that is at most x.
func below(lines []float64, x float64) int {
	return max(0, min(sort.SearchFloat64s(lines, math.Nextafter(x, math.Inf(1))), len(lines)-1)-1)
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
