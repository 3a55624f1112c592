package pld

import (
	"context"
	"math"
)

// maxSpecs is the largest number of different rounds that are composed one by one.
const maxSpecs = 2048

// grouped returns two releases with few different rounds: least costs at most as much as the given
// rounds, and most at least as much. Rounds of about the same rate and noise become rounds of the
// smallest rate and the largest noise in least, and the other way round in most.
//
// A smaller rate costs less for every order of the hockey-stick divergence, and so after
// composition: its pair is a mixture of the pair of the larger rate and a pair of equal
// distributions, and the divergence is jointly convex. For fixed-size sampling, C_q(f) falls with
// q, and composition preserves the order. More noise is post-processing.
func grouped(ctx context.Context, specs []spec) (least, most []spec) {
	for width := 1e-4; ; width *= 1.5 {
		if least, most = cells(specs, width); len(least) <= maxSpecs || ctx.Err() != nil {
			return least, most
		}
	}
}

// cells merges the rounds in each cell of a grid over log q and log σ.
func cells(specs []spec, width float64) (least, most []spec) {
	index := map[[2]float64]int{}
	for _, s := range specs {
		cell := [2]float64{math.Floor(math.Log(s.q) / width), math.Floor(math.Log(s.sigma) / width)}
		i, ok := index[cell]
		if !ok {
			index[cell] = len(least)
			least, most = append(least, s), append(most, s)
			continue
		}
		l, m := &least[i], &most[i]
		l.q, l.sigma, l.count = min(l.q, s.q), max(l.sigma, s.sigma), l.count+s.count
		m.q, m.sigma, m.count = max(m.q, s.q), min(m.sigma, s.sigma), m.count+s.count
	}
	return least, most
}
