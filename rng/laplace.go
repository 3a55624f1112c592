package rng

// MaxLaplaceScale is the largest scale that [Stream.DiscreteLaplace] accepts. Its noise x has probabilities
// proportional to exp(−|x|/scale).
const MaxLaplaceScale = 1 << 40

// DiscreteLaplace returns a whole number x with probability proportional to exp(−|x|/scale). Added to a count that
// one record changes by 1, it makes the count differentially private with ε = 1/scale and δ = 0. The distribution is
// exact if the stream's bits are uniform: every decision compares whole numbers. The algorithm is algorithm 2 of C. L.
// Canonne, G. Kamath and T. Steinke, "The Discrete Gaussian for Differential Privacy", NeurIPS 2020. The running time
// depends on x, so whoever can measure it learns about x. DiscreteLaplace panics if scale is outside [1,
// MaxLaplaceScale].
func (s *Stream) DiscreteLaplace(scale int) int {
	if scale < 1 || int64(scale) > MaxLaplaceScale {
		panic("rng: DiscreteLaplace needs a scale in [1, 2^40]")
	}
	for {
		part := s.IntN(scale)
		if !s.expTrial(part, scale) {
			continue
		}
		whole := 0
		for s.expTrial(1, 1) {
			whole++
		}
		x := part + scale*whole
		if s.IntN(2) == 0 {
			return x
		}
		if x != 0 { // otherwise 0 would be drawn twice as often
			return -x
		}
	}
}

// expTrial returns true with probability exp(−a/b), for 0 ≤ a ≤ b. It is algorithm 1 of the same
// paper, after von Neumann: the first of the events with probabilities a/b, a/2b, a/3b, … that does
// not happen has an odd number with this probability.
func (s *Stream) expTrial(a, b int) bool {
	n := 1
	for s.IntN(b*n) < a {
		n++
	}
	return n%2 == 1
}
