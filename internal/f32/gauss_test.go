package f32

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"testing"

	"proactivedp/internal/cpu"
	"proactivedp/rng"
)

// normals returns n standard normal numbers of the stream at a place.
func normals(n, round int) []float32 {
	x := make([]float32, n)
	AddNormal(x, 1, rng.New(77).Stream(rng.Noise, 5, round))
	return x
}

// The numbers of every class are the same bits at every length, rare radii
// included, and the streams stand at the same place afterwards.
func TestGaussianIsTheSameInEveryClass(t *testing.T) {
	lengths := []int{1000, 1023, 1024, 1025, 3000, 200_000}
	for n := range 300 {
		lengths = append(lengths, n)
	}
	type result struct {
		x    []float32
		next uint64
	}
	draw := func(n int) result {
		s := rng.New(77).Stream(rng.Noise, 5, n)
		x := fill(n+2*zone, 1)
		AddNormal(x[zone:zone+n], 2.5, s)
		return result{x, s.Uint64()}
	}
	var want []result
	eachClass(t, func(t *testing.T) {
		for i, n := range lengths {
			got := draw(n)
			if len(want) == i { // the first class is the portable one
				want = append(want, got)
			}
			if !slices.Equal(got.x, want[i].x) || got.next != want[i].next {
				t.Fatalf("%d numbers differ from the portable ones", n)
			}
			if before := fill(n+2*zone, 1); !slices.Equal(got.x[:zone], before[:zone]) ||
				!slices.Equal(got.x[zone+n:], before[zone+n:]) {
				t.Fatalf("%d numbers wrote beside their place", n)
			}
		}
	})
}

// Whole groups come out the same however they are split into calls, so the
// number of bits that are generated at a time does not matter.
func TestGaussianDoesNotDependOnTheSplit(t *testing.T) {
	const n = 40_000
	want := normals(n, 1)
	for _, size := range []int{groupNormals, 3 * groupNormals, 33 * groupNormals} {
		got, s := make([]float32, n), rng.New(77).Stream(rng.Noise, 5, 1)
		for part := range slices.Chunk(got, size) {
			AddNormal(part, 1, s)
		}
		if !slices.Equal(got, want) {
			t.Errorf("calls for %d numbers differ from one call", size)
		}
	}
}

// Golden: a change here changes the noise of every seed.
func TestSeedMeansThisNoise(t *testing.T) {
	x := normals(100_000, 3)
	h := fnv.New64a()
	for _, v := range x {
		h.Write(binary.LittleEndian.AppendUint32(nil, math.Float32bits(v)))
	}
	if got, want := fmt.Sprintf("%v %016x", x[:4],
		h.Sum64()), "[1.6081759 -1.3852025 0.28811872 0.5589086] d588d3dcae878fbc"; got != want {
		t.Errorf("the first numbers and the hash of all are\n%s, want\n%s", got, want)
	}
}

// A group is Box and Muller's formula, to 3e-7 of each number, at the ends
// of every interval of the approximations and at random words.
func TestGaussianIsTheFormula(t *testing.T) {
	const promised = 3e-7
	edges := []uint32{0, 1, 2, 1 << 29, 1<<29 - 1, 1 << 30, 1<<30 - 1, 1 << 31, 1<<31 - 1, 1<<31 + 1, 3 << 30,
		3<<30 - 1, math.MaxUint32 - 1, math.MaxUint32}
	r := source(8)
	word := func() uint32 {
		if r.IntN(3) == 0 {
			return edges[r.IntN(len(edges))]
		}
		return r.Uint32() >> r.IntN(12)
	}
	worst := 0.0
	for range 5000 {
		var bits [groupBytes]byte
		for i := range Lanes {
			binary.LittleEndian.PutUint32(bits[4*i:], max(word(), rareRadius))
			binary.LittleEndian.PutUint32(bits[4*(i+Lanes):], word())
		}
		x := make([]float32, groupNormals)
		if done := addNormals(x, bits[:], 1); done != 1 {
			t.Fatalf("%d groups done, want 1", done)
		}
		for i := range Lanes {
			k, a := binary.LittleEndian.Uint32(bits[4*i:]), binary.LittleEndian.Uint32(bits[4*(i+Lanes):])
			radius := math.Sqrt(-2 * math.Log((float64(k)+0.5)*0x1p-32))
			if k>>31 == 1 { // log1p of 1−u, whose highest bit is the word's
				radius = math.Sqrt(-2 * math.Log1p(-(float64(k&math.MaxInt32)+0.5)*0x1p-32))
			}
			if a>>30&1 == 1 {
				radius = -radius
			}
			sin, cos := math.Sincos(math.Pi / 4 * 0x1p-29 * (float64(int32(a<<2)>>2) + 0.5))
			if a>>31 == 1 {
				cos, sin = sin, cos
			}
			worst = max(worst, math.Abs(float64(x[i])/(radius*cos)-1), math.Abs(float64(x[i+Lanes])/(radius*sin)-1))
		}
	}
	t.Logf("worst relative error %.3g", worst)
	if worst > promised {
		t.Errorf("relative error %.3g, promised %.3g", worst, promised)
	}
}

// A rare radius anywhere in a group stops the kernel before that group.
func TestKernelStopsAtARareRadius(t *testing.T) {
	eachClass(t, func(t *testing.T) {
		for group := range 5 {
			for i := range Lanes {
				for _, k := range []uint32{0, rareRadius - 1, rareRadius} {
					bits, x := make([]byte, 5*groupBytes), make([]float32, 5*groupNormals)
					for j := range bits {
						bits[j] = byte(j%100 + 50)
					}
					binary.LittleEndian.PutUint32(bits[group*groupBytes+4*i:], k)
					want := group
					if k == rareRadius {
						want = 5
					}
					if got := addNormals(x, bits, 1); got != want {
						t.Fatalf("word %#x at %d of group %d: %d groups done, want %d", k, i, group, got, want)
					}
					if tail := x[want*groupNormals:]; slices.ContainsFunc(tail,
						func(v float32) bool { return v != 0 }) {
						t.Fatalf("word %#x at %d of group %d: the kernel wrote beyond what it has done", k, i, group)
					}
				}
			}
		}
	})
}

// The refined radius is √(−2 ln u), joins the plain one, and reaches beyond 8σ:
// the smallest u is 2^-97.
func TestRareRadius(t *testing.T) {
	r := source(9)
	for range 20_000 {
		k, b := r.Uint32()>>(12+r.IntN(21)), r.Uint64()>>r.IntN(64)
		want := math.Sqrt(-2 * math.Log((float64(k)+(float64(b)+0.5)*0x1p-64)*0x1p-32))
		if got := float64(rareRadiusOf(k, b)); math.Abs(got-want) > 0x1p-24*want*1.0001 {
			t.Fatalf("radius of %#x, %#x = %v, want %v", k, b, got, want)
		}
	}
	if first, last := radius(rareRadius), rareRadiusOf(rareRadius-1, math.MaxUint64); !(last >= first) ||
		last-first > 1e-5 {
		t.Errorf("the radius jumps from %v to %v where it becomes rare", first, last)
	}
	most := float64(rareRadiusOf(0, 0))
	if want := math.Sqrt(2 * 97 * math.Ln2); math.Abs(most-want) > 1e-6 {
		t.Errorf("the largest radius is %v, want %v", most, want)
	}
}

// uniformity is the Kolmogorov–Smirnov distance of sorted numbers in [0, 1], and
// the distance that n of them exceed with probability alpha at most (Massart,
// 1990).
func uniformity(p []float64, alpha float64) (distance, limit float64) {
	slices.Sort(p)
	n := float64(len(p))
	for i, v := range p {
		distance = max(distance, math.Abs(v-float64(i)/n), math.Abs(v-float64(i+1)/n))
	}
	return distance, math.Sqrt(math.Log(2/alpha) / (2 * n))
}

// The radii of the numbers that follow from rare words are distributed as the
// tail beyond them, e^(−r²/2) uniform in (0, 2^-12). False-alarm rate 1e-9.
func TestRareRadiiAreTheTail(t *testing.T) {
	const n = 1 << 21
	limitRadius := math.Sqrt(24 * math.Ln2)
	var p []float64
	for round := range 8 {
		x := normals(n, 100+round)
		for group := range slices.Chunk(x, groupNormals) {
			for i := range Lanes {
				if r := math.Hypot(float64(group[i]), float64(group[i+Lanes])); r > limitRadius {
					p = append(p, math.Exp(-r*r/2)*4096)
				}
			}
		}
	}
	// The count is binomial: six standard deviations are below 2e-9.
	if want := 8.0 * n / 2 / 4096; math.Abs(float64(len(p))-want) > 6*math.Sqrt(want) {
		t.Errorf("%d radii beyond %.3f, expected %.0f", len(p), limitRadius, want)
	}
	if d, limit := uniformity(p, 1e-9); d > limit {
		t.Errorf("Kolmogorov–Smirnov distance %.3g of %d radii, limit %.3g", d, len(p), limit)
	}
}

func cdf(x float64) float64 { return 0.5 * math.Erfc(-x/math.Sqrt2) }

// False-alarm rate 1e-9; the seed is fixed.
func TestGaussianKolmogorovSmirnov(t *testing.T) {
	x := normals(1<<20, 11)
	p := make([]float64, len(x))
	for i, v := range x {
		p[i] = cdf(float64(v))
	}
	if d, limit := uniformity(p, 1e-9); d > limit {
		t.Errorf("Kolmogorov–Smirnov distance %.3g of %d numbers, limit %.3g", d, len(p), limit)
	}
}

// Over 16.8 million numbers: moments, the pairs' correlation and that of their
// squares, and counts beyond 3σ to 6σ. Each statistic is allowed six standard
// deviations of its own (and rare counts a floor of 10), which 17 of them exceed
// with probability below 1e-7.
func TestGaussianMomentsAndTails(t *testing.T) {
	const n, rounds = 1 << 21, 8
	const total = float64(n * rounds)
	thresholds := []float64{3, 3.5, 4, 4.5, 5, 5.5, 6}
	count := make([]int, len(thresholds))
	above := 0
	var sum, product, squares, neighbours float64
	var power [5]float64
	for round := range rounds {
		x := normals(n, 20+round)
		for at := 0; at < n; at += groupNormals {
			for i := range Lanes {
				a, b := float64(x[at+i]), float64(x[at+i+Lanes])
				product += a * b
				squares += (a*a - 1) * (b*b - 1)
				neighbours += a * float64(x[at+(i+1)%Lanes])
			}
		}
		for _, v := range x {
			v := float64(v)
			sum += v
			power[2] += v * v
			power[3] += v * v * v
			power[4] += v * v * v * v
			if v > 0 {
				above++
			}
			if v = math.Abs(v); v > thresholds[0] {
				for j, c := range thresholds {
					if v > c {
						count[j]++
					}
				}
			}
		}
	}
	for _, c := range []struct {
		name                     string
		sum, mean, variance, all float64
	}{
		{"mean", sum, 0, 1, total},
		{"second moment", power[2], 1, 2, total},
		{"third moment", power[3], 0, 15, total},
		{"fourth moment", power[4], 3, 96, total},
		{"part above 0", float64(above), 0.5, 0.25, total},
		{"product of a pair", product, 0, 1, total / 2},
		{"product of a pair's squares", squares, 0, 4, total / 2},
		{"product of neighbours", neighbours, 0, 1, total / 2},
	} {
		if z := (c.sum - c.all*c.mean) / math.Sqrt(c.all*c.variance); math.Abs(z) > 6 {
			t.Errorf("%s: %.7g, expected %.7g: %.1f standard deviations off", c.name, c.sum/c.all, c.mean, z)
		}
	}
	for j, c := range thresholds {
		want := total * math.Erfc(c/math.Sqrt2)
		if limit := 6*math.Sqrt(want) + 10; math.Abs(float64(count[j])-want) > limit {
			t.Errorf("%d numbers beyond %.1fσ, expected %.1f ± %.1f", count[j], c, want, limit)
		}
	}
}

// The noise is never less than what was asked for: sigma is rounded up.
func TestSigmaIsRoundedUp(t *testing.T) {
	down := 1 + 0x1p-25 // nearest to 1 as a float32
	x, plain, up := make([]float32, 64), normals(64, 9), float32(1+0x1p-23)
	AddNormal(x, down, rng.New(77).Stream(rng.Noise, 5, 9))
	more := 0
	for i, v := range x {
		if math.Abs(float64(v)) < math.Abs(float64(plain[i])) ||
			math.Abs(float64(v)) > math.Abs(float64(plain[i]*up))*(1+0x1p-22) {
			t.Errorf("number %d is %v with σ 1+2^-25, %v with σ 1", i, v, plain[i])
		}
		if v != plain[i] {
			more++
		}
	}
	if more == 0 {
		t.Error("no number grew: sigma was rounded down")
	}
}

func TestGaussianAllocatesNothing(t *testing.T) {
	root, s, x, round := rng.New(1), new(rng.Stream), make([]float32, 61_706), 0
	eachClass(t, func(t *testing.T) {
		for _, n := range []int{69, len(x)} {
			if allocations := testing.AllocsPerRun(20, func() {
				round++
				root.Reseed(s, rng.Noise, 1, round)
				AddNormal(x[:n], 1, s)
			}); allocations != 0 {
				t.Errorf("%v allocations for %d numbers, want 0", allocations, n)
			}
		}
	})
}

func BenchmarkGaussian(b *testing.B) {
	for _, n := range []int{69, 61706} {
		for _, class := range Classes() {
			b.Run(fmt.Sprintf("n=%d/%v", n, class), func(b *testing.B) {
				restore, err := Use(class)
				if err != nil {
					b.Fatal(err)
				}
				defer restore()
				root, s, x := rng.New(1), new(rng.Stream), make([]float32, n)
				b.ReportAllocs()
				round, start := 0, cpu.Used()
				for b.Loop() {
					round++
					root.Reseed(s, rng.Noise, 1, round)
					AddNormal(x, 1, s)
				}
				b.ReportMetric(float64((cpu.Used()-start).Nanoseconds())/float64(b.N)/float64(n), "ns/float")
			})
		}
	}
}
