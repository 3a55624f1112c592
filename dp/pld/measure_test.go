package pld

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"proactivedp/dp"
	"proactivedp/internal/testkit"
)

// allocated is rounds of allocation in whole epochs of t rounds.
func allocated(sigma float64, t, epochs int, redraw dp.Redraw) dp.Event {
	return dp.Event{Sampling: dp.Allocation, Adjacency: dp.AddOrRemove, NoiseMultiplier: sigma, Rate: 1 / float64(t),
		Redraw: redraw, Count: t * epochs}
}

func shuffledBatches(sigma float64, t, epochs int, a dp.Adjacency) dp.Event {
	e := allocated(sigma, t, epochs, dp.EachEpoch)
	e.Sampling, e.Adjacency = dp.Shuffle, a
	return e
}

// narrow reports whether an interval of allocation is as narrow as is promised up to t = 1000.
func narrow(b dp.Bound) bool {
	return b.EpsilonUpper-b.EpsilonLower <= max(2e-4, 2e-3*b.EpsilonUpper)
}

// Intervals at t = 98 and δ = 1e-5 by an independent prototype of the same pairs, to four digits; for
// shuffled batches its lower ends, with the statistic Σe^(2x/σ²) instead of Σe^(2.5x/σ²).
func TestAllocationTable(t *testing.T) {
	rows := []struct {
		sigma            float64
		epochs           int
		lower, upper     float64
		zeroOut, replace float64
	}{
		{0.5, 1, 5.4167, 5.4167, 9.997, 19.80}, {0.8, 10, 2.9384, 2.9415, 17.61, 24.10},
		{1, 1, 0.6294, 0.6295, 4.068, 5.417}, {2, 10, 0.6093, 0.6102, 1.099, 1.720},
		{0.5, 10, 12.132, 12.142, 45.67, 87.39}, {0.5, 50, 27.752, 27.776, 152.9, 295.6},
		{0.8, 1, 1.3888, 1.3889, 5.625, 8.622}, {0.8, 50, 6.6318, 6.6389, 44.27, 61.34},
		{1, 10, 1.7199, 1.7224, 9.452, 12.13}, {1, 50, 4.1073, 4.1129, 20.92, 27.75},
		{2, 1, 0.1750, 0.1752, 0.499, 0.629}, {2, 50, 1.4714, 1.4738, 2.444, 4.107},
	}
	if testkit.Sweeps(t) == 1 {
		rows = rows[:4]
	}
	for _, r := range rows {
		b := epsilon(t, Accountant{}, 1e-5, allocated(r.sigma, 98, r.epochs, dp.EachEpoch))
		const digits = 5e-5
		if b.Kind != dp.Interval || !sound(b) || !narrow(b) || b.EpsilonUpper < r.lower*(1-digits)-digits ||
			b.EpsilonLower > r.upper*(1+digits)+digits {
			t.Errorf("σ = %v, %d epochs: %+v, want [%v, %v]", r.sigma, r.epochs, b, r.lower, r.upper)
		}
		for adjacency, want := range map[dp.Adjacency]float64{dp.ZeroOut: r.zeroOut, dp.ReplaceOne: r.replace} {
			b := epsilon(t, Accountant{}, 1e-5, shuffledBatches(r.sigma, 98, r.epochs, adjacency))
			if b.Kind != dp.Interval || !sound(b) || b.EpsilonLower < want*(1-2e-3) || b.EpsilonLower > want*1.05 {
				t.Errorf("shuffled, %s, σ = %v, %d epochs: %+v, want ε ≥ %v", adjacency, r.sigma, r.epochs, b, want)
			}
		}
	}
}

// One draw that is kept for all epochs, by the same prototype; and where float64 has no room for the
// tails, ε is between that of Gaussian rounds and log t less.
func TestAllocatedOnce(t *testing.T) {
	for _, c := range []struct {
		sigma  float64
		epochs int
		want   float64
	}{{1, 10, 13.27}, {1, 50, 49.79}, {2, 10, 2.979}, {2, 50, 16.09}} {
		b := epsilon(t, Accountant{}, 1e-5, allocated(c.sigma, 98, c.epochs, dp.Once))
		if !sound(b) || !narrow(b) || math.Abs(b.Epsilon/c.want-1) > 1e-3 {
			t.Errorf("σ = %v, %d epochs: %+v, want %v", c.sigma, c.epochs, b, c.want)
		}
	}
	b := epsilon(t, Accountant{}, 1e-5, allocated(0.4, 98, 200, dp.Once))
	gaussian := epsilon(t, Accountant{}, 1e-5, event(1, 0.4, 200))
	if !sound(b) || b.EpsilonUpper > gaussian.EpsilonUpper || b.EpsilonLower < gaussian.EpsilonLower-math.Log(98)-1e-6 {
		t.Errorf("%+v, of Gaussian rounds %+v", b, gaussian)
	}
}

// The interval of PLD_accounting (Feldman, Shenfeld) at accuracy 0.05 contains ours.
func TestAllocationWithinPLDAccounting(t *testing.T) {
	if b := epsilon(t, Accountant{}, 1e-5, allocated(1, 98, 1, dp.EachEpoch)); b.EpsilonLower < 0.6148 || b.EpsilonUpper > 0.6366 {
		t.Errorf("%+v", b)
	}
}

// monteCarlo estimates E_Q[(L-e^ε)₊] of one epoch, with its standard error. A coordinate, at a random
// place, is shifted far in nine of ten samples, and by 1 in the others: with the second part the
// weights are bounded. All places count in the weights, because another coordinate may be as large.
func monteCarlo(r *rand.Rand, sigma float64, t int, eps float64, samples int) (mean, wrong float64) {
	v := sigma * sigma
	shift := max(1, v*(math.Log(float64(t))+max(eps, -1))+0.5)
	var sum, squares float64
	for range samples {
		far := r.Float64() < 0.9
		var l, moved float64
		special := r.IntN(t)
		for i := range t {
			x := sigma * r.NormFloat64()
			if i == special {
				if far {
					x += shift
				} else {
					x++
				}
			}
			l += math.Exp((2*x - 1) / (2 * v))
			moved += math.Exp((2*x - shift) * shift / (2 * v))
		}
		l /= float64(t)
		moved /= float64(t)
		f := max(0, l-math.Exp(eps)) / (0.9*moved + 0.1*l)
		sum += f
		squares += f * f
	}
	n := float64(samples)
	mean = sum / n
	return mean, math.Sqrt((squares/n - mean*mean) / n)
}

// δ is at most 1e-5 at the upper end and at least 1e-5 at the lower one, as far as an experiment can
// show. By the central limit theorem, an experiment fails by chance with a probability of 3e-7, which
// is that of five standard errors.
func TestAllocationByExperiment(t *testing.T) {
	const delta = 1e-5
	samples := 20_000 * testkit.Sweeps(t)
	for i, sigma := range []float64{0.5, 0.8, 1} {
		b := epsilon(t, Accountant{}, delta, allocated(sigma, 98, 1, dp.EachEpoch))
		r := rand.New(rand.NewPCG(40, uint64(i)))
		low, lowWrong := monteCarlo(r, sigma, 98, b.EpsilonUpper, samples)
		high, highWrong := monteCarlo(r, sigma, 98, b.EpsilonLower, samples)
		if low-5*lowWrong > delta || high+5*highWrong < delta || lowWrong > 0.05*delta {
			t.Errorf("σ = %v: δ = %v ± %v and %v ± %v at the ends of %+v", sigma, low, lowWrong, high, highWrong, b)
		}
	}
}

// The attack on shuffled batches at σ = 2: an experiment with the exact likelihood ratio of the pair
// had δ = 9.86e-6 ± 1.2e-7 at ε = 0.5. The statistic is nearly as good.
func TestShuffledAttackByExperiment(t *testing.T) {
	b, err := (Accountant{}).Delta(t.Context(), []dp.Event{shuffledBatches(2, 98, 1, dp.ZeroOut)}, 0.5)
	if err != nil || b.DeltaLower > 9.86e-6+5*1.2e-7 || b.DeltaLower < 9.5e-6 {
		t.Errorf("%+v, %v", b, err)
	}
}

// The roundings keep the mean and the mass: under Q the ratio of the upper measure has mean 1 with what
// is at infinity, and all distributions have mass 1, to the error that is counted.
func TestMeasuresAreDistributions(t *testing.T) {
	for _, c := range []struct {
		sigma   float64
		batches int
	}{{0.1, 3}, {0.5, 98}, {1, 1000}, {4, 33}, {1000, 10}} {
		e := epoch{batches: c.batches, sigma: c.sigma, present: 1}
		check := func(name string, u *rule, infinite, more float64) { // more: how much an upper end may count twice
			mass, units := infinite, 0.0
			for i, l := range u.logP {
				mass += math.Exp(l)
				units = max(units, u.weighed[i])
			}
			if mass-1 < -unit*units-1e-9 || mass-1 > unit*units+1e-9+more || units*unit > 1e-6 {
				t.Errorf("%+v, %s: mass 1%+.3g, allowed %.3g", c, name, mass-1, unit*units)
			}
		}
		for _, lost := range []float64{1e-12, 1e-3} { // with the larger one, what is cut off is seen
			up, low := e.upper(t.Context(), lost, 1), e.lower(t.Context(), lost, 1)
			for _, d := range []direction{remove, add} {
				check("upper", up.of[d], up.infinite[d], lost)
				check("lower", low.of[d], 0, 0)
			}
			for i, y := range up.of[remove].y { // a loss of one direction is the negative one of the other
				if both := y + up.of[add].y[i]; !(both >= 0 && both < 1e-6) {
					t.Fatalf("%+v: losses %v and %v", c, y, up.of[add].y[i])
				}
			}
			_, up = newCrowd(c.batches%5+1, 0.1, max(c.sigma, 0.5)).measures(lost, 1)
			for _, d := range []direction{remove, add} {
				check("group, upper", up.of[d], up.infinite[d], lost)
			}
		}
	}
}

// Allocation to one round is no sampling. With more rounds in an epoch, one epoch costs less, and its ε
// comes closer to that of Poisson samples at rate 1/t in t rounds.
func TestAllocationBetweenGaussianAndPoisson(t *testing.T) {
	one, gaussian := epsilon(t, Accountant{}, 1e-5, allocated(2, 1, 7, dp.EachEpoch)), epsilon(t, Accountant{}, 1e-5, event(1, 2, 7))
	if math.Abs(one.Epsilon/gaussian.Epsilon-1) > 1e-9 {
		t.Errorf("t = 1: %+v, want %+v", one, gaussian)
	}
	before, gap := math.Inf(1), math.Inf(1)
	for _, batches := range []int{2, 20, 200, 2000} {
		b := epsilon(t, Accountant{}, 1e-5, allocated(1, batches, 1, dp.EachEpoch))
		p := epsilon(t, Accountant{}, 1e-5, event(1/float64(batches), 1, batches))
		if next := math.Abs(math.Log(b.Epsilon / p.Epsilon)); !sound(b) || b.EpsilonUpper >= before || batches > 20 && next >= gap {
			t.Errorf("t = %d: %+v, Poisson %+v", batches, b, p)
		} else {
			before, gap = b.EpsilonUpper, next
		}
	}
	if gap > 0.1 {
		t.Errorf("relative distance from Poisson %v", gap)
	}
}

// Random settings: the ends do not cross, they are as narrow as is promised, and ε falls with σ and
// grows with the epochs.
func TestAllocationSweep(t *testing.T) {
	r := rand.New(rand.NewPCG(40, 7))
	for range 3 * testkit.Sweeps(t) {
		sigma, batches, epochs := logUniform(r, 0.4, 4), int(logUniform(r, 2, 1000)), int(logUniform(r, 1, 200))
		delta := logUniform(r, 1e-9, 1e-4)
		b := epsilon(t, Accountant{}, delta, allocated(sigma, batches, epochs, dp.EachEpoch))
		if !sound(b) || !narrow(b) {
			t.Errorf("σ = %v, t = %d, %d epochs, δ = %v: [%v, %v]", sigma, batches, epochs, delta, b.EpsilonLower, b.EpsilonUpper)
		}
		quiet := epsilon(t, Accountant{}, delta, allocated(1.1*sigma, batches, epochs, dp.EachEpoch))
		longer := epsilon(t, Accountant{}, delta, allocated(sigma, batches, epochs+1+epochs/5, dp.EachEpoch))
		if quiet.EpsilonLower > b.EpsilonUpper || longer.EpsilonUpper < b.EpsilonLower {
			t.Errorf("σ = %v, t = %d, %d epochs, δ = %v: %+v, with more noise %+v, longer %+v", sigma, batches, epochs, delta,
				b, quiet, longer)
		}
	}
}

// Where σ is tiny, as if a draw is kept for many epochs, the grid does not become finer than ε needs. It took 17 s
// of CPU to answer for σ = 0.45, t = 4691 and 71 epochs.
func TestGridOfTinyNoise(t *testing.T) {
	h, halvings := (epoch{batches: 4691, sigma: 0.45 / math.Sqrt(71)}).grid()
	if finest := math.Ldexp(h, -halvings(4691)); finest < 0.5e-4/(2*0.45*0.45/71) {
		t.Errorf("grid width %v", finest)
	}
}

// Random settings of persons: the ends do not cross, ε grows with the records and the rounds and falls with σ, and a
// person with one record is a record.
func TestGroupSweep(t *testing.T) {
	r := rand.New(rand.NewPCG(40, 8))
	for range 3 * testkit.Sweeps(t) {
		e := event(logUniform(r, 1e-4, 0.1), logUniform(r, 0.6, 8), int(logUniform(r, 10, 20_000)))
		delta := logUniform(r, 1e-9, 1e-4)
		with := func(group int, sigma float64, count int) dp.Bound {
			e := e
			e.Group, e.NoiseMultiplier, e.Count = group, sigma, count
			return epsilon(t, Accountant{}, delta, e)
		}
		k, s := int(logUniform(r, 2, 32)), e.NoiseMultiplier
		b, fewer, quiet, longer := with(k, s, e.Count), with(k-1, s, e.Count), with(k, 1.2*s, e.Count), with(k, s, e.Count+1+e.Count/5)
		if !sound(b) || fewer.EpsilonLower > b.EpsilonUpper || quiet.EpsilonLower > b.EpsilonUpper || longer.EpsilonUpper < b.EpsilonLower {
			t.Errorf("%+v, δ = %v, group of %d: %+v, of one less %+v, with more noise %+v, longer %+v", e, delta, k, b, fewer, quiet, longer)
		}
		if one, record := with(1, s, e.Count), with(0, s, e.Count); one != record {
			t.Errorf("%+v, δ = %v: one record %+v, a record %+v", e, delta, one, record)
		}
	}
}

// Rounds of different draws are not an epoch of one, in any order of events, and a part of an epoch
// costs as much as the whole. Only finished epochs count from below.
func TestPartsOfEpochs(t *testing.T) {
	part := allocated(1, 6, 1, dp.EachEpoch)
	part.Count = 3
	whole, two := allocated(1, 6, 1, dp.EachEpoch), allocated(1, 6, 2, dp.EachEpoch)
	one, twice := epsilon(t, Accountant{}, 1e-5, part), epsilon(t, Accountant{}, 1e-5, part, part)
	if want := epsilon(t, Accountant{}, 1e-5, whole); one.EpsilonUpper != want.EpsilonUpper || one.EpsilonLower != 0 || one.Kind != dp.Upper {
		t.Errorf("a part %+v, whole %+v", one, want)
	}
	if want := epsilon(t, Accountant{}, 1e-5, two); math.Abs(twice.EpsilonUpper/want.EpsilonUpper-1) > 1e-9 {
		t.Errorf("parts of two draws %+v, two epochs %+v", twice, want)
	}
	for _, redraw := range dp.Redraws() { // also where a record that is in every round would cost less than two draws
		begun := allocated(1, 2, 2, redraw)
		begun.Count--
		if got, want := epsilon(t, Accountant{}, 1e-5, begun), epsilon(t, Accountant{}, 1e-5, allocated(1, 2, 2, redraw)); got.EpsilonUpper != want.EpsilonUpper {
			t.Errorf("redraw = %s: an epoch and a half %+v, two %+v", redraw, got, want)
		}
	}
	part.Sampling, part.Adjacency = dp.Shuffle, dp.ZeroOut
	if b := epsilon(t, Accountant{}, 1e-5, part); b.Kind != dp.Upper || b.EpsilonLower != 0 {
		t.Errorf("a part of a shuffled epoch: %+v", b)
	}
}

// Shuffled batches from sizes leave records out of an epoch, so the attack shows less. Without a
// redraw, the lower end is that of the better one for the attacked.
func TestShuffledWithRest(t *testing.T) {
	e := shuffledBatches(1, 10, 1, dp.ReplaceOne)
	whole := epsilon(t, Accountant{}, 1e-5, e)
	e.Rate, e.SampleSize, e.DatasetSize = 0, 10, 109
	if rest := epsilon(t, Accountant{}, 1e-5, e); rest.EpsilonLower >= whole.EpsilonLower || rest.EpsilonLower < whole.EpsilonLower-0.2 ||
		rest.EpsilonUpper != whole.EpsilonUpper {
		t.Errorf("with a rest %+v, whole %+v", rest, whole)
	}
	e = shuffledBatches(2, 10, 4, dp.ReplaceOne)
	each := epsilon(t, Accountant{}, 1e-5, e)
	e.Redraw = dp.Once
	once := epsilon(t, Accountant{}, 1e-5, e)
	e.Redraw = ""
	if unknown := epsilon(t, Accountant{}, 1e-5, e); unknown.EpsilonLower != min(each.EpsilonLower, once.EpsilonLower) {
		t.Errorf("%+v, each epoch %+v, once %+v", unknown, each, once)
	}
}

// Intervals for persons with k records, Poisson samples of 512 of 50,000 on average and δ = 1e-5, by
// the same prototype. One record is the usual pair, and q = 1 is Gaussian with k times the distance.
func TestGroups(t *testing.T) {
	for _, c := range []struct {
		sigma        float64
		epochs, k    int
		lower, upper float64
	}{
		{0.8, 1, 2, 3.064, 3.066}, {0.8, 1, 4, 6.023, 6.027}, {0.8, 1, 16, 24.78, 24.81},
		{1, 10, 2, 4.037, 4.040}, {1, 10, 4, 9.033, 9.039}, {1, 10, 16, 53.61, 53.66},
		{2, 10, 2, 1.350, 1.352}, {2, 10, 4, 2.933, 2.936}, {2, 10, 16, 15.40, 15.41},
		{2, 50, 2, 3.258, 3.260}, {2, 50, 4, 7.315, 7.321}, {2, 50, 16, 44.70, 44.74},
		{4, 50, 2, 1.408, 1.409}, {4, 50, 4, 3.058, 3.061}, {4, 50, 16, 16.15, 16.17},
	} {
		e := event(512./50_000, c.sigma, int(math.Ceil(float64(c.epochs)*50_000/512)))
		e.Group = c.k
		b := epsilon(t, Accountant{}, 1e-5, e)
		if !sound(b) || b.EpsilonUpper > 1.002*b.EpsilonLower || b.EpsilonUpper < c.lower*(1-2e-4) || b.EpsilonLower > c.upper*(1+2e-4) {
			t.Errorf("%+v: [%v, %v], want [%v, %v]", e, b.EpsilonLower, b.EpsilonUpper, c.lower, c.upper)
		}
	}
	e := event(0.01, 1.5, 1000)
	single := epsilon(t, Accountant{}, 1e-5, e)
	l, u := newCrowd(1, 0.01, 1.5).measures(1e-12, 1000)
	q := query{effort: free(t), directions: []direction{remove, add}, accuracy: 1e-3}
	lower, _ := q.with(spec{count: 1000, given: l}).composeEpsilon(1e-5)
	_, upper := q.with(spec{count: 1000, given: u}).composeEpsilon(1e-5)
	if lower > single.EpsilonUpper || upper < single.EpsilonLower || upper > 1.002*lower {
		t.Errorf("a group of one: [%v, %v], a record %+v", lower, upper, single)
	}
	e = event(1, 3, 5)
	e.Group = 4
	if b, want := epsilon(t, Accountant{}, 1e-5, e), epsilon(t, Accountant{}, 1e-5, event(1, 3./4, 5)); math.Abs(b.Epsilon/want.Epsilon-1) > 1e-9 {
		t.Errorf("q = 1: %+v, want %+v", b, want)
	}
	e = event(1e-5, 1, 1000) // a large group of which a round has few records
	e.Group = dp.MaxGroup
	if b := epsilon(t, Accountant{}, 1e-5, e); !sound(b) || b.EpsilonUpper > 1.002*b.EpsilonLower {
		t.Errorf("%+v: %+v", e, b)
	}
	e = event(0.1, 0.5, 10)
	e.Group = dp.MaxGroup
	if _, err := (Accountant{}).Epsilon(t.Context(), []dp.Event{e}, 1e-5); !errors.Is(err, dp.ErrNotCovered) {
		t.Errorf("%+v: %v", e, err)
	}
}

// Where nearly all records of a person are drawn, a sum without them is far less likely with the person, down to what
// float64 has no room for. Both directions still have the exact δ, in which the loss exceeds ε on one side of a point.
func TestGroupsThatAreNearlyAlwaysDrawn(t *testing.T) {
	for _, c := range []struct {
		k        int
		q, sigma float64
		eps      []float64
	}{
		{20, 0.9, 3, []float64{0, 10, 20, 30}}, {40, 0.9, 10, []float64{1, 10, 20}}, {60, 0.6, 4, []float64{20, 40}},
		{100, 1 - 1e-7, 1.5, []float64{200, 400, 600}}, // P at 0 is below e^-1000
	} {
		crowd := newCrowd(c.k, c.q, c.sigma)
		_, m := crowd.measures(1e-12, 1)
		lossAt := func(loss float64) float64 { // the point with this loss
			lo, hi := -1e3, 1e4
			for range 100 {
				if y, _ := crowd.loss((lo + hi) / 2); y < loss {
					lo = (lo + hi) / 2
				} else {
					hi = (lo + hi) / 2
				}
			}
			return lo
		}
		for _, eps := range c.eps {
			x, y := lossAt(eps), lossAt(-eps)
			removed, added := -math.Exp(eps)*upperTail(x/c.sigma), upperTail(-y/c.sigma)
			for j, l := range crowd.logB {
				removed += math.Exp(l) * upperTail((x-float64(j))/c.sigma)
				added -= math.Exp(l+eps) * upperTail((float64(j)-y)/c.sigma)
			}
			for d, want := range map[direction]float64{remove: removed, add: added} {
				lower, upper := m.delta(d, eps)
				if !(upper >= want*(1-1e-9)) || !(upper <= want*1.01+1e-11) || !(lower >= 0) || !(lower <= upper) {
					t.Errorf("%+v, direction %d at %v: δ in [%v, %v], want %v", c, d, eps, lower, upper, want)
				}
			}
		}
	}
	for _, e := range []dp.Event{event(0.9, 1.1, 1), event(0.95, 30, 2)} {
		e.Group = 40
		if b := epsilon(t, Accountant{}, 1e-2, e); !sound(b) || b.EpsilonUpper > 1.05*b.EpsilonLower {
			t.Errorf("%+v: [%v, %v]", e, b.EpsilonLower, b.EpsilonUpper)
		}
	}
}

// Numbers of records that a cell leaves out have less than e^-80 of the density of the likeliest, at both ends of a cell
// of the greatest width. The likeliest is not 0, whose part gives no weight to the ends of the cell.
func TestRecordsNearACell(t *testing.T) {
	for _, c := range []crowd{newCrowd(1000, 0.9, 40), newCrowd(1000, 1e-4, 3), newCrowd(100, 1-1e-7, 1.5), newCrowd(300, 0.5, 9), newCrowd(1, 0.3, 1)} {
		width, left := steepestLoss*c.sigma*c.sigma/float64(c.k), 0
		for x := -10 * c.sigma; x < float64(c.k)+10*c.sigma; x += c.sigma {
			from, to := c.near(x)
			for _, at := range []float64{x - width/2, x + width/2} {
				part := func(j int) float64 { return c.logB[j] - (at-float64(j))*(at-float64(j))/(2*c.sigma*c.sigma) }
				top := math.Inf(-1)
				for j := 1; j <= c.k; j++ {
					top = max(top, part(j))
				}
				for j := range c.logB {
					if j >= from && j <= to {
						continue
					}
					if left++; part(j) > top-80 {
						t.Fatalf("k = %d, q = %v, σ = %v: %d at %v is left out, with e^%v of the likeliest", c.k, c.q, c.sigma, j, at, part(j)-top)
					}
				}
			}
		}
		if c.k >= 300 && left == 0 {
			t.Errorf("k = %d, q = %v, σ = %v: nothing is left out", c.k, c.q, c.sigma)
		}
	}
}

// Fixed-size samples cost at least what Poisson samples cost that change a sum by as much: the ends are
// close where the noise is small, and they differ by a factor of at most 2.1 in the settings of the
// prototype.
func TestFixedSizeFromBelow(t *testing.T) {
	r := rand.New(rand.NewPCG(40, 6))
	for range 6 * testkit.Sweeps(t) {
		q, sigma, rounds := logUniform(r, 1e-3, 0.3), logUniform(r, 0.6, 8), int(logUniform(r, 2, 3000))
		e := event(q, sigma, rounds)
		e.Sampling, e.Adjacency = dp.FixedSize, dp.ReplaceOne
		fixed, half := epsilon(t, Accountant{}, 1e-5, e), epsilon(t, Accountant{}, 1e-5, event(q, sigma/2, rounds))
		if !sound(fixed) || fixed.Kind != dp.Interval || fixed.EpsilonLower > half.EpsilonUpper ||
			fixed.EpsilonLower < half.EpsilonLower*(1-2e-3) || fixed.EpsilonUpper > 0.01 && fixed.EpsilonUpper > 2.1*fixed.EpsilonLower {
			t.Errorf("%+v: %+v, Poisson at half the noise %+v", e, fixed, half)
		}
	}
}

// Many equal events take no more time than one, and too many different ones are refused by name.
func TestManyEventsOfAllocation(t *testing.T) {
	var many, different []dp.Event
	for i := range 200 {
		many = append(many, allocated(2, 20, 1, dp.EachEpoch))
		different = append(different, allocated(2, 20+i, 1, dp.EachEpoch))
	}
	together, want := epsilon(t, Accountant{}, 1e-5, many...), epsilon(t, Accountant{}, 1e-5, allocated(2, 20, 200, dp.EachEpoch))
	if together.EpsilonLower != want.EpsilonLower || together.EpsilonUpper != want.EpsilonUpper {
		t.Errorf("%+v, want %+v", together, want)
	}
	if _, err := (Accountant{}).Epsilon(t.Context(), different, 1e-5); !errors.Is(err, dp.ErrNotCovered) {
		t.Errorf("200 different events: %v", err)
	}
	var anew, kept []dp.Event // a draw that is kept is another measure for each number of epochs
	for i := range maxMeasures + 1 {
		anew, kept = append(anew, allocated(2, 20, 1+i, dp.EachEpoch)), append(kept, allocated(2, 20, 1+i, dp.Once))
	}
	lengths := epsilon(t, Accountant{}, 1e-5, anew...)
	if want := epsilon(t, Accountant{}, 1e-5, allocated(2, 20, (maxMeasures+1)*(maxMeasures+2)/2, dp.EachEpoch)); lengths.EpsilonUpper != want.EpsilonUpper {
		t.Errorf("of many lengths %+v, want %+v", lengths, want)
	}
	if _, err := (Accountant{}).Epsilon(t.Context(), kept, 1e-5); !errors.Is(err, dp.ErrNotCovered) {
		t.Errorf("%d kept draws: %v", len(kept), err)
	}
}

// Several events that keep their draw may all keep the same one. Ten events of one epoch then cost no less
// than one event of ten epochs, and more than ten epochs with draws of their own.
func TestKeptDrawsMayBeShared(t *testing.T) {
	var parts []dp.Event
	for range 10 {
		parts = append(parts, allocated(1, 20, 1, dp.Once))
	}
	shared, whole := epsilon(t, Accountant{}, 1e-5, parts...), epsilon(t, Accountant{}, 1e-5, allocated(1, 20, 10, dp.Once))
	if anew := epsilon(t, Accountant{}, 1e-5, allocated(1, 20, 10, dp.EachEpoch)); shared.EpsilonUpper < whole.EpsilonLower ||
		shared.EpsilonLower > anew.EpsilonUpper || shared.EpsilonLower > whole.EpsilonUpper || !sound(shared) {
		t.Errorf("parts %+v, whole %+v, drawn anew %+v", shared, whole, anew)
	}
	one := epsilon(t, Accountant{}, 1e-5, parts[0]) // an attack on two draws is proved only for each of them
	if two := epsilon(t, Accountant{}, 1e-5, parts[:2]...); two.EpsilonLower > one.EpsilonLower*(1+1e-9) {
		t.Errorf("two kept draws %+v, one %+v", two, one)
	}
	// With so little noise, float64 has no room for the measure. An attacker knows the noise of the record's rounds, but
	// not which of the 1,000 they are.
	little, gauss := epsilon(t, Accountant{}, 1e-5, allocated(0.3, 1000, 100, dp.Once)), epsilon(t, Accountant{}, 1e-5, event(1, 0.3, 100))
	if got := gauss.EpsilonUpper - little.EpsilonLower; !(got > math.Log(1000)*(1-1e-6) && got < math.Log(1000)*(1+1e-3)) {
		t.Errorf("%+v, without sampling %+v", little, gauss)
	}
}

// Noise that changes within an epoch of allocation is refused: a record may be in two rounds of the later
// noise although one epoch begins with it.
func TestNoiseChangesBetweenEpochs(t *testing.T) {
	a, b := allocated(1, 6, 1, dp.EachEpoch), allocated(2, 6, 1, dp.EachEpoch)
	a.Count, b.Count = 3, 4
	if _, err := (Accountant{}).Epsilon(t.Context(), []dp.Event{a, b}, 1e-5); !errors.Is(err, dp.ErrNotCovered) {
		t.Errorf("error %v", err)
	}
	a.Count = 6
	if _, err := (Accountant{}).Epsilon(t.Context(), []dp.Event{a, b}, 1e-5); err != nil {
		t.Errorf("whole epochs: %v", err)
	}
}

// Each event is attacked by its own redraw, in any order: a release costs at least as much as each event.
func TestRedrawsAreThoseOfTheEvents(t *testing.T) {
	once, each := shuffledBatches(2, 10, 4, dp.ReplaceOne), shuffledBatches(2, 10, 4, dp.ReplaceOne)
	once.Redraw, each.Redraw = dp.Once, dp.EachEpoch
	first, second := epsilon(t, Accountant{}, 1e-5, once, each), epsilon(t, Accountant{}, 1e-5, each, once)
	least := max(epsilon(t, Accountant{}, 1e-5, once).EpsilonLower, epsilon(t, Accountant{}, 1e-5, each).EpsilonLower)
	if min(first.EpsilonLower, second.EpsilonLower) < least*(1-1e-3) || !sound(first) || !sound(second) {
		t.Errorf("%+v, in the other order %+v, one alone %v", first, second, least)
	}
}

// A rate whose batches leave records out shows less than one that uses all records.
func TestRateWithRest(t *testing.T) {
	e := shuffledBatches(1, 3, 2, dp.ReplaceOne)
	whole := epsilon(t, Accountant{}, 1e-5, e)
	e.Rate = 0.3
	if rest := epsilon(t, Accountant{}, 1e-5, e); rest.EpsilonLower >= whole.EpsilonLower || rest.EpsilonUpper != whole.EpsilonUpper {
		t.Errorf("with a rest %+v, whole %+v", rest, whole)
	}
}

// Many different shuffled rounds still have the upper end, which needs no measure.
func TestManyShuffledRounds(t *testing.T) {
	var events []dp.Event
	for i := range 2 * maxMeasures {
		events = append(events, shuffledBatches(3+0.01*float64(i), 10, 1, dp.ZeroOut))
	}
	if b := epsilon(t, Accountant{}, 1e-5, events...); b.Kind != dp.Upper || !(b.EpsilonUpper > 0) {
		t.Errorf("%+v", b)
	}
}

// Rounds of whole batches are exact, however many different noises they have.
func TestManyNoisesOfWholeBatches(t *testing.T) {
	var events []dp.Event
	for i := range 1024 + 10 {
		events = append(events, event(1, 50+0.1*float64(i), 1))
	}
	if b := epsilon(t, Accountant{}, 1e-5, events...); b.Kind != dp.Exact || b.EpsilonUpper > b.EpsilonLower*(1+1e-9) {
		t.Errorf("%+v", b)
	}
}
