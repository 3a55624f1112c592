package dp_test

import (
	"math"
	"testing"

	"proactivedp/dp"
	"proactivedp/rng"
)

// No honest release is longer than LargestRelease: the worst records, all of whose clipped
// gradients are C along one coordinate, in 2,000 rounds at a tail of 1e-9 each. The test
// fails by chance with probability 4e-6 at most; and the bound is no more than four times
// what was seen.
func TestNoHonestReleaseIsLonger(t *testing.T) {
	const rounds, params, n = 2000, 5, 400
	for i, sampling := range []dp.Sampling{dp.Poisson, dp.FixedSize, dp.Poisson} {
		m := dp.Mechanism{Sampling: sampling, Adjacency: dp.NaturalAdjacency(sampling), ClipNorm: 0.5,
			NoiseMultiplier: 2, DatasetSize: n, Sizes: dp.ConstantSizes(20), Exact: i == 2}
		var scratch dp.SampleScratch
		u, longest := make([]float32, params), 0.0
		for i := range rounds {
			sample := m.Sample(nil, i, rng.New(1).Stream(rng.Sampling, 0, i), &scratch)
			sum := make([]float64, params)
			sum[0] = m.ClipNorm * float64(len(sample))
			m.AddNoise(u, sum, rng.New(1).Stream(rng.Noise, 0, i))
			norm2 := 0.0
			for _, x := range u {
				norm2 += float64(x) * float64(x)
			}
			longest = max(longest, math.Sqrt(norm2))
			for fewer := range 2 { // of one record fewer, the sum would be too long
				err := m.CheckRelease(u, len(sample)-fewer, rng.New(1).Stream(rng.Noise, 0, i))
				if len(sample) > 0 && (err == nil) != (fewer == 0) {
					t.Fatalf("%s: round %d of %d records, %d fewer: %v", sampling, i, len(sample), fewer, err)
				}
			}
		}
		if most, err := m.LargestRelease(20, params, 1e-9); err != nil || !(longest <= most) || most > 4*longest {
			t.Errorf("%s: the longest release is %.4g, at most %.4g may be, error %v", sampling, longest, most, err)
		}
	}
}

// The noise of an exact mechanism is larger, because of its lattice, and so is the bound. At the largest
// noise, with four million coordinates and Cσ = 2^20, the lattice adds 3.8Cσ to 2,048Cσ. The margin of a
// tail of 0.1 is only 2.4Cσ, so without this addition nearly all honest releases would exceed the bound.
func TestNoExactReleaseIsLonger(t *testing.T) {
	m := dp.Mechanism{Sampling: dp.Poisson, Adjacency: dp.AddOrRemove, ClipNorm: 0x1p20 / dp.MaxExactNoise,
		NoiseMultiplier: dp.MaxExactNoise, DatasetSize: 10, Sizes: dp.ConstantSizes(1), Exact: true}
	u := make([]float32, 1<<22)
	m.AddNoise(u, make([]float64, len(u)), rng.New(1).Stream(rng.Noise, 0, 0))
	norm2 := 0.0
	for _, x := range u {
		norm2 += float64(x) * float64(x)
	}
	most, err := m.LargestRelease(1, len(u), 0.1)
	if norm := math.Sqrt(norm2); err != nil || norm > most {
		t.Errorf("a release of norm %.7g, at most %.7g may be, error %v", norm, most, err)
	}
}
