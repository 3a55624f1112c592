package audit

import "proactivedp/dp/gdp"

// refutesGaussian reports whether, under every mechanism that is μ-GDP, this many right guesses or more
// have a probability below level (Mahloujifar, Melis, Chaudhuri, "Auditing f-differential privacy in one
// run", 2024, Algorithm 3 for membership).
//
// The proof, for m canaries of which c are guessed. Let q_i be the probability of at least i right
// guesses. Take the event that the guess of canary j is right and that at least i guesses are right.
// Toss coin j again the other way: the data are a neighbour, the same output has a wrong guess for j, and
// at least i-1 are right. So the probabilities P and Q of the event satisfy P ≤ Φ(Φ⁻¹(Q) + μ). The right
// side is concave in Q. Averaged over the coins and over j, Jensen's inequality gives
//
//	R_i ≤ Φ(Φ⁻¹(H_{i-1}) + μ), where R_i = E[T; T ≥ i]/m and H_i = E[c-T; T ≥ i]/m
//
// for the number T of right guesses. With s_i = q_i + q_{i+1} + … these are R_i = (i·q_i + s_{i+1})/m
// and H_i = ((c-i)·q_i - s_{i+1})/m. Therefore
//
//	(c-i+1)·q_{i-1} ≥ s_i + m·Φ(Φ⁻¹(R_i) - μ),
//
// which increases in q_i and s_{i+1}. Beginning with q_right = level and s = 0, it yields lower bounds
// on all q_i. If q_0 must exceed 1, q_right is below level.
func (g OneRun) refutesGaussian(mu, level float64) bool {
	const rounding = 1e-6 // more than the sums of at most MaxCanaries terms are off
	m, c := float64(g.Canaries), float64(g.Guesses)
	q, above := level, 0.0 // q_i, and s_{i+1}
	for i := g.Right; i >= 1; i-- {
		k := float64(i)
		share := min(1, (k*q+above)/m)
		above += q // s_i
		// TailQuantile(p) is -Φ⁻¹(p), and Tail(x) is Φ(-x).
		next := (above + m*gdp.Tail(gdp.TailQuantile(share)+mu)) / (c - k + 1)
		if next <= q {
			return false // with q_{i-1} = q_i, R and H stay as they are, and so do all further q
		}
		if q = next; q > 1+rounding {
			return true
		}
	}
	return false
}

// mu returns the largest μ that the guesses refute at the level, if it is above least. Otherwise it
// returns least.
func (g OneRun) mu(least, level float64) float64 {
	const largest = 16
	if !g.refutesGaussian(least, level) {
		return least
	}
	low, high := least, float64(largest)
	if g.refutesGaussian(high, level) {
		return high
	}
	for high-low > 1e-9*high {
		if mid := low + (high-low)/2; g.refutesGaussian(mid, level) {
			low = mid
		} else {
			high = mid
		}
	}
	return low
}
