package pld

import "math"

// crowd is one round of Poisson sampling for a person with up to k records. The pair is ΣB_j·N(j, σ²)
// against N(0, σ²), with B the binomial distribution of k trials at rate q (Ganesh, "Tight
// group-level DP guarantees for DP-SGD with sampling via mixture of Gaussians mechanisms",
// arXiv 2401.10294). All lengths are in clipping norms.
type crowd struct {
	k        int
	q, sigma float64
	logB     []float64
}

func newCrowd(k int, q, sigma float64) crowd {
	c := crowd{k: k, q: q, sigma: sigma, logB: make([]float64, k+1)}
	c.logB[0] = float64(k) * math.Log1p(-q)
	for j := range k {
		c.logB[j+1] = c.logB[j] + math.Log(float64(k-j)/float64(j+1)*q/(1-q))
	}
	return c
}

// logError bounds the absolute error of logB, in units.
func (c crowd) logError() float64 {
	most := 0.0
	for _, l := range c.logB {
		most = max(most, math.Abs(l))
	}
	return float64(c.k+2) * (most + 8)
}

// loss returns the loss log(dP/dQ) at x and a bound of its error in units.
func (c crowd) loss(x float64) (y, moved float64) {
	variance := c.sigma * c.sigma
	top := math.Inf(-1)
	for j, l := range c.logB {
		top = max(top, l+float64(j)*(2*x-float64(j))/(2*variance))
	}
	wrong := c.logError()
	if top < 1 { // Σ B_j·(e^a - 1) keeps the digits of a small loss
		var sum, size float64
		for j, l := range c.logB[1:] {
			a := float64(j+1) * (2*x - float64(j+1)) / (2 * variance)
			v := math.Exp(l) * math.Expm1(a)
			sum += v
			size += math.Abs(v)*(wrong+8) + 8*math.Abs(a)*math.Exp(l+a)
		}
		if sum > -0.5 { // below, 1+sum has lost digits, or all of them
			return math.Log1p(sum), 4*math.Abs(math.Log1p(sum)) + (size+float64(c.k)*math.Abs(sum))/(1+sum)
		}
	}
	var sum float64
	for j, l := range c.logB {
		sum += math.Exp(l + float64(j)*(2*x-float64(j))/(2*variance) - top)
	}
	y = top + math.Log(sum)
	return y, wrong + float64(c.k) + 8*(math.Abs(y)+40+float64(c.k*c.k)/variance)
}

// The limits of a crowd's cells: their number, and the change k·d/σ² of the loss in one of width d.
// With the latter, the rule of a cell has a relative error below 1e-14; see widestCell.
const maxCells, steepestLoss = 20_000, 3.5

// measures returns the measures that bound c from below and from above. A probability of at most lost
// of count rounds is left out. Both are nil if k/σ is too large.
//
// For the upper one, L at x between the ends of a cell is rounded to L at one of the ends, without
// bias. For the lower one, only the cell of x is kept.
func (c crowd) measures(lost, count float64) (lower, upper *measure) {
	share := max(leastDelta, lost) / (8 * count) // of each tail, and of batches with more than most of the records
	tail := c.sigma * tailPoint(min(0.25, share))
	most := float64(c.most(share))
	lo, hi := -tail, most+tail
	// The loss changes by at most k·d/σ² in a cell of width d, and where it matters by about most·d/σ² or less.
	d := min(c.sigma/50, 0.05*c.sigma*c.sigma/max(most, 1), 3*c.sigma*c.sigma/float64(c.k))
	n := int(math.Ceil(min(maxCells, (hi-lo)/d)))
	d = (hi - lo) / float64(n)
	variance := c.sigma * c.sigma
	if float64(c.k)*d > steepestLoss*variance {
		return nil, nil
	}
	norm := d / (2 * c.sigma * math.Sqrt(2*math.Pi))

	var falls, rises [len(cellX)][]float64 // how much of p_j is not at the upper and at the lower end of a cell, by node
	for node, t := range cellX {
		u := d * (1 + t) / 2
		for j := range c.logB {
			falls[node] = append(falls[node], -math.Expm1(-float64(j)*u/variance))
			rises[node] = append(rises[node], math.Expm1(float64(j)*(d-u)/variance))
		}
	}

	lower = &measure{of: [2]*rule{remove: {}, add: {}}, variance: c.variance()}
	p := make([]float64, n+1)       // P of the rounded L, by its point
	weighed := make([]float64, n+1) // in units
	const quadrature = 256          // the rule's error and sums, in units; see widestCell
	type point struct {
		i    int
		logP float64
	}
	var small []point // parts of p that float64 has no room for
	for i := range n {
		x0 := lo + d*float64(i)
		from, to := c.near(x0 + d/2)
		rise := c.rise(x0+d, d, from, to)
		shift := c.underflow(x0 + d/2)
		var inP, inQ, above, below, roundP, roundQ float64
		for node, t := range cellX {
			u := d * (1 + t) / 2
			x := x0 + u
			weight := cellW[node] * norm
			v := weight * math.Exp(-x*x/(2*variance))
			inQ += v
			roundQ += v * 8 * (x*x/variance + 1)
			for j := from; j <= to; j++ {
				l, z := c.logB[j], (x-float64(j))/c.sigma
				v := weight * math.Exp(l-z*z/2-shift)
				if v == 0 {
					continue
				}
				inP += v
				roundP += v * 8 * (z*z + 1)
				above += v * falls[node][j]
				below += v * rises[node][j]
			}
		}
		roundP, roundQ = quadrature+c.logError()+float64(c.k)+2*math.Abs(shift)+roundP/inP, quadrature+roundQ/inQ
		both := 2*roundP + 64 + float64(c.k)
		weighed[i], weighed[i+1] = max(weighed[i], both), max(weighed[i+1], both)
		above, below = above/rise, below/rise*(1-rise)
		if shift != 0 {
			small = append(small, point{i + 1, math.Log(above) + shift}, point{i, math.Log(below) + shift})
			continue
		}
		p[i+1] += above
		p[i] += below
		if y := math.Log(inP / inQ); inQ > 1e-290 {
			moved := roundP + roundQ + 8 + 4*math.Abs(y)
			lower.of[remove].add(y, math.Log(inP), moved, roundP+8+2*math.Abs(math.Log(inP)))
			lower.of[add].add(-y, math.Log(inQ), moved, roundQ+8+2*math.Abs(math.Log(inQ)))
		}
	}
	upper = &measure{of: [2]*rule{remove: {}, add: {}}, variance: c.variance()}
	put := func(i int, logP float64) {
		y, moved := c.loss(lo + d*float64(i))
		upper.of[remove].add(y, logP, moved, weighed[i]+8+4*math.Abs(logP))
		upper.of[add].add(-y, logP-y, moved, weighed[i]+moved+8+4*math.Abs(logP)+4*math.Abs(y))
	}
	for i, v := range p {
		if v > 0 {
			put(i, math.Log(v))
		}
	}
	for _, at := range small {
		put(at.i, at.logP)
	}
	above := 0.0
	for j, l := range c.logB {
		above += math.Exp(l) * (upperTail((float64(j)-lo)/c.sigma) + upperTail((hi-float64(j))/c.sigma))
	}
	upper.infinite = [2]float64{
		remove: above * (1 + 1e-9), add: (upperTail(-lo/c.sigma) + upperTail(hi/c.sigma)) * (1 + 1e-9),
	}
	return lower, upper
}

// most returns the number of records that are exceeded with a probability of at most share, about. It limits the
// cells; what is beyond them is counted exactly.
func (c crowd) most(share float64) int {
	beyond := 0.0
	for j := c.k; j > 0; j-- {
		if beyond += math.Exp(c.logB[j]); beyond > share {
			return j
		}
	}
	return 0
}

// near returns the first and the last number of records that matter in a cell around x. The other parts p_j of P's
// density are below e^-80 of the largest with j ≥ 1 at every point of the cell, because e^84 is the limit at x, and the
// ratio of two parts changes by at most e^(k·d/σ²) ≤ e^3.5. In the sums of a cell, the factor of p_j is at most 1 (the
// density), or up to 40·j times the factor of p_1 (the weights of its ends). So leaving k parts out changes a sum by
// less than 1e-26 of it, far less than the error that is allowed for.
func (c crowd) near(x float64) (from, to int) {
	const limit = 84
	part := func(j int) float64 {
		z := (x - float64(j)) / c.sigma
		return c.logB[j] - z*z/2
	}
	top := math.Inf(-1)
	for j := 1; j <= c.k; j++ {
		top = max(top, part(j))
	}
	for to = c.k; part(to) < top-limit; to-- {
	}
	for part(from) < top-limit { // the parts rise and then fall: their logarithms are concave in j
		from++
	}
	return from, to
}

// underflow returns the logarithm of the largest part of P's density at x, if it is so small that float64 has little
// room for it, and otherwise 0. Under Q, such an x may be likely.
func (c crowd) underflow(x float64) float64 {
	const least = -600
	top := math.Inf(-1)
	for j, l := range c.logB {
		z := (x - float64(j)) / c.sigma
		top = max(top, l-z*z/2)
	}
	if top < least {
		return top
	}
	return 0
}

// rise returns (L(x)-L(x-d))/L(x), from the positive terms of the records from to to: see near.
func (c crowd) rise(x, d float64, from, to int) float64 {
	variance := c.sigma * c.sigma
	exponent := func(j int) float64 { return c.logB[j] + float64(j)*(2*x-float64(j))/(2*variance) }
	top := math.Inf(-1)
	for j := from; j <= to; j++ {
		top = max(top, exponent(j))
	}
	var all, part float64
	for j := from; j <= to; j++ {
		v := math.Exp(exponent(j) - top)
		if v == 0 {
			continue
		}
		all += v
		part += v * -math.Expm1(-float64(j)*d/variance)
	}
	return part / all
}

// variance guesses the variance of one round's loss.
func (c crowd) variance() float64 {
	k := float64(c.k)
	return k * k * c.q * c.q * math.Expm1(min(1/(c.sigma*c.sigma), 5))
}
