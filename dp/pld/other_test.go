package pld

import (
	"errors"
	"math"
	"strings"
	"testing"

	"proactivedp/dp"
)

func otherRelease(kind dp.Other, v, delta float64, count int) dp.Event {
	e := dp.Event{Other: kind, Sampling: dp.Unsampled, Adjacency: dp.AddOrRemove, Count: count, Delta: delta}
	if kind == dp.GaussianNoise || kind == dp.LaplaceNoise {
		e.NoiseMultiplier = v
	} else {
		e.Epsilon = v
	}
	return e
}

// The measures of Laplace noise contain its δ(ε) = 1 - e^((ε-1/b)/2), for 0 ≤ ε ≤ 1/b, closely, and have
// all of the probability. Those of randomized response have δ(ε) = (e^a - e^ε)/(1 + e^a), and a δ of
// their own is added.
func TestLossesOfOtherReleases(t *testing.T) {
	for _, eps := range []float64{1e-3, 0.1, 1, 7, 100} {
		below, above := laplace(eps)
		for _, u := range []*rule{below.of[0], above.of[0]} {
			sum := 0.0
			for _, p := range u.logP {
				sum += math.Exp(p)
			}
			if math.Abs(sum-1) > 1e-11 {
				t.Errorf("Laplace, ε = %v: probability %v", eps, sum)
			}
		}
		for _, at := range []float64{0, 0.1 * eps, 0.5 * eps, 0.999 * eps} {
			want := -math.Expm1((at - eps) / 2)
			low, _ := below.delta(add, at)
			_, high := above.delta(add, at)
			if !(low <= want*(1+1e-12) && want <= high*(1+1e-12) && high-low <= 2e-6*eps) {
				t.Errorf("Laplace, ε = %v: δ(%v) in [%v, %v], want %v", eps, at, low, high, want)
			}
		}
		_, two := otherMeasures(otherRelease(dp.ApproximateDP, eps, 1e-3, 1))
		_, high := two.delta(remove, eps/2)
		if want := (1-1e-3)*(math.Exp(eps)-math.Exp(eps/2))/(1+math.Exp(eps)) + 1e-3; !(high >= want && high <= want*(1+1e-12)) {
			t.Errorf("(%v, 1e-3): δ = %v, want %v", eps, high, want)
		}
	}
}

// Many releases that are ε-private, next to a training with almost no cost, cost what the optimal
// composition theorem says (Kairouz, Oh, Viswanath, ICML 2015, Theorem 3.3):
// δ(ε) = Σ_i binom(n, i)·(e^((n-i)a) - e^(ε+ia))₊/(1+e^a)^n.
func TestOptimalComposition(t *testing.T) {
	const n, a, delta = 20, 0.2, 1e-5
	training := event(0.001, 1e4, 1)
	b := epsilon(t, Accountant{}, delta, training, otherRelease(dp.PureDP, a, 0, n))
	at := func(eps float64) float64 {
		sum := 0.0
		for i := range n + 1 {
			lg := func(x int) float64 { v, _ := math.Lgamma(float64(x) + 1); return v }
			choose := lg(n) - lg(i) - lg(n-i) - n*math.Log1p(math.Exp(a))
			if x := a * float64(n-2*i); x > eps {
				sum += math.Exp(choose+a*float64(n-i)) * -math.Expm1(eps-x)
			}
		}
		return sum
	}
	if high := at(b.EpsilonUpper); high > delta || high < delta*(1-0.02) {
		t.Errorf("%+v: δ = %v at the upper end", b, high)
	}
	// Such a release may leak less than it costs, so the lower end is that of the training.
	if alone := epsilon(t, Accountant{}, delta, training); b.EpsilonLower > alone.EpsilonUpper {
		t.Errorf("%+v, alone %+v", b, alone)
	}
}

// A Gaussian release costs as much as a round of all records whose sum moves as far, for each kind of
// rounds.
func TestGaussianReleases(t *testing.T) {
	fixed, whole := event(0.05, 1.5, 20), event(1, 8, 3)
	fixed.Sampling, fixed.Adjacency = dp.FixedSize, dp.ReplaceOne
	whole.Sampling, whole.Adjacency = dp.FixedSize, dp.ReplaceOne
	gaussian := otherRelease(dp.GaussianNoise, 4, 0, 3)
	gaussian.Adjacency = dp.ReplaceOne
	poisson, replaced, full := event(0.05, 1.5, 20), event(0.05, 1.5, 20), event(1, 8, 3)
	replaced.Adjacency, full.Adjacency = dp.ReplaceOne, dp.ReplaceOne
	for i, c := range [][2][]dp.Event{
		{{fixed, gaussian}, {fixed, whole}},
		{{replaced, gaussian}, {replaced, full}},
		{{poisson, otherRelease(dp.GaussianNoise, 4, 0, 3)}, {poisson, event(1, 4, 3)}},
		{{otherRelease(dp.GaussianNoise, 4, 0, 3), poisson}, {poisson, event(1, 4, 3)}},
	} {
		got, want := epsilon(t, Accountant{}, 1e-5, c[0]...), epsilon(t, Accountant{}, 1e-5, c[1]...)
		if got.EpsilonUpper > want.EpsilonUpper*(1+3e-3) || got.EpsilonUpper < want.EpsilonLower || !sound(got) ||
			got.EpsilonLower > want.EpsilonUpper || got.Sampling != c[1][0].Sampling {
			t.Errorf("%d: %+v, want %+v", i, got, want)
		}
	}
}

// A training and a release of ε₀ cost at least the training, and at most the sum. A δ₀ is spent.
func TestTrainingAndOtherRelease(t *testing.T) {
	once := allocated(2, 20, 3, dp.EachEpoch)
	for _, training := range []dp.Event{event(0.01, 1, 500), once, shuffledBatches(3, 10, 2, dp.ZeroOut)} {
		alone := epsilon(t, Accountant{}, 1e-5, training)
		for _, o := range []dp.Event{otherRelease(dp.LaplaceNoise, 2, 0, 1), otherRelease(dp.ApproximateDP, 0.5, 1e-6, 1),
			otherRelease(dp.PureDP, 40, 0, 1)} {
			o.Adjacency = training.Adjacency
			most := o.Epsilon
			if o.Other == dp.LaplaceNoise {
				most = 0.5
			}
			less := alone
			if o.Delta > 0 {
				less = epsilon(t, Accountant{}, 1e-5-o.Delta, training)
			}
			b := epsilon(t, Accountant{}, 1e-5, training, o)
			if !sound(b) || b.EpsilonUpper < alone.EpsilonLower || b.EpsilonUpper > (less.EpsilonUpper+most)*(1+2e-3) ||
				b.EpsilonLower < alone.EpsilonLower*(1-2e-2) {
				t.Errorf("%s and %s: %+v, alone %+v", training.Sampling, o.Other, b, alone)
			}
			p, err := (Accountant{}).Delta(t.Context(), []dp.Event{training, o}, b.EpsilonUpper)
			if err != nil || p.DeltaUpper > 1e-5*1.05 || p.DeltaUpper < p.DeltaLower {
				t.Errorf("%s and %s: δ at the upper end %+v, %v", training.Sampling, o.Other, p, err)
			}
		}
	}
}

// Many different Gaussian releases, which a sketch cannot reduce by their rates, next to a few sampled rounds:
// they are together one release with Σ 1/σ².
func TestManyDifferentGaussians(t *testing.T) {
	many, whole := []dp.Event{event(0.01, 1, 100)}, 0.0
	for i := range 3 * manySpecs {
		sigma := 40 + float64(i)/10
		many, whole = append(many, event(1, sigma, 1)), whole+1/(sigma*sigma)
	}
	got := epsilon(t, Accountant{}, 1e-5, many...)
	want := epsilon(t, Accountant{}, 1e-5, many[0], event(1, 1/math.Sqrt(whole), 1))
	if !sound(got) || got.EpsilonUpper > want.EpsilonUpper*1.005 || got.EpsilonUpper < want.EpsilonLower {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// One round of fixed size is composed with another release as several are: what attains the cost of the round
// alone does not attain that of both.
func TestOneFixedRoundAndAnotherRelease(t *testing.T) {
	one, two := event(0.3, 1, 1), event(0.3, 1, 2)
	for _, e := range []*dp.Event{&one, &two} {
		e.Sampling, e.Adjacency = dp.FixedSize, dp.ReplaceOne
	}
	response := otherRelease(dp.RandomizedResponse, 1, 0, 1)
	response.Adjacency = dp.ReplaceOne
	b := epsilon(t, Accountant{}, 0.3, one, response)
	if !sound(b) || b.EpsilonLower >= b.EpsilonUpper*0.999 {
		t.Errorf("%+v, must have a lower end of its own", b)
	}
	if more := epsilon(t, Accountant{}, 0.3, two, response); more.EpsilonLower < b.EpsilonLower {
		t.Errorf("two rounds %+v, one %+v", more, b)
	}
}

// A single release without a training has the closed form of its δ(ε): 1 - e^((ε-1/b)/2) for Laplace noise of scale b,
// and (e^a - e^ε)/(1 + e^a) for a randomized response with a. Of a release that is only known to be (ε, δ)-private, this is
// the upper end. Gaussian noise is that of a round of all records, under any adjacency.
func TestOneReleaseWithoutTraining(t *testing.T) {
	replaced := func(e dp.Event) dp.Event { e.Adjacency = dp.ReplaceOne; return e }
	for _, eps := range []float64{1e-6, 0.1, 1, 7, 100} {
		closed := map[dp.Event]func(at float64) float64{
			otherRelease(dp.LaplaceNoise, 1/eps, 0, 1): func(at float64) float64 { return -math.Expm1((at - eps) / 2) },
			replaced(otherRelease(dp.RandomizedResponse, eps, 0, 1)): func(at float64) float64 {
				return (math.Exp(eps) - math.Exp(at)) / (1 + math.Exp(eps))
			},
			otherRelease(dp.PureDP, eps, 0, 1): func(at float64) float64 { return (math.Exp(eps) - math.Exp(at)) / (1 + math.Exp(eps)) },
			otherRelease(dp.ApproximateDP, eps, 1e-3, 1): func(at float64) float64 {
				return 1e-3 + (1-1e-3)*(math.Exp(eps)-math.Exp(at))/(1+math.Exp(eps))
			},
		}
		for e, delta := range closed {
			known := e.Other == dp.LaplaceNoise || e.Other == dp.RandomizedResponse
			for _, share := range []float64{0, 0.1, 0.5, 0.999} {
				at := share * eps
				want := delta(at)
				b, err := Accountant{}.Delta(t.Context(), []dp.Event{e}, at)
				if err != nil || math.Abs(b.DeltaUpper-want) > 1e-9*want+1e-15 || known != (b.Kind == dp.Exact) || !known && b.Kind != dp.Upper ||
					b.Sampling != dp.Unsampled || b.Adjacency != e.Adjacency {
					t.Errorf("%+v at ε = %v: %+v, %v, want δ = %v", e, at, b, err, want)
				}
				if want > 1-1e-6 { // a small change of δ is then a large one of ε
					continue
				}
				b, err = Accountant{}.Epsilon(t.Context(), []dp.Event{e}, want)
				if err != nil || math.Abs(b.EpsilonUpper-at) > 1e-8*eps || b.EpsilonLower > b.EpsilonUpper || known && b.EpsilonLower < at-1e-8*eps {
					t.Errorf("%+v at δ = %v: %+v, %v, want ε = %v", e, want, b, err, at)
				}
			}
			b, err := Accountant{}.Delta(t.Context(), []dp.Event{e}, 2*eps)
			if err != nil || !(b.DeltaUpper > 0) || b.DeltaUpper > e.Delta*(1+1e-9)+1e-300 {
				t.Errorf("%+v above its ε: %+v, %v", e, b, err)
			}
		}
	}
	for _, a := range []dp.Adjacency{dp.AddOrRemove, dp.ReplaceOne, dp.ZeroOut} {
		e := otherRelease(dp.GaussianNoise, 2, 0, 4)
		e.Adjacency = a
		got, want := epsilon(t, Accountant{}, 1e-5, e), epsilon(t, Accountant{}, 1e-5, event(1, 1, 1))
		if got.Kind != dp.Exact || math.Abs(got.Epsilon-want.Epsilon) > 1e-9 {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
}

// Two releases without a training: of Laplace noise, the interval contains the ε whose δ(ε) = Σ P(y)·δ₁(ε-y) over the loss y of
// one of them, with δ₁ that of the other one. Any mixture costs at most the sum, and at least each of them.
func TestReleasesWithoutTraining(t *testing.T) {
	for _, eps := range []float64{0.05, 1, 6} {
		one := func(x float64) float64 { // δ₁(x), also at negative x
			switch {
			case x >= eps:
				return 0
			case x <= -eps:
				return -math.Expm1(x)
			}
			return -math.Expm1((x - eps) / 2)
		}
		two := func(at float64) float64 {
			const n = 20_000
			sum := one(at-eps)/2 + math.Exp(-eps)/2*one(at+eps)
			for i := range n {
				y := -eps + 2*eps*(float64(i)+0.5)/n
				sum += 2 * eps / n * math.Exp((y-eps)/2) / 4 * one(at-y)
			}
			return sum
		}
		for _, delta := range []float64{1e-5, 0.01} {
			b := epsilon(t, Accountant{}, delta, otherRelease(dp.LaplaceNoise, 1/eps, 0, 2))
			if low, high := two(b.EpsilonLower), two(b.EpsilonUpper); !(high <= delta*(1+1e-4) && delta <= low*(1+1e-4)) || !sound(b) {
				t.Errorf("ε = %v, δ = %v: %+v, δ in [%v, %v] there", eps, delta, b, high, low)
			}
		}
	}
	laplace, gaussian := otherRelease(dp.LaplaceNoise, 4, 0, 1), otherRelease(dp.GaussianNoise, 5, 0, 1)
	pure, approximate := otherRelease(dp.PureDP, 0.1, 0, 3), otherRelease(dp.ApproximateDP, 0.5, 1e-7, 2)
	noise := epsilon(t, Accountant{}, 1e-5, gaussian)
	all := epsilon(t, Accountant{}, 1e-5, laplace, gaussian, pure, approximate)
	if !sound(all) || all.EpsilonUpper > 0.25+noise.EpsilonUpper+0.3+1+0.01 || all.EpsilonLower < noise.EpsilonLower {
		t.Errorf("%+v, Gaussian noise alone %+v", all, noise)
	}
}

func TestOtherReleasesThatAreRefused(t *testing.T) {
	group := event(0.01, 1, 500)
	group.Group = 3
	pair := group
	pair.Group = 2
	replaced := otherRelease(dp.LaplaceNoise, 2, 0, 1)
	replaced.Adjacency = dp.ReplaceOne
	var many []dp.Event
	for i := range maxMeasures + 1 {
		many = append(many, otherRelease(dp.LaplaceNoise, float64(1+i), 0, 1))
	}
	for want, events := range map[string][]dp.Event{
		"group = 2 of the rounds":                     {pair, otherRelease(dp.LaplaceNoise, 2, 0, 1)},
		"event 2: mechanism laplace: adja":            {otherRelease(dp.LaplaceNoise, 2, 0, 1), event(0.01, 1, 500), replaced},
		"event 1: mechanism laplace: adja":            {event(0.01, 1, 500), replaced},
		"event 1: noise multiplier = 1e-09":           {otherRelease(dp.LaplaceNoise, 2, 0, 1), event(0.01, 1e-9, 500)},
		"event 2: group = 3, must be 0 as in event 1": {otherRelease(dp.LaplaceNoise, 2, 0, 1), event(0.01, 1, 500), group},
		"event 1: mechanism laplace: adjacency":       {otherRelease(dp.LaplaceNoise, 2, 0, 1), replaced},
		"must be at most 16: count equal":             append(many, event(0.01, 1, 500)),
		"noise multiplier = 1e-09, must":              {event(0.01, 1, 500), otherRelease(dp.GaussianNoise, 1e-9, 0, 1)},
		"count = 4611686018427387904, mus":            {event(0.01, 1, 500), otherRelease(dp.GaussianNoise, 1, 0, 1<<62)},
		"delta = 1e-05, must be above":                {event(0.01, 1, 500), otherRelease(dp.ApproximateDP, 0.1, 1e-6, 10)},
	} {
		if _, err := (Accountant{}).Epsilon(t.Context(), events, 1e-5); !errors.Is(err, dp.ErrNotCovered) ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%v, must say %q", err, want)
		}
	}
}

// Another release after an unfinished epoch is not a round that follows it.
func TestUnfinishedEpochBeforeAnotherRelease(t *testing.T) {
	unfinished := shuffledBatches(3, 10, 2, dp.ZeroOut)
	unfinished.Count--
	laplace := otherRelease(dp.LaplaceNoise, 2, 0, 1)
	laplace.Adjacency = dp.ZeroOut
	epsilon(t, Accountant{UpperEnd: true}, 1e-5, shuffledBatches(4, 10, 2, dp.ZeroOut), unfinished, laplace)
}

// Without the lower end that has to be computed separately, the upper end is the same.
func TestUpperEndAlone(t *testing.T) {
	laplace := []dp.Event{event(0.01, 1, 500), otherRelease(dp.LaplaceNoise, 2, 0, 1)}
	both, alone := epsilon(t, Accountant{}, 1e-5, laplace...), epsilon(t, Accountant{UpperEnd: true}, 1e-5, laplace...)
	if both.Kind != dp.Interval || alone.Kind != dp.Upper || both.EpsilonLower <= 0 || alone.EpsilonUpper != both.EpsilonUpper {
		t.Errorf("%+v, without a lower end %+v", both, alone)
	}
	gaussian := []dp.Event{event(0.01, 1, 500), otherRelease(dp.GaussianNoise, 2, 0, 1)}
	if b := epsilon(t, Accountant{UpperEnd: true}, 1e-5, gaussian...); b.Kind != dp.Interval || b.EpsilonLower < 0.99*b.EpsilonUpper {
		t.Errorf("Gaussian noise has its own lower end: %+v", b)
	}
}

// The limit of a contour is that of the rounds, however many releases are composed for one answer.
func TestLimitOfAContourDoesNotGrow(t *testing.T) {
	q := query{effort: free(t), directions: []direction{remove, add}, accuracy: 0.1}
	for i := range 150 {
		q.specs = append(q.specs, spec{q: 0.01, sigma: 2 + float64(i)/1000, count: 1})
	}
	for range 2 {
		if _, _, err := q.epsilonEnds(1e-5); err != nil || q.most != maxWork*2.5 {
			t.Errorf("limit %v, want %v; %v", q.most, maxWork*2.5, err)
		}
	}
}
