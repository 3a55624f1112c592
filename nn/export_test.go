package nn

// Paths counts the convolutions by how their tiles' columns are chosen, and by
// how their gradients are made.
func (n *Net) Paths() (across, positions, lanes, ghosts int) {
	for _, l := range n.learners {
		var c *conv
		switch l := l.(type) {
		case *conv:
			c = l
		case *streamed:
			c = l.conv
		default:
			continue
		}
		if c.across {
			across++
		} else {
			positions++
		}
		if _, ok := c.gradients.(*ghostGradients); ok {
			ghosts++
		} else {
			lanes++
		}
	}
	return across, positions, lanes, ghosts
}

// TiledPaths counts what matrix tiles make: forward and backward passes of convolutions,
// sums of their gradients, and dense layers.
func (n *Net) TiledPaths() (passes, sums, affine int) {
	for _, l := range n.learners {
		if d, ok := l.(*dense); ok && d.tiled {
			affine++
		}
		c, ok := l.(*conv)
		if !ok {
			continue
		}
		for _, p := range []contraction{c.ahead, c.back} {
			if _, ok := p.(*tiledAcross); ok {
				passes++
			}
		}
		if g, ok := c.gradients.(*ghostGradients); ok && g.tiled != nil {
			sums++
		}
	}
	return passes, sums, affine
}

// Learner returns the parts of a vector of parameters that are the weights and
// biases of the i-th layer that has any.
func Learner[T any](n *Net, i int, params []T) (weights, biases []T) {
	a := n.learners[i].parameters()
	return params[a.weight:a.bias], params[a.bias : a.bias+a.out]
}

// Held returns the bytes that ScratchBytes is about.
func (s *Scratch) Held() int64 {
	words := 0
	for _, m := range s.floats {
		words += len(m.data)
	}
	for _, m := range s.ints {
		words += len(m.data)
	}
	for _, m := range s.wides {
		words += 2 * len(m.data)
	}
	for _, m := range s.pairs {
		words += len(m.data)
	}
	return 4 * int64(words)
}

// BinSize is how many examples are added in float32.
const BinSize = binSize

// Bins returns where the bins of records end.
func Bins(rows []int32) []int { return appendBins(nil, rows) }

// InBF16 reports whether products are of bfloat16.
func (n *Net) InBF16() bool { return n.bf16 }
