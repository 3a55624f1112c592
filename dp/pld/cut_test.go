package pld

import (
	"errors"
	"math"
	"strings"
	"testing"

	"proactivedp/dp"
)

// binomial returns the probabilities of 0, …, n records of n, each drawn with probability q.
func binomial(n int, q float64) []float64 {
	p := []float64{1}
	for range n {
		next := make([]float64, len(p)+1)
		for k, v := range p {
			next[k] += v * (1 - q)
			next[k+1] += v * q
		}
		p = next
	}
	return p
}

// cutDelta returns the δ of one round of batches of at most most records for two data sets: n records with gradient
// -1, with and without a record of gradient 1. Batches are cut to a random part. It integrates the densities.
func cutDelta(n, most int, q, sigma, eps float64, d direction) float64 {
	sums := map[int][2]float64{} // probability of a sum with the record and without it
	put := func(sum, world int, p float64) {
		both := sums[sum]
		both[world] += p
		sums[sum] = both
	}
	for m, p := range binomial(n, q) {
		put(-min(m, most), 1, p)
		put(-min(m, most), 0, p*(1-q))
		if m < most {
			put(1-m, 0, p*q)
		} else {
			kept := float64(most) / float64(m+1)
			put(1-(most-1), 0, p*q*kept)
			put(-most, 0, p*q*(1-kept))
		}
	}
	delta := 0.0
	const step = 0.01
	for x := -float64(most) - 9*sigma; x < 1+9*sigma; x += step {
		var density [2]float64
		for sum, p := range sums {
			z := (x - float64(sum)) / sigma
			for world := range density {
				density[world] += p[world] * math.Exp(-z*z/2) / (sigma * math.Sqrt(2*math.Pi))
			}
		}
		if d == add {
			density[0], density[1] = density[1], density[0]
		}
		delta += max(0, density[0]-math.Exp(eps)*density[1]) * step
	}
	return delta
}

// The bound covers a round of batches that are really cut, where ordinary samples cost less (L. Chua et al., arXiv
// 2411.04205). The ends of δ differ by at most twice what the cut adds.
func TestTruncatedBatches(t *testing.T) {
	beyond := 0
	for _, c := range []struct {
		n, most int
		q       float64
	}{{5, 1, 0.1}, {5, 2, 0.2}, {12, 2, 0.1}, {12, 4, 0.1}, {3, 3, 0.3}} {
		e := event(c.q, 0.7, 1)
		plain := []dp.Event{e}
		e.Truncated, e.DatasetSize = c.most, c.n+1
		tau := 0.0
		for _, p := range binomial(c.n+1, c.q)[c.most+1:] {
			tau += p
		}
		if got := above(c.n+1, c.q, c.most); got < tau || got > 2*tau+1e-15 {
			t.Errorf("%+v: τ = %v, want %v", c, got, tau)
		}
		for _, eps := range []float64{0, 0.5, 1.5, 3} {
			b, err := (Accountant{}).Delta(t.Context(), []dp.Event{e}, eps)
			ordinary, err2 := (Accountant{}).Delta(t.Context(), plain, eps)
			if err != nil || err2 != nil {
				t.Fatal(err, err2)
			}
			true0 := max(cutDelta(c.n, c.most, c.q, 0.7, eps, remove), cutDelta(c.n, c.most, c.q, 0.7, eps, add))
			if true0 > b.DeltaUpper*(1+1e-6) || b.DeltaUpper < min(1, ordinary.DeltaUpper+(1+math.Exp(eps))*tau)*(1-1e-9) {
				t.Errorf("%+v, ε = %v: δ = %v, bound %+v, ordinary %+v", c, eps, true0, b, ordinary)
			}
			if b.DeltaLower > ordinary.DeltaLower || b.DeltaLower < ordinary.DeltaLower-2*(1+math.Exp(eps))*tau-1e-12 {
				t.Errorf("%+v, ε = %v: %+v, ordinary %+v", c, eps, b, ordinary)
			}
			if true0 > ordinary.DeltaUpper*(1+1e-6) {
				beyond++
			}
		}
	}
	if beyond == 0 {
		t.Error("no cut batch costs more than an ordinary sample, so this test shows nothing")
	}
}

// ε and δ answer the same question, a largest batch of all records changes nothing, a smaller one costs more, and
// one that is too small has no ε.
func TestEpsilonOfTruncatedBatches(t *testing.T) {
	e := event(0, 1.1, 3516)
	e.Rate, e.SampleSize, e.DatasetSize = 0, 256, 60_000
	plain := epsilon(t, Accountant{}, 1e-5, e)
	e.Truncated = e.DatasetSize
	if b := epsilon(t, Accountant{}, 1e-5, e); b != plain {
		t.Errorf("all records: %+v, want %+v", b, plain)
	}
	before := plain
	for _, most := range []int{400, 370, 362, 360} {
		e.Truncated = most
		b := epsilon(t, Accountant{}, 1e-5, e)
		d, err := (Accountant{}).Delta(t.Context(), []dp.Event{e}, b.EpsilonUpper)
		if err != nil || !sound(b) || b.Kind != dp.Interval || b.EpsilonUpper < before.EpsilonUpper || b.EpsilonLower > before.EpsilonLower*(1+1e-9) ||
			d.DeltaUpper > 1e-5*(1+1e-3) || d.DeltaUpper < 0.95e-5 {
			t.Errorf("at most %d: %+v, more: %+v, δ %+v, %v", most, b, before, d, err)
		}
		before = b
	}
	if !(before.EpsilonUpper > 1.01*plain.EpsilonUpper && before.EpsilonUpper < 2*plain.EpsilonUpper) {
		t.Errorf("at most 360: %+v, plain %+v", before, plain)
	}
	same := e
	same.Rate, same.SampleSize = 256./60_000, 0
	if b := epsilon(t, Accountant{}, 1e-5, same); math.Abs(b.EpsilonUpper/before.EpsilonUpper-1) > 1e-9 {
		t.Errorf("by its rate %+v, want %+v", b, before)
	}
	same.Count /= 2
	if b := epsilon(t, Accountant{}, 1e-5, same, same, dp.Event{Other: dp.LaplaceNoise, Sampling: dp.Unsampled, Adjacency: dp.AddOrRemove,
		NoiseMultiplier: 1000, Count: 1}); !(b.EpsilonUpper > before.EpsilonUpper && b.EpsilonUpper < before.EpsilonUpper+2e-3) {
		t.Errorf("in two parts with another release %+v, want a little more than %+v", b, before)
	}
	e.Truncated = 300
	if _, err := (Accountant{}).Epsilon(t.Context(), []dp.Event{e}, 1e-5); !errors.Is(err, dp.ErrNotCovered) ||
		!strings.Contains(err.Error(), "give a larger truncated batch size") {
		t.Error(err)
	}
	e.Truncated, e.Adjacency = 400, dp.ReplaceOne
	first := e
	first.Truncated = 0
	for _, events := range [][]dp.Event{{e}, {first, e}} {
		if _, err := (Accountant{}).Epsilon(t.Context(), events, 1e-5); !errors.Is(err, dp.ErrNotCovered) ||
			!strings.Contains(err.Error(), "truncated batch size = 400 with poisson sampling under replace-one") {
			t.Error(err)
		}
	}
}

// The bound of a tail is above it and close to it far from the mean, also where it is tiny, and it is 1 near the mean.
func TestAbove(t *testing.T) {
	p := binomial(2000, 0.05)
	for _, most := range []int{120, 150, 200, 400, 1999, 2000} {
		tail := 0.0
		for k := 2000; k > most; k-- {
			tail += p[k]
		}
		if got := above(2000, 0.05, most); got < tail*(1-1e-9) || most >= 150 && got > 1.1*tail+5e-324 {
			t.Errorf("more than %d: %v, want %v", most, got, tail)
		}
	}
	if above(2000, 0.05, 90) != 1 || above(10, 1, 9) != 1 || above(10, 1, 10) != 0 {
		t.Error("bounds at the ends")
	}
	if got := above(1000, 0.1, 999); got != math.SmallestNonzeroFloat64 {
		t.Errorf("a tail of 1e-1000 is %v", got)
	}
	tiny := event(0.1, 0.05, 20)
	tiny.DatasetSize, tiny.Truncated = 1000, 999
	if b, err := (Accountant{}).Delta(t.Context(), []dp.Event{tiny}, 5000); err != nil || b.DeltaUpper != 1 {
		t.Errorf("a tail of 1e-1000 times e^5000: %+v, %v", b, err)
	}
	if got := above(1<<50, 1e-9, 1<<21); !(got >= 0 && got <= 1) {
		t.Error(got)
	}
}
