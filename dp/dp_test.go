package dp

import (
	"math"
	"slices"
	"strings"
	"testing"

	"proactivedp/rng"
)

func mechanism(s Sampling, size, n int) Mechanism {
	return Mechanism{
		Sampling: s, Adjacency: NaturalAdjacency(s),
		ClipNorm: 0.5, NoiseMultiplier: 3, DatasetSize: n, Sizes: ConstantSizes(size),
	}
}

// Poisson sampling: each record is in a sample with probability q = s/N,
// independently. Inclusion counts and the variance of the sample size are
// tested at six standard deviations: false-alarm rate below 1e-6 in all.
func TestPoissonSampling(t *testing.T) {
	for _, c := range []struct{ size, n int }{{1, 50}, {26, 300}, {90, 100}, {4, 5}, {7, 7}} {
		m := mechanism(Poisson, c.size, c.n)
		q := float64(c.size) / float64(c.n)
		const rounds = 40_000
		root := rng.New(7)
		var s rng.Stream
		var scratch SampleScratch
		count := make([]int, c.n)
		pairs := 0 // rounds with records 0 and 1 both in
		var sum, sum2 float64
		var dst []int32
		for i := range rounds {
			root.Reseed(&s, rng.Sampling, 0, i)
			dst = m.Sample(dst[:0], i, &s, &scratch)
			if !slices.IsSorted(dst) {
				t.Fatal("positions are not increasing")
			}
			for _, p := range dst {
				count[p]++
			}
			if len(dst) > 1 && dst[0] == 0 && dst[1] == 1 {
				pairs++
			}
			sum += float64(len(dst))
			sum2 += float64(len(dst)) * float64(len(dst))
		}
		limit := 6*math.Sqrt(rounds*q*(1-q)) + 1e-9
		for p, got := range count {
			if math.Abs(float64(got)-rounds*q) > limit {
				t.Errorf("s = %d of %d: record %d in %d samples, expected %.0f ± %.0f", c.size, c.n, p, got, rounds*q,
					limit)
			}
		}
		if want := rounds * q * q; math.Abs(float64(pairs)-want) > 6*math.Sqrt(want)+1e-9 {
			t.Errorf("s = %d of %d: records 0 and 1 together in %d samples, expected %.0f", c.size, c.n, pairs, want)
		}
		mean := sum / rounds
		variance := sum2/rounds - mean*mean
		want := float64(c.n) * q * (1 - q)
		if math.Abs(variance-want) > 6*want*math.Sqrt(2.1/rounds)+1e-9 {
			t.Errorf("s = %d of %d: sample size has variance %.3f, expected %.3f", c.size, c.n, variance, want)
		}
	}
}

// Fixed-size sampling: exactly s distinct records, each with probability s/N.
func TestFixedSizeSampling(t *testing.T) {
	for _, c := range []struct{ size, n int }{{1, 50}, {26, 300}, {99, 100}, {100, 100}} {
		m := mechanism(FixedSize, c.size, c.n)
		const rounds = 20_000
		var scratch SampleScratch
		count := make([]int, c.n)
		root := rng.New(8)
		for i := range rounds {
			got := m.Sample(nil, i, root.Stream(rng.Sampling, 1, i), &scratch)
			if len(got) != c.size {
				t.Fatalf("%d positions, want %d", len(got), c.size)
			}
			for _, p := range got {
				count[p]++
			}
			if slices.Sort(got); len(slices.Compact(got)) != c.size {
				t.Fatal("a record was drawn twice")
			}
		}
		q := float64(c.size) / float64(c.n)
		limit := 6*math.Sqrt(rounds*q*(1-q)) + 1e-9 // false-alarm rate below 1e-6
		for p, got := range count {
			if math.Abs(float64(got)-rounds*q) > limit {
				t.Errorf("s = %d of %d: record %d in %d samples, expected %.0f ± %.0f", c.size, c.n, p, got, rounds*q,
					limit)
			}
		}
	}
}

// Noise is added in float64: a sum that float32 cannot hold still counts.
func TestNoiseIsAddedInFloat64(t *testing.T) {
	m := mechanism(Poisson, 1, 10)
	noise, u, sum := make([]float32, 1000), make([]float32, 1000), make([]float64, 1000)
	for i := range sum {
		sum[i] = 1 + float64(i)*0x1p-40
	}
	m.Noise(noise, rng.New(1).Stream(rng.Noise, 0, 0))
	m.AddNoise(u, sum, rng.New(1).Stream(rng.Noise, 0, 0))
	early := 0 // how many a sum that is rounded first would have otherwise
	for i, n := range noise {
		if want := float32(sum[i] + float64(n)); u[i] != want {
			t.Fatalf("coordinate %d: %v, want %v", i, u[i], want)
		}
		if u[i] != float32(sum[i])+n {
			early++
		}
	}
	if early == 0 {
		t.Error("no coordinate tells when the sum is rounded")
	}
}

// The noise of every coordinate has standard deviation C·σ.
func TestNoiseScale(t *testing.T) {
	m := mechanism(Poisson, 1, 10)
	u := make([]float32, 1_000_000)
	m.AddNoise(u, make([]float64, len(u)), rng.New(1).Stream(rng.Noise, 0, 0))
	sum2 := 0.0
	for _, v := range u {
		sum2 += float64(v) * float64(v)
	}
	want := 0.5 * 3
	got := math.Sqrt(sum2 / float64(len(u)))
	if math.Abs(got-want) > want*6/math.Sqrt(2*float64(len(u))) { // false-alarm rate 2e-9
		t.Errorf("standard deviation %.5f, want C·σ = %.5f", got, want)
	}
	m.NoiseMultiplier = 0
	clear(u)
	m.AddNoise(u, make([]float64, len(u)), rng.New(1).Stream(rng.Noise, 0, 0))
	if slices.ContainsFunc(u, func(v float32) bool { return v != 0 }) {
		t.Error("σ = 0 added noise")
	}
}

func TestMechanismReportsEveryProblem(t *testing.T) {
	m := Mechanism{Sampling: "some", Adjacency: "near", ClipNorm: math.Inf(1), NoiseMultiplier: -1, DatasetSize: 10,
		Sizes: ConstantSizes(11)}
	err := m.Validate(5)
	if err == nil {
		t.Fatal("accepted")
	}
	for _, want := range []string{`sampling = "some"`, `adjacency = "near"`, "clipping norm = +Inf",
		"noise multiplier = -1", "sample size = 11"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error lacks %q:\n%v", want, err)
		}
	}
	grows := mechanism(Poisson, 1, 10)
	grows.Sizes = PolynomialSizes{1, 1, 1}
	if grows.Validate(10) != nil || grows.Validate(11) == nil {
		t.Error("the largest size of the rounds to be run decides")
	}
	fixed := mechanism(FixedSize, 2, 10)
	fixed.Adjacency = AddOrRemove
	if fixed.Validate(1) == nil {
		t.Error("fixed-size sampling under add-or-remove was accepted")
	}
}

// Numbers that become 0 in float32 would be released without noise, so such scales are refused.
func TestScalesThatFloat32CannotHold(t *testing.T) {
	for _, c := range []struct{ clip, sigma float64 }{{1e-40, 1}, {1e40, 1}, {1e-20, 1e-20}, {1e20, 1e20}} {
		m := mechanism(Poisson, 1, 10)
		m.ClipNorm, m.NoiseMultiplier = c.clip, c.sigma
		if m.Validate(1) == nil {
			t.Errorf("C = %v with σ = %v was accepted", c.clip, c.sigma)
		}
	}
}

// If a sequence of batch sizes never reaches K, Cut stops.
func TestCutStopsAtMaxRounds(t *testing.T) {
	if r := Cut(ListSizes{1}, math.MaxInt); r.Rounds != MaxRounds+1 {
		t.Errorf("%d rounds, want to stop at %d", r.Rounds, MaxRounds+1)
	}
}

func TestLedgerCountsEqualRoundsTogether(t *testing.T) {
	m := mechanism(Poisson, 2, 10)
	m.Sizes = ListSizes{2, 2, 3, 2}
	events := m.Events(6)
	var got []int
	for _, e := range events {
		got = append(got, e.SampleSize, e.Count)
	}
	if want := []int{2, 2, 3, 1, 2, 3}; !slices.Equal(got, want) {
		t.Errorf("sizes and counts %v, want %v", got, want)
	}
	var l Ledger
	l.Record(m.Event(0))
	c := l.Clone()
	l.Record(m.Event(0))
	if c.Events()[0].Count != 1 || l.Events()[0].Count != 2 {
		t.Error("a clone shares its events")
	}
}

// θ = s_max/s̄ of Theorem Main; for s_i = i+1 it is 2T/(T+1).
// Rounds that are more together than an int counts are not counted together.
func TestLedgerLosesNoRounds(t *testing.T) {
	m := Mechanism{Sampling: Poisson, Adjacency: AddOrRemove, ClipNorm: 1, NoiseMultiplier: 1, DatasetSize: 10,
		Sizes: ConstantSizes(1)}
	var l Ledger
	for range 3 {
		e := m.Event(0)
		e.Count = math.MaxInt
		l.Record(e)
	}
	events := l.Events()
	for _, e := range events {
		if e.Count != math.MaxInt {
			t.Errorf("%d rounds, want %d", e.Count, math.MaxInt)
		}
	}
	if len(events) != 3 {
		t.Errorf("%d events, want 3", len(events))
	}
}

func TestTheta(t *testing.T) {
	if r := Cut(ConstantSizes(26), 50_000); r != (Run{Rounds: 1923, Computed: 49_998, Remainder: 2, Max: 26}) ||
		r.Theta() != 1 {
		t.Errorf("constant 26 of 50000: %+v, θ = %v", r, r.Theta())
	}
	linear := PolynomialSizes{First: 1, Slope: 1, Power: 1}
	r := Cut(linear, 5050)
	if r.Rounds != 100 || r.Remainder != 0 || math.Abs(r.Theta()-200.0/101) > 1e-12 {
		t.Errorf("linear: %+v, θ = %v, want 200/101", r, r.Theta())
	}
	if r := Cut(ListSizes{5, 10}, 31); r.Rounds != 3 || r.Computed != 25 || r.Remainder != 6 || r.Max != 10 {
		t.Errorf("list: %+v", r)
	}
	if r := Cut(ConstantSizes(9), 8); r.Rounds != 0 || r.Remainder != 8 || r.Theta() != 1 {
		t.Errorf("no rounds: %+v, θ = %v", r, r.Theta())
	}
}

func TestParseSizesRoundTrips(t *testing.T) {
	for _, text := range []string{"26", "linear:10,0.5", "poly:1,2,1.5", "list:5,10,20"} {
		s, err := ParseSizes(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
		} else if s.String() != text {
			t.Errorf("%s reads back as %s", text, s)
		}
	}
	for _, text := range []string{"", "0", "-3", "2.5", "linear:1", "linear:0,1", "poly:1,1,0", "poly:1,NaN,1", "list:",
		"list:1,0", "cube:1", "linear:1,-1", "linear:1,2,3", "poly:1,2", "poly:1,2,3,4"} {
		if s, err := ParseSizes(text); err == nil {
			t.Errorf("%q was accepted as %v", text, s)
		}
	}
}
