package dp_test

import (
	"math"
	"math/big"
	"testing"

	"proactivedp/dp"
	"proactivedp/rng"
)

func exactly(sigma, clip float64, n, size int) dp.Mechanism {
	return dp.Mechanism{Sampling: dp.Poisson, Adjacency: dp.AddOrRemove, ClipNorm: clip, NoiseMultiplier: sigma,
		DatasetSize: n, Sizes: dp.ConstantSizes(size), Exact: true}
}

// The attack of Mironov (CCS 2012) on one coordinate of one release: of a sum of C, a result
// below C/4 is a difference of numbers near C, and so a multiple of C·2^-24; of a sum of 0 it
// is a number near 0, and mostly none. That tells the sums apart for certain in floating
// point, and by nothing in exact noise, but for chance of 2e-8 (5.5 standard deviations of
// the difference of two counts).
func TestLowBitsTellSumsApartUnlessNoiseIsExact(t *testing.T) {
	const draws, clip = 200_000, 1.0
	for _, exact := range []bool{false, true} {
		m := exactly(1.5, clip, 10, 1)
		m.Exact = exact
		fine := func(sum float64, round int) (n float64) {
			u, sums := make([]float32, draws), make([]float64, draws)
			for j := range sums {
				sums[j] = sum
			}
			m.AddNoise(u, sums, rng.New(1).Stream(rng.Noise, 0, round))
			for _, x := range u {
				if y := float64(x) / clip * (1 << 24); math.Abs(y) < 1<<22 && y != math.Round(y) {
					n++
				}
			}
			return n
		}
		zero, one := fine(0, 0), fine(clip, 1)
		switch {
		case !exact && (zero < draws/50 || one != 0):
			t.Errorf("in floating point %v of %d results of 0, and %v of C, are no multiples of C/2^24: the attack "+
				"needs many and none", zero, draws, one)
		// A coordinate is within C/4 of 0 with density 0.26597 and 0.21297 at 0 and C, so that
		// the counts are in the proportion that the Gaussian mechanism has.
		case exact && math.Abs(one*math.Exp(0.5/1.5/1.5)-zero) > 5.5*math.Sqrt(zero+one*math.Exp(1/1.5/1.5))+0.01*zero:
			t.Errorf("of exact noise %v results of 0 and %v of C are no multiples", zero, one)
		}
	}
}

// The noise is at least σ times what a record can move the rounded sum by, C/g + √d spacings,
// and at most 0.1 % more than σC, for every σ, C and number of coordinates allowed.
func TestExactNoiseCoversItsRounding(t *testing.T) {
	for _, sigma := range []float64{1e-3, 0.5, 1, 12.1, 19.29962, 1e6} {
		for _, clip := range []float64{1e-20, 0.025, 0.1, 1, 3e7} {
			for _, d := range []int{1, 69, 1_000_000} {
				m := exactly(sigma, clip, 10, 1)
				if err := m.Validate(1); err != nil {
					t.Fatal(err)
				}
				spacing, scale := dp.LatticeOf(&m, d)
				moved := new(big.Float).SetPrec(200).Quo(big.NewFloat(clip), big.NewFloat(spacing))
				moved.Add(moved, new(big.Float).SetPrec(200).Sqrt(big.NewFloat(float64(d)).SetPrec(200)))
				least := moved.Mul(moved, big.NewFloat(sigma))
				if new(big.Float).SetUint64(scale).Cmp(least) < 0 {
					t.Errorf("σ = %v, C = %v, d = %d: a scale of %d is below %v", sigma, clip, d, scale, least)
				}
				if float64(scale)*spacing > 1.001*sigma*clip {
					t.Errorf("σ = %v, C = %v, d = %d: noise of %v", sigma, clip, d, float64(scale)*spacing)
				}
				if scale > rng.MaxExactScale {
					t.Errorf("σ = %v, C = %v, d = %d: scale %d", sigma, clip, d, scale)
				}
				if frac, _ := math.Frexp(spacing); frac != 0.5 {
					t.Errorf("a spacing of %v is no power of two", spacing)
				}
			}
		}
	}
}

// Sums that round to the same multiples have the same release, bit by bit: nothing of a sum
// is left but its multiple. One spacing more moves it where a float32 shows that.
func TestAnExactReleaseIsOfTheRoundedSum(t *testing.T) {
	m := exactly(2, 0.5, 10, 1)
	spacing, _ := dp.LatticeOf(&m, 3)
	release := func(sum ...float64) [3]float32 {
		var u [3]float32
		m.AddNoise(u[:], sum, rng.New(4).Stream(rng.Noise, 1, 2))
		return u
	}
	a := release(0.25, -3*spacing, 1e9)
	if b := release(0.25+0.4*spacing, -3.4*spacing, 1e9); a != b {
		t.Errorf("%v and %v of sums that round to the same", a, b)
	}
	if b := release(0.25+0x1p20*spacing, -3*spacing, 1e9); a == b {
		t.Error("another multiple makes no other release")
	}
}

// Exact samples take each record with probability s/N, each alike: 20,000 samples, the first,
// the last and all records together within 5.5 standard deviations; fails by chance with
// probability 1.2e-7.
func TestExactSamplesHaveTheirRate(t *testing.T) {
	const samples, n, size = 20_000, 50, 7
	m := exactly(1, 1, n, size)
	var taken [n]float64
	var scratch dp.SampleScratch
	all := 0.0
	for i := range samples {
		sample := m.Sample(nil, i, rng.New(5).Stream(rng.Sampling, 0, i), &scratch)
		for j, p := range sample {
			if j > 0 && p <= sample[j-1] {
				t.Fatalf("sample %v is not in increasing order", sample)
			}
			taken[p]++
			all++
		}
	}
	const q = float64(size) / n
	for name, at := range map[string][2]float64{
		"the first record": {taken[0], samples}, "the last record": {taken[n-1], samples}, "all": {all, samples * n},
	} {
		if z := (at[0] - q*at[1]) / math.Sqrt(q*(1-q)*at[1]); math.Abs(z) > 5.5 {
			t.Errorf("%s: %v of %v taken, %.1f standard deviations from s/N", name, at[0], at[1], z)
		}
	}
}

func TestExactNoiseHasALargestMultiplier(t *testing.T) {
	m := exactly(2*dp.MaxExactNoise, 1, 10, 1)
	if err := m.Validate(1); err == nil {
		t.Error("no error for a noise multiplier above the largest")
	}
	if m.Exact = false; m.Validate(1) != nil {
		t.Error("the limit is of exact noise alone")
	}
}
