package rdp

import (
	"math"
	"testing"

	"proactivedp/dp"
	"proactivedp/rng"
)

var selections = []Selection{{0, 0.5}, {0, 0.01}, {0.5, 0.1}, {1, 0.9}, {1, 0.1}, {2, 0.05}, {8, 0.3}}

// distribution returns P[K = k] for k from 1 on, until what is left is next to nothing.
func (s Selection) distribution() []float64 {
	var out []float64
	p := s.first()
	for k := 1; p > 1e-17 || k < 50; k++ {
		out = append(out, p)
		p *= (1 - s.Gamma) * (float64(k) + s.Shape) / float64(k+1)
	}
	return out
}

// The probabilities of Papernot and Steinke 2022, Definition 1, add up to 1, and their
// mean is the one that is stated there.
func TestSelectionDistribution(t *testing.T) {
	for _, s := range selections {
		sum, mean := 0.0, 0.0
		for i, p := range s.distribution() {
			sum += p
			mean += p * float64(i+1)
		}
		if math.Abs(sum-1) > 1e-12 || math.Abs(mean/s.Mean()-1) > 1e-12 {
			t.Errorf("%+v: sum %v, mean %v, must be 1 and %v", s, sum, mean, s.Mean())
		}
	}
	if m := (Selection{1, 0.1}).Mean(); math.Abs(m-10) > 1e-12 {
		t.Errorf("geometric with γ = 0.1: mean %v, must be 10", m)
	}
}

// What is drawn has the distribution. The largest deviation of the distribution function
// of n draws is above 1.95/√n with probability 0.001 for each of seven (Massart's
// bound is 2e^(-2·1.95²)); the seed is fixed.
func TestSelectionDraws(t *testing.T) {
	const n = 100_000
	for i, s := range selections {
		stream := rng.New(7).Stream(rng.Perturbation, uint32(i), 0)
		counts := map[int]int{}
		for range n {
			counts[s.Draw(stream)]++
		}
		want, got, worst := 0.0, 0.0, 0.0
		for k, p := range s.distribution() {
			want += p
			got += float64(counts[k+1]) / n
			worst = max(worst, math.Abs(got-want))
		}
		if worst > 1.95/math.Sqrt(n) {
			t.Errorf("%+v: the distribution function is off by %v", s, worst)
		}
	}
}

// moment is log(Σ p^α·q^(1-α))/(α-1), the Rényi divergence of two distributions on as many
// outcomes.
func renyi(p, q []float64, alpha float64) float64 {
	sum := 0.0
	for i := range p {
		if p[i] > 0 {
			sum += math.Exp(alpha*math.Log(p[i]) + (1-alpha)*math.Log(q[i]))
		}
	}
	return math.Log(sum) / (alpha - 1)
}

// best returns the distribution of the best of K outcomes, later ones being better.
func (s Selection) best(p []float64) []float64 {
	generate := func(x float64) float64 { // f(x) = E[x^K]
		sum := 0.0
		power := x
		for _, pk := range s.distribution() {
			sum += pk * power
			power *= x
		}
		return sum
	}
	out := make([]float64, len(p))
	below, last := 0.0, 0.0
	for i := range p {
		below = min(1, below+p[i])
		at := generate(below)
		out[i] = at - last
		last = at
	}
	return out
}

// The bound holds for trials with few outcomes, for which the divergence of the best one can be computed
// exactly. The test tries many pairs of distributions in both directions, every order and every selection.
// The bound is not much too large: somewhere it is within a factor of three.
func TestSelectionBoundsExactDivergences(t *testing.T) {
	stream := rng.New(11).Stream(rng.Perturbation, 0, 0)
	uniform := func() float64 { return (float64(stream.Uint64()>>11) + 0.5) / (1 << 53) }
	nearest := 0.0
	for range 300 {
		n := 2 + int(stream.Uint64()%4)
		p, q := make([]float64, n), make([]float64, n)
		sp, sq := 0.0, 0.0
		width := 3 * uniform()
		for i := range p {
			p[i] = math.Pow(uniform(), 3)
			q[i] = p[i] * math.Exp(width*(2*uniform()-1))
			sp += p[i]
			sq += q[i]
		}
		for i := range p {
			p[i] /= sp
			q[i] /= sq
		}
		tau := func(alpha float64) float64 { return max(renyi(p, q, alpha), renyi(q, p, alpha)) }
		for _, s := range selections {
			always, over := s.price(tau)
			bp, bq := s.best(p), s.best(q)
			for _, alpha := range []float64{1.1, 2, 5, 20} {
				got := max(renyi(bp, bq, alpha), renyi(bq, bp, alpha))
				bound := tau(alpha) + always + over/(alpha-1)
				if got > bound*(1+1e-9)+1e-12 {
					t.Fatalf("%+v, order %v: divergence %v of the best, bound %v, of trials with %v and %v", s, alpha,
						got, bound, p, q)
				}
				if got > 1e-3 {
					nearest = max(nearest, got/bound)
				}
			}
		}
	}
	if nearest < 1./3 {
		t.Errorf("the bound is never below %.3g times the divergence", 1/nearest)
	}
}

// A mechanism that is as bad as can be, randomised response, shows in experiment at most
// the δ that the bound has at an ε: the event "the best is 1" is counted in 200,000
// selections on either neighbour. Hoeffding's deviation at probability 1e-6 is allowed for.
func TestSelectionMonteCarlo(t *testing.T) {
	const n = 200_000
	s := Selection{1, 0.2}
	// Trials show 1 with probability 0.1 and 0.1·e^0.5.
	p := [2]float64{0.1, 0.1 * math.Exp(0.5)}
	tau := func(alpha float64) float64 {
		a, b := []float64{1 - p[0], p[0]}, []float64{1 - p[1], p[1]}
		return max(renyi(a, b, alpha), renyi(b, a, alpha))
	}
	var share [2]float64
	for side, chance := range p {
		stream := rng.New(5).Stream(rng.Perturbation, uint32(side), 1)
		for range n {
			best := false
			for range s.Draw(stream) {
				best = float64(stream.Uint64()>>11)/(1<<53) < chance || best
			}
			if best {
				share[side] += 1. / n
			}
		}
	}
	slack := math.Sqrt(math.Log(2e6) / (2 * n))
	always, over := s.price(tau)
	for _, delta := range []float64{1e-2, 0.1} {
		_, eps := leastOfAll(func(alpha float64) float64 {
			return epsilon(alpha, tau(alpha)+always+over/(alpha-1), delta)
		})
		if seen := share[1] - math.Exp(eps)*share[0]; seen > delta+slack*(1+math.Exp(eps)) {
			t.Errorf("δ = %v is seen at ε = %v, must be at most %v", seen, eps, delta)
		}
	}
	if share[1] < share[0]+slack {
		t.Errorf("the best is 1 with shares %v: the experiment shows nothing", share)
	}
}

// A selection costs more than one trial, and more with more trials. Later releases are added to its cost.
func TestSelectionCosts(t *testing.T) {
	ctx := t.Context()
	e := []dp.Event{{Sampling: dp.Poisson, Adjacency: dp.AddOrRemove, NoiseMultiplier: 8, Rate: 0.01, Count: 1000}}
	const delta = 1e-5
	one, err := Accountant{}.Epsilon(ctx, e, delta)
	if err != nil {
		t.Fatal(err)
	}
	last := one.EpsilonUpper
	for _, gamma := range []float64{0.5, 0.1, 0.01} {
		b, err := Selection{1, gamma}.Epsilon(ctx, e, nil, delta)
		if err != nil {
			t.Fatal(err)
		}
		with, err := Selection{1, gamma}.Epsilon(ctx, e, e, delta)
		if err != nil {
			t.Fatal(err)
		}
		if b.EpsilonUpper <= last || with.EpsilonUpper <= b.EpsilonUpper || b.Kind != dp.Upper {
			t.Errorf("γ = %v: ε = %v, with a training after it %v, before it was %v", gamma, b.EpsilonUpper,
				with.EpsilonUpper, last)
		}
		last = b.EpsilonUpper
	}
	if err := (Selection{-1, 0}).Validate(); err == nil {
		t.Error("a selection outside its ranges is no error")
	}
	if _, err := (Selection{1, 2}).Epsilon(ctx, e, nil, delta); err == nil {
		t.Error("a selection outside its ranges has an ε")
	}
}

// If float64 rounds the probability of a single trial to 0, the distribution of the number of trials is
// refused. Otherwise the same number would always be drawn.
func TestSelectionsThatCannotBeDrawn(t *testing.T) {
	for _, c := range []struct {
		s  Selection
		ok bool
	}{
		{Selection{64, 1e-6}, false}, {Selection{64, 2e-5}, true}, {Selection{50, 1e-6}, true},
		{Selection{0, 1e-6}, true},
	} {
		err := c.s.Validate()
		if (err == nil) != c.ok || c.ok != (c.s.first() > 0) {
			t.Errorf("%+v: P[K = 1] = %v, %v", c.s, c.s.first(), err)
		}
	}
	for _, s := range []Selection{{}, {Shape: 1}, {1, -1}, {math.NaN(), 0.5}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%+v is drawn", s)
				}
			}()
			s.Draw(rng.New(1).Stream(rng.Perturbation, 0, 0))
		}()
	}
}
