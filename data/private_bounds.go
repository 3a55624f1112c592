package data

import (
	"errors"
	"fmt"
	"math"

	"proactivedp/internal/memory"
	"proactivedp/rng"
)

// The range of ε of private bounds.
const (
	minBoundsEpsilon = 1e-4
	maxBoundsEpsilon = 1e2
)

// CheckBoundsEpsilon returns an error if epsilon, the privacy cost of estimating the bounds of columns, is outside
// [1e-4, 100], the range that [Dataset.PrivateBounds] accepts. Use it to report a bad setting before the data is
// read.
func CheckBoundsEpsilon(epsilon float64) error {
	if !(epsilon >= minBoundsEpsilon && epsilon <= maxBoundsEpsilon) {
		return fmt.Errorf("ε of private bounds = %v, must be in [%g, %g]", epsilon, minBoundsEpsilon, maxBoundsEpsilon)
	}
	return nil
}

// The bins of a column. Bin 0 has the numbers nearest to 0. The bins n and −n, from 1 on, have
// positive and negative numbers x with 2^(n+minExponent−1) ≤ |x| < 2^(n+minExponent). The first and the
// last also have those that are nearer to 0 and further away.
const (
	minExponent = -40
	maxExponent = 60
	mostBin     = maxExponent - minExponent
	binsOf      = 2*mostBin + 1
)

// bin returns the bin of a number, from −mostBin to mostBin.
func bin(x float32) int {
	_, e := math.Frexp(math.Abs(float64(x))) // |x| is in [2^(e−1), 2^e)
	n := min(max(e-minExponent, 0), mostBin)
	switch {
	case x == 0:
		return 0
	case x < 0:
		return -n
	}
	return n
}

// ends returns the numbers between which those of a bin are.
func ends(n int) (low, high float64) {
	if n < 0 {
		low, high = ends(-n)
		return -high, -low
	}
	high = math.Ldexp(1, n+minExponent)
	if n == 0 {
		return 0, 0
	}
	return high / 2, high
}

// PrivateBounds estimates bounds for the columns with differential privacy, and returns a normalisation that scales
// each column from its bounds to [0, 1]. Use it if nobody knows public bounds. It costs each record epsilon, under
// add-or-remove adjacency, in addition to the training (see train.Spec.BoundsEpsilon). known says for which columns j
// the bounds are public already. These columns are not looked at and cost nothing. The result gives them the bounds [0,
// 1] and leaves the values in between unchanged, so normalise them to [0, 1] beforehand. Rows of a separate test set
// are not looked at either. hidden is the number of columns in which the noise hid nearly all records, so that their
// bounds are a guess. The noise is drawn from s.
//
// The method is that of Wilson et al., "Differentially Private SQL with Bounded User Contribution", PoPETs 2020,
// section 5.1.1. Let d be the number of columns that are looked at. For each column, a histogram counts the records
// by the size of their value: a bin has the values between two successive powers of two, positive and negative ones
// apart. Discrete Laplace noise of scale t = ⌈d/ε⌉, a whole number, is added to each count. A record is in one bin
// of each histogram. So adding or removing it changes d counts by 1, and the probability of any outcome by a factor
// of at most exp(d/t) ≤ exp(ε) (Dwork, McSherry, Nissim and Smith, "Calibrating Noise to Sensitivity in Private Data
// Analysis", TCC 2006, Proposition 1; Ghosh, Roughgarden and Sundararajan, "Universally Utility-Maximizing Privacy
// Mechanisms", STOC 2009, for whole numbers). The bounds are the outer ends of the first and the last bin whose noisy
// count is above a threshold. With probability at least 99 %, noise alone exceeds this threshold in none of the bins
// of all columns. If no count of a column is above it, the bounds are the ends of the bin with the largest noisy
// count. The bounds of sparse rows are extended to include 0. The bounds depend on the records only by the noisy
// counts, and nothing else is released.
func (d *Dataset) PrivateBounds(epsilon float64, known func(j int) bool, s *rng.Stream) (m Affine, hidden int, err error) {
	if err := CheckBoundsEpsilon(epsilon); err != nil {
		return Affine{}, 0, err
	}
	if d.Images != nil {
		return Affine{}, 0, fmt.Errorf("%s has images, must have rows for bounds of columns", d.Name)
	}
	place, n := make([]int, d.Features), 0
	for j := range place {
		if place[j] = -1; !known(j) {
			place[j] = n
			n++
		}
	}
	if n == 0 {
		return Affine{}, 0, errors.New("no column needs bounds")
	}
	if err := memory.Known().Check(8 * binsOf * int64(n)); err != nil {
		return Affine{}, 0, fmt.Errorf("histograms of %d columns: %w", n, err)
	}
	counts := make([]int, binsOf*n)
	at := func(column, bin int) *int { return &counts[binsOf*column+mostBin+bin] }
	rows := d.Len()
	if d.Train > 0 {
		rows = d.Train
	}
	for k := range n {
		*at(k, 0) = rows // entries that are not stored are 0
	}
	for i := range rows {
		r := d.Row(i)
		for j, x := range r.Value {
			if k := place[r.Index[j]]; k >= 0 {
				*at(k, 0)--
				*at(k, bin(x))++
			}
		}
	}
	scale := int(math.Ceil(float64(n) / epsilon))
	if math.FMA(float64(scale), epsilon, -float64(n)) < 0 { // the quotient was rounded down
		scale++
	}
	for i := range counts {
		counts[i] += s.DiscreteLaplace(scale)
	}
	const chance = 0.01 // that noise alone exceeds the threshold anywhere
	threshold := float64(scale) * math.Log(float64(len(counts))/chance)
	m = Affine{Shift: make([]float64, d.Features), Scale: make([]float64, d.Features), Low: make([]float64, d.Features),
		High: make([]float64, d.Features)}
	for j := range m.Scale {
		low, high := 0.0, 1.0
		if k := place[j]; k >= 0 {
			first, last, best := mostBin+1, -mostBin-1, -mostBin
			for b := -mostBin; b <= mostBin; b++ {
				if float64(*at(k, b)) > threshold {
					first, last = min(first, b), b
				}
				if *at(k, b) > *at(k, best) {
					best = b
				}
			}
			if first > last {
				hidden++
				first, last = best, best
			}
			low, _ = ends(first)
			_, high = ends(last)
			if !d.Dense() || low == high { // zeros are not stored, so 0 must stay 0
				low, high = min(low, 0), max(high, 0)
			}
			if low == high {
				high = 1
			}
		}
		m.Low[j], m.High[j], m.Scale[j] = low, high, 1/(high-low)
		if d.Dense() {
			m.Shift[j] = low
		}
	}
	return m, hidden, nil
}
