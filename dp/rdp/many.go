package rdp

import (
	"context"
	"math"
)

// maxPairs is the largest number of different pairs whose divergences are integrated.
const maxPairs = 768

// merged is a release of many different rounds. Each round is bounded by a mixture of four nodes,
// as grid.go proves. A moment E_Q[(P/Q)^(1+a)] of a mixture is the mean of the nodes'
// moments, and the logarithm is concave. So all rounds of a cell together cost at most as much as
// rounds of their mean weights.
//
// For the pair opposite only the node with the largest q and the smallest σ is used: the moment
// grows with q, in which both distributions are linear, and falls with σ, because noise is
// post-processing.
type merged struct {
	alone release // composed one by one
	nodes []pair
	cells []cell
}

// merged returns the release with no more different pairs than the limit most, and one for all rounds without
// sampling.
func (r release) merged(most int) merged {
	if len(r) <= most {
		return merged{alone: r}
	}
	var g merged
	var sampled []node
	squares, shape := 0.0, gaussian
	for _, p := range r {
		switch p.shape {
		case gaussian:
			squares += p.count / (p.sigma * p.sigma)
			continue
		case laplace, response, concentrated:
			g.alone = append(g.alone, p)
			continue
		}
		shape = p.shape
		sampled = append(sampled, node{q: p.q, sigma: p.sigma, count: p.count})
	}
	if len(sampled) > 0 {
		var nodes []node
		nodes, g.cells = inCells(sampled, most, shape == opposite)
		for _, n := range nodes {
			g.nodes = append(g.nodes, pair{shape, n.q, n.sigma})
		}
	}
	if squares > 0 { // together they are one Gaussian mechanism
		g.alone = append(g.alone, rounds{pair{gaussian, 1, 1 / math.Sqrt(squares)}, 1})
	}
	return g
}

// divergence bounds the divergence of order alpha. Once ctx is done the result is incomplete, and
// the caller must not use it.
func (g merged) divergence(ctx context.Context, alpha float64) float64 {
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
		for k, n := range c.corner {
			s.add(logs[n] + math.Log(c.weight[k]))
		}
		sum += c.count * ofLogMoment(s.log(), a) * (1 + margin)
	}
	return sum
}
