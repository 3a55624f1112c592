package rng

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
)

// Whole numbers from digits of 1, 2, 8 and 64 bits have the normal law to the last unit: by
// chi-square of some 30 cells at scale 7, at which each has one or two of them, and of the 64th
// parts of the law at one finer than a float32. With few bits most comparisons are left to further
// digits, which 64 bits never are. 100,000 numbers each; the eight tests fail by chance with
// probability 8e-9 in all.
func TestExactNormalsAreNormal(t *testing.T) {
	const draws = 100_000
	for _, width := range []int{1, 2, 8, 64} {
		for _, scale := range []uint64{7, 1 << 41} {
			t.Run(fmt.Sprintf("%d bits, scale %d", width, scale), func(t *testing.T) {
				e := exact{stream: New(1).Stream(Noise, uint32(width), 0), width: width}
				var edges []float64 // of cells, in units of the scale; whole where floors are coarse
				for i := 1; i < 64; i++ {
					edges = append(edges, math.Round(distuv.UnitNormal.Quantile(float64(i)/64)*float64(scale)))
				}
				edges = slices.Compact(edges)
				seen := make([]float64, len(edges)+1)
				for range draws {
					floor := float64(e.floorNormal(scale))
					cell, found := slices.BinarySearch(edges, floor)
					if found {
						cell++ // a floor at an edge is of a number above it
					}
					seen[cell]++
				}
				distance, below := 0.0, 0.0
				for i, n := range seen {
					upTo := 1.0
					if i < len(edges) {
						upTo = distuv.UnitNormal.CDF(edges[i] / float64(scale))
					}
					expected := draws * (upTo - below)
					distance += (n - expected) * (n - expected) / expected
					below = upTo
				}
				if p := (distuv.ChiSquared{K: float64(len(edges))}).Survival(distance); !(p > 1e-9) {
					t.Errorf("chi-square = %.4g of %d cells, p = %.2g", distance, len(seen), p)
				}
			})
		}
	}
}

// The variance of a million numbers is 1 to 5.5 standard deviations of its estimate,
// √(2/n), and so are they independent of their neighbours: fails by chance with probability
// 8e-8.
func TestExactNormalsHaveVarianceOne(t *testing.T) {
	const n, scale = 1_000_000, 1 << 41
	x := make([]int64, n)
	New(2).Stream(Noise, 0, 0).FloorNormals(x, scale)
	var squares, products float64
	for i, v := range x {
		y := float64(v) / scale
		squares += y * y
		if i > 0 {
			products += y * float64(x[i-1]) / scale
		}
	}
	if z := (squares/n - 1) * math.Sqrt(n/2); math.Abs(z) > 5.5 {
		t.Errorf("the variance is %.6f, %.1f standard deviations from 1", squares/n, z)
	}
	if z := products / math.Sqrt(n); math.Abs(z) > 5.5 {
		t.Errorf("neighbours are correlated, by %.1f standard deviations", z)
	}
}

// ⌊scale·x⌋ is that of every number which begins with the digits drawn, and so of x: worked
// out in whole numbers without a bound.
func TestFloorOfAFractionIsSettledByItsDigits(t *testing.T) {
	for _, width := range []int{1, 3, 64} {
		for _, scale := range []uint64{1, 2, 7, 1<<41 + 12345, MaxExactScale} {
			e := exact{stream: New(3).Stream(Noise, uint32(width), int(scale%1000)), width: width}
			for i := range 2000 {
				e.digits = e.digits[:0]
				if i == 0 && width == 64 { // below a multiple of 1/scale by so little that it must be asked for more
					e.digits = append(e.digits, math.MaxUint64/scale)
				}
				got := e.floorX(scale)
				least := new(big.Int)
				for _, d := range e.digits {
					least.Lsh(least, uint(width)).Or(least, new(big.Int).SetUint64(d))
				}
				most := new(big.Int).Add(least, big.NewInt(1))
				bits := uint(width * len(e.digits))
				for _, end := range []*big.Int{least.Mul(least, new(big.Int).SetUint64(scale)),
					most.Sub(most.Mul(most, new(big.Int).SetUint64(scale)), big.NewInt(1))} {
					if want := end.Rsh(end, bits); want.Uint64() != got || !want.IsUint64() {
						t.Fatalf("%d digits of %d bits, scale %d: %d, must be %s", len(e.digits), width, scale, got,
							want)
					}
				}
				if i == 0 && width == 64 && scale&(scale-1) != 0 && len(e.digits) < 2 {
					t.Errorf("scale %d: one digit was enough for a fraction that it does not settle", scale)
				}
			}
		}
	}
}

// Golden: the numbers are the same on every machine. Their stream is part of the meaning of
// a seed.
func TestExactNormalsOfASeed(t *testing.T) {
	got := make([]int64, 6)
	New(1).Stream(Noise, 0, 0).FloorNormals(got, 1000)
	if want := []int64{467, -864, -738, -2391, 1485, -1123}; !slices.Equal(got, want) {
		t.Errorf("%v, must be %v", got, want)
	}
}

// Places are taken with probability size/n to the last unit: 2^16·size/n with and without a
// rest, at which the second look decides, of all that come to it, by just that rest. The
// counts of 2^20 places and of such looks are within 5.5 standard deviations; fails by chance
// with probability 3e-7.
func TestTrialsHaveTheirProbability(t *testing.T) {
	const n = 1 << 20
	for _, size := range []int{0, 1, 5, 400_001, n - 1, n} {
		places := New(6).Stream(Sampling, 0, size).AppendTrials(nil, size, n)
		for i, p := range places {
			if i > 0 && p <= places[i-1] || p < 0 || p >= n {
				t.Fatalf("size %d: place %d after others", size, p)
			}
		}
		q := float64(size) / n
		if off := math.Abs(float64(len(places)) - float64(size)); off > 5.5*math.Sqrt(n*q*(1-q)) && off > 6 {
			t.Errorf("%d places taken, %d expected of %d", len(places), size, n)
		}
	}
	taken := 0 // by the rest alone, as 2^16·15/2^20 is below 1
	s := New(6).Stream(Sampling, 1, 0)
	for range 16 {
		taken += len(s.AppendTrials(nil, 15, n))
	}
	if math.Abs(float64(taken)-16*15) > 5.5*math.Sqrt(16*15) {
		t.Errorf("%d places taken by the rest alone, 240 expected", taken)
	}
}

func TestExactNormalsNeedAScale(t *testing.T) {
	for _, scale := range []uint64{0, MaxExactScale + 1} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("scale %d does not panic", scale)
				}
			}()
			New(1).Stream(Noise, 0, 0).FloorNormals(make([]int64, 1), scale)
		}()
	}
}
