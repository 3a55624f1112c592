package audit

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mathext"
	"gonum.org/v1/gonum/stat/distuv"

	"proactivedp/dp"
	"proactivedp/internal/testkit"
	"proactivedp/rng"
	"proactivedp/sim"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// For the correct mechanism, about one in a hundred p-values is below 0.01. Bonferroni's correction makes
// such values rarer, and checks of the same run depend on each other a little. If the checks were
// independent, three times as many would have a probability below 1e-3, by the binomial distribution
// Bin(3·132, 0.01). The seeds are fixed.
func TestChecksOfTheWholeMechanismAreCalm(t *testing.T) {
	if testing.Short() {
		t.Skip("many runs, as concurrent as those of TestWorkersChangeNothing")
	}
	low, all := 0, 0
	for seed := range 3 {
		o := options(NoFault, 200)
		o.Seed = uint64(100 + seed)
		r, err := Run(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range r.Checks {
			if c.Failed {
				t.Errorf("seed %d: %+v", o.Seed, c)
			}
			if all++; c.PValue < 0.01 {
				low++
			}
		}
	}
	if low > 3*all/100 {
		t.Errorf("%d of %d p-values are below 0.01", low, all)
	}
}

// Every fault, at its most obvious size, is found without a replay, which would need the seeds. This holds
// for each runner in which it can be planted. There are so few runs that the lower bound on ε refutes the
// claim for hardly any fault.
func TestEveryFaultIsFound(t *testing.T) {
	if testing.Short() {
		t.Skip("many runs, as concurrent as those of TestWorkersChangeNothing")
	}
	for _, runner := range []Runner{Virtual, Hogwild} {
		for i, f := range Faults()[1:] {
			o := options(f, 1000)
			if o.Runner = runner; runner == Hogwild && (f.OnWire() || testkit.Sweeps(t) == 1 && i%3 != 0) {
				continue
			}
			all, err := Alarms(t.Context(), o, 1)
			if err != nil {
				t.Fatal(err)
			}
			if all[0].By == "" {
				t.Errorf("%s was not found with %s: %+v", f, runner, all)
			}
		}
	}
}

// For some faults, the bounds on ε need a hundred thousand runs, or never find them. The check that was
// made for such a fault finds it in 2,000 runs.
func TestChecksFindWhatBoundsMiss(t *testing.T) {
	for _, c := range []struct {
		fault       Fault
		size        float64
		world, name string
	}{
		{LessNoise, 0.8, "crowd", "noise"},
		{LessNoise, 0.99, "crowd", "noise"},
		{BareCoordinates, 0.001, "crowd", "noise-by-coordinate"},
		{CutNoise, 3, "crowd", "noise-shape"},
		{CoarseGenerator, 16, "crowd", "noise-repeats"},
		{OpenShare, 0.1, "full", "sum"},
		{OpenShare, 0.005, "full", "sum"},
		{ReusedNoise, 0.1, "crowd", "noise-between-rounds"},
		{SharedNoise, 0.1, "crowd", "noise-between-clients"},
		{SharedLegs, 0.1, "crowd", "noise-between-legs"},
		{LooseClip, 1.01, "full", "sum"},
		{LargeSample, 1.1, "crowd", "sum"},
		{RepeatedSample, 0.3, "crowd", "samples-between-rounds"},
		{SharedSample, 0.3, "crowd", "samples-between-clients"},
		{FreshResend, 0.1, "storm", "sent-again"},
		{FreshDuplicate, 0.1, "storm", "sent-again"},
	} {
		o := options(c.fault, 2000)
		o.FaultSize = c.size
		a, err := newAudit(&o)
		if err != nil {
			t.Fatal(err)
		}
		watched, err := a.make(t.Context(), watchPart+c.world)
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, check := range watched.Checks {
			found = found || check.Name == c.name && check.Failed && check.Sees == Releases
		}
		if !found {
			t.Errorf("%s of size %v was not found by %s in %s: %+v", c.fault, c.size, c.name, c.world, watched.Checks)
		}
	}
}

// If clients share their noise, the guarantee is lost: the difference of two releases has no noise. The
// lower bound on ε shows this without a check.
func TestSharedNoiseRefutesTheClaim(t *testing.T) {
	f := find(t, "pair", options(SharedNoise, 600))
	if !f.Violated || f.by() != "distance-of-clients, with/without" {
		t.Errorf("ε ≥ %v by %s, claimed %v", f.EpsilonLowerBound, f.by(), f.EpsilonUpper)
	}
}

// The replay compares every release with what the correct mechanism would have released. So it finds a
// fault that is too small for any statistic of so few runs.
func TestReplaySeesTheFinestFault(t *testing.T) {
	o := options(LessNoise, MinRuns)
	o.FaultSize = 0.9999
	all, err := Alarms(t.Context(), o, 1)
	if err != nil {
		t.Fatal(err)
	}
	if want := (Alarm{Replayed: true}); all[0] != want {
		t.Errorf("%+v, want %+v", all[0], want)
	}
}

// The checks treat the cube root of a chi-square number as normal. Up to the level of a check, the tail of
// this approximation agrees with the exact one (from the package distuv) within a tenth.
func TestCubeRootInTheTails(t *testing.T) {
	for _, c := range []struct{ n, squares float64 }{{240, 360}, {240, 150}, {5000, 5500}, {1e6, 1.006e6}} {
		got := twoSided(cubeRoot(c.squares, c.n)) / 2
		want := chiSquareTail(c.n, c.squares)
		near(t, fmt.Sprintf("tail of %v of %v", c.squares, c.n), got, want, 0.1)
	}
}

// chiSquareTail is the probability of being farther out, on the same side of n.
func chiSquareTail(n, squares float64) float64 {
	if squares > n {
		return mathext.GammaIncRegComp(n/2, squares/2)
	}
	return mathext.GammaIncReg(n/2, squares/2)
}

// The mean and the variance of a release in the direction of the sum are those of random samples, within
// five standard errors. For Poisson sampling, the fourth cumulant is that of independent coins.
func TestSumOfSamples(t *testing.T) {
	for _, sampling := range []dp.Sampling{dp.Poisson, dp.FixedSize} {
		h, err := newSheet(crowd(12, 4, setting{clients: 1, rounds: 1, size: 3, sigma: 0.5, sampling: sampling}))
		if err != nil {
			t.Fatal(err)
		}
		const draws = 40_000
		m := h.mechanism()
		s := rng.New(1).Stream(rng.Sampling, 0, 0)
		var seen moments
		var scratch dp.SampleScratch
		for range draws {
			x := 0.0
			for _, i := range m.SampleOf(nil, h.size, s, &scratch) {
				x += h.along[i]
			}
			seen.add(x + h.sigma*s.Normal())
		}
		mean, variance, fourth := h.sum(float64(h.size) / float64(h.places))
		if z := (seen.mean() - mean) / math.Sqrt(variance/draws); math.Abs(z) > 5 {
			t.Errorf("%s: mean %v, want %v", sampling, seen.mean(), mean)
		}
		error := math.Sqrt((2*variance*variance + math.Abs(fourth)) / draws)
		if math.Abs(seen.variance()-variance) > 5*error {
			t.Errorf("%s: variance %v, want %v", sampling, seen.variance(), variance)
		}
	}
}

// Two equal blocks of noise are found, wherever they are. Different blocks are not reported.
func TestRepeatedBlocks(t *testing.T) {
	tally := &tally{}
	for i := range 1000 {
		tally.blocks = append(tally.blocks, hashed([]float32{float32(i), 1, 2, 3}))
	}
	if got := tally.repeated(); got != 0 {
		t.Errorf("%d repeated, want none", got)
	}
	tally.blocks = append(tally.blocks, hashed([]float32{7, 1, 2, 3}))
	if got := tally.repeated(); got != 1 {
		t.Errorf("%d repeated, want 1", got)
	}
}

func TestFaultSizesAreChecked(t *testing.T) {
	for _, c := range []struct {
		fault  Fault
		size   float64
		runner Runner
		ok     bool
	}{
		{LessNoise, 0.5, Virtual, true}, {LessNoise, 1.5, Virtual, false}, {LessNoise, math.NaN(), Virtual, false},
		{HalfNoise, 0.5, Virtual, false}, {NoFault, 1, Virtual, false}, {FreshResend, 0, Hogwild, false},
		{PartClip, 3, Virtual, true}, {PartClip, 2.5, Virtual, false}, {CoarseGenerator, 8.5, Virtual, false},
	} {
		o := options(c.fault, MinRuns)
		o.FaultSize, o.Runner = c.size, c.runner
		if err := o.Validate(); (err == nil) != c.ok {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// If releases are Gaussian, the p-value of the check "push" is not below that of Student's test with the
// degrees of freedom of both worlds, which is exact. For 80 releases in each world, a normal distribution
// would give a third of the correct p-value at the level of one test.
func TestPushKnowsThatItsVarianceIsMeasured(t *testing.T) {
	const n, clip = 80, 1
	world := func(mean float64) *outcome {
		o := &outcome{cfg: sim.Config{Mechanism: dp.Mechanism{ClipNorm: clip, Sampling: dp.Poisson,
			Adjacency: dp.AddOrRemove}}}
		for i := range n {
			o.along.add(mean + float64(1-2*(i%2)))
			o.rate.add(1)
		}
		return o
	}
	for _, z := range []float64{0, 3, 4.4, 5, 7} {
		std := math.Sqrt(2.0 / (n - 1)) // of the difference of the means, by unbiased variances
		got := push("world", world(clip+z*std), world(0)).PValue
		exact := distuv.StudentsT{Sigma: 1, Nu: 2*n - 2}.Survival(z)
		if !(got >= exact*(1-1e-9) && got <= 40*exact) {
			t.Errorf("at %v standard deviations the p-value is %.3g, exact is %.3g", z, got, exact)
		}
	}
}

// For an unknown sampling or adjacency nothing can be computed, so the checks fail, and the mechanism does
// not count as correct.
func TestUnknownSchemesFail(t *testing.T) {
	for _, m := range []dp.Mechanism{
		{Sampling: "bins", Adjacency: dp.AddOrRemove, ClipNorm: 1},
		{Sampling: dp.Poisson, Adjacency: "near", ClipNorm: 1},
	} {
		o := &outcome{cfg: sim.Config{Mechanism: m}, rate: moments{n: 2, sum: 1, squares: 1},
			along: moments{n: 10, sum: 0, squares: 1}}
		if check := push("world", o, o); check.PValue >= 0.5 || check.PValue < 0.5 {
			t.Errorf("%s under %s: %+v", m.Sampling, m.Adjacency, check)
		}
	}
	s := crowd(12, 4, setting{clients: 1, rounds: 1, size: 3, sigma: 0.5})
	h, err := newSheet(s)
	if err != nil {
		t.Fatal(err)
	}
	h.sampling = "bins"
	if mean, variance, _ := h.sum(0.25); !math.IsNaN(mean) || !math.IsNaN(variance) {
		t.Errorf("mean %v, variance %v of an unknown sampling", mean, variance)
	}
}

// The sizes of a fault are within its range, and each is less obvious than the one before.
func TestSizesOfFaultsFall(t *testing.T) {
	for _, f := range Faults() {
		d := f.described()
		for i, size := range d.sizes {
			if size < d.least || size > d.most {
				t.Errorf("%s: size %v is outside [%v, %v]", f, size, d.least, d.most)
			}
			if i > 1 && (d.sizes[i-2] < d.sizes[i-1]) != (d.sizes[i-1] < size) || i > 0 && d.sizes[i-1] == size {
				t.Errorf("%s: the sizes %v do not go one way", f, d.sizes)
			}
		}
	}
}

// The checks for random allocation and for persons find the faults that they were made for, most of them
// at smaller sizes than the first one of a survey.
func TestFaultsOfAllocationAndPersons(t *testing.T) {
	for _, c := range []struct {
		fault       Fault
		size        float64
		world, name string
	}{
		{KeptDraw, 0.3, "allocated", "samples-between-epochs"},
		{SecondRound, 0.1, "allocated", "sum"},
		{SecondRound, 1, "allocated", "samples-between-rounds"},
		{ExtraRecord, 0, "person", "push"},
	} {
		o := options(c.fault, 2000)
		o.FaultSize = c.size
		a, err := newAudit(&o)
		if err != nil {
			t.Fatal(err)
		}
		kind := watchPart
		if c.fault == ExtraRecord {
			kind = probePart
		}
		m, err := a.make(t.Context(), kind+c.world)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(m.Checks, func(one Check) bool { return one.Name == c.name && one.Failed && one.Sees == Releases }) {
			t.Errorf("%s of size %v was not found by %s in %s: %+v", c.fault, c.size, c.name, c.world, m.Checks)
		}
	}
}
