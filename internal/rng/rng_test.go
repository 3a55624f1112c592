package rng

import (
	"fmt"
	"math"
	"slices"
	"testing"
)

func TestStreamIsAFunctionOfItsPlace(t *testing.T) {
	a, b := New(7), New(7)
	s := a.Stream(Noise, 3, 11)
	var reused Stream
	b.Reseed(&reused, Sampling, 0, 0)
	reused.Uint64()
	b.Reseed(&reused, Noise, 3, 11)
	for i := range 100 {
		if x, y := s.Uint64(), reused.Uint64(); x != y {
			t.Fatalf("draw %d: %x from a new stream, %x from a reseeded one", i, x, y)
		}
	}
}

func TestDistinctPlacesDiffer(t *testing.T) {
	seen := map[uint64]string{}
	for seed := range uint64(3) {
		r := New(seed)
		for _, p := range []Purpose{Sampling, Noise, Init, Synthetic} {
			for client := range uint32(4) {
				for round := range 50 {
					u := r.Stream(p, client, round).Uint64()
					if prev, dup := seen[u]; dup {
						t.Fatalf("first draw at seed %d purpose %d client %d round %d repeats %s", seed, p, client, round, prev)
					}
					seen[u] = "an earlier place"
				}
			}
		}
	}
}

// Golden: a change here changes every result of every seed.
func TestSeedMeansTheseBits(t *testing.T) {
	got := New(1).Stream(Noise, 2, 3).Uint64()
	const want = 0x2f7f7aa5cf006001
	if got != want {
		t.Errorf("first draw of (seed 1, noise, client 2, round 3) = %#x, want %#x", got, uint64(want))
	}
}

func TestNewFromOSDiffers(t *testing.T) {
	a, err := NewFromOS()
	if err != nil {
		t.Fatal(err)
	}
	b, err := NewFromOS()
	if err != nil {
		t.Fatal(err)
	}
	if a.Stream(Noise, 0, 0).Uint64() == b.Stream(Noise, 0, 0).Uint64() {
		t.Error("two roots from the system's random source agree (false alarm: 2^-64)")
	}
}

func TestReseedDoesNotAllocate(t *testing.T) {
	r := New(1)
	s := r.Stream(Noise, 0, 0)
	round := 0
	if n := testing.AllocsPerRun(100, func() {
		round++
		r.Reseed(s, Noise, 1, round)
		s.Normal()
		s.Exp()
	}); n != 0 {
		t.Errorf("%v allocations per reseed and draw, want 0", n)
	}
}

// The bulk loop draws what Normal draws, one by one, across chunk borders.
func TestAddNormalIsNormal(t *testing.T) {
	r := New(9)
	for _, n := range []int{0, 1, 7, 8, 9, 69, 511, 512, 513, 5000} {
		one, bulk := r.Stream(Noise, 1, n), r.Stream(Noise, 1, n)
		x := make([]float32, n)
		bulk.AddNormal(x, 2.5)
		for i, got := range x {
			if want := float32(2.5 * one.Normal()); got != want {
				t.Fatalf("n=%d: element %d is %v, want %v", n, i, got, want)
			}
		}
		if one.Uint64() != bulk.Uint64() {
			t.Fatalf("n=%d: the streams stand at different places afterwards", n)
		}
	}
}

// A chunk's key stream is AES-CTR, whatever prefix was asked for first.
func TestRefillSizeDoesNotChangeBits(t *testing.T) {
	r := New(3)
	small, large := r.Stream(Sampling, 1, 2), r.Stream(Sampling, 1, 2)
	large.refill(8, chunkBytes)
	for i := range 3 * chunkBytes / 8 {
		if a, b := small.Uint64(), large.Uint64(); a != b {
			t.Fatalf("word %d: %x generated in steps, %x at once", i, a, b)
		}
	}
}

// ksCritical is the Kolmogorov–Smirnov distance exceeded with probability
// alpha by n draws of the true distribution (Massart 1990: an upper bound).
func ksCritical(n int, alpha float64) float64 {
	return math.Sqrt(math.Log(2/alpha) / (2 * float64(n)))
}

// False-alarm rate 1e-9 each by Massart's inequality; the seeds are fixed.
func TestKolmogorovSmirnov(t *testing.T) {
	const n = 1 << 20
	for _, c := range []struct {
		name string
		draw func(*Stream) float64
		cdf  func(float64) float64
	}{
		{"normal", (*Stream).Normal, func(x float64) float64 { return 0.5 * math.Erfc(-x/math.Sqrt2) }},
		{"exponential", (*Stream).Exp, func(x float64) float64 { return -math.Expm1(-x) }},
		{"uniform", (*Stream).Float64, func(x float64) float64 { return x }},
	} {
		s := New(42).Stream(Noise, 0, 0)
		x := make([]float64, n)
		for i := range x {
			x[i] = c.draw(s)
		}
		slices.Sort(x)
		d := 0.0
		for i, v := range x {
			p := c.cdf(v)
			d = max(d, math.Abs(p-float64(i)/n), math.Abs(p-float64(i+1)/n))
		}
		if limit := ksCritical(n, 1e-9); d > limit {
			t.Errorf("%s: KS distance %.3g over %d draws, limit %.3g", c.name, d, n, limit)
		}
	}
}

// Each count beyond a threshold is binomial; six standard deviations (and a
// floor for rare counts) give a false-alarm rate below 1e-8 in all.
func TestNormalTails(t *testing.T) {
	const n = 20_000_000
	if testing.Short() {
		t.Skip("20 million draws")
	}
	thresholds := []float64{1, 2, 3, normalTable.r, 4, 4.5}
	upper := make([]int, len(thresholds))
	lower := make([]int, len(thresholds))
	s := New(43).Stream(Noise, 0, 0)
	sum, sum2 := 0.0, 0.0
	for range n {
		x := s.Normal()
		sum += x
		sum2 += x * x
		for j, c := range thresholds {
			if x > c {
				upper[j]++
			} else if x < -c {
				lower[j]++
			}
		}
	}
	for j, c := range thresholds {
		p := 0.5 * math.Erfc(c/math.Sqrt2)
		limit := 6*math.Sqrt(n*p) + 10
		for side, count := range map[string]int{"above": upper[j], "below": lower[j]} {
			if diff := math.Abs(float64(count) - n*p); diff > limit {
				t.Errorf("%d draws %s %.3fσ, expected %.1f ± %.1f", count, side, c, n*p, limit)
			}
		}
	}
	if mean := sum / n; math.Abs(mean) > 6/math.Sqrt(n) {
		t.Errorf("mean %.3g", mean)
	}
	if v := sum2 / n; math.Abs(v-1) > 6*math.Sqrt(2.0/n) {
		t.Errorf("variance %.6g", v)
	}
}

// The tail must not be cut: the sampler of the tail reaches beyond 8σ.
func TestNormalTailIsNotTruncated(t *testing.T) {
	s := New(44).Stream(Noise, 0, 0)
	if x, _ := s.normalSlow(0, -1); x > -normalTable.r {
		t.Errorf("a tail draw with a minus sign gives %v", x)
	}
	reach := 0.0
	for range 200_000_000 / 20 {
		x, _ := s.normalSlow(0, 1)
		reach = max(reach, x)
	}
	if reach < 6 {
		t.Errorf("10 million tail draws reach only %.2fσ", reach)
	}
	if x := tailAt(t, 0x1p-53, 0x1p-53); x < 8 {
		t.Errorf("smallest uniforms give %.2fσ, want beyond 8σ", x)
	}
}

func tailAt(t *testing.T, u1, u2 float64) float64 {
	t.Helper()
	a := -math.Log(u1) / normalTable.r
	if b := -math.Log(u2); b+b <= a*a {
		// The pair is rejected; the reach is then where it is just accepted.
		a = math.Sqrt(2 * b)
	}
	return normalTable.r + a
}

func TestZigguratTable(t *testing.T) {
	for name, z := range map[string]*ziggurat{"normal": normalTable, "exponential": expTable} {
		t.Run(name, func(t *testing.T) { checkTable(t, z) })
	}
}

func checkTable(t *testing.T, z *ziggurat) {
	// Every layer has the same area (the definition of the table).
	v := z.x[0] * z.f[1]
	for i := 1; i < ziggLayers; i++ {
		if a := z.x[i] * (z.f[i+1] - z.f[i]); math.Abs(a-v) > 1e-12 {
			t.Fatalf("layer %d has area %.15g, the base %.15g", i, a, v)
		}
	}
	if !slices.IsSortedFunc(z.x[:], func(a, b float64) int {
		switch {
		case a > b:
			return -1
		case a < b:
			return 1
		}
		return 0
	}) {
		t.Error("layer edges are not decreasing")
	}
}

func TestIntNIsUniform(t *testing.T) {
	const n, draws = 7, 700_000
	s := New(5).Stream(Sampling, 0, 0)
	var count [n]int
	for range draws {
		count[s.IntN(n)]++
	}
	// Six standard deviations: false-alarm rate below 1e-7 over the 7 cells.
	limit := 6 * math.Sqrt(draws*(1.0/n)*(1-1.0/n))
	for i, c := range count {
		if math.Abs(float64(c)-draws/n) > limit {
			t.Errorf("value %d drawn %d times, expected %d ± %.0f", i, c, draws/n, limit)
		}
	}
}

func TestShuffleIsAPermutation(t *testing.T) {
	a := make([]int, 1000)
	for i := range a {
		a[i] = i
	}
	Shuffle(New(1).Stream(Split, 0, 0), a)
	if slices.IsSorted(a) {
		t.Error("shuffle left the order as it was")
	}
	slices.Sort(a)
	for i, v := range a {
		if i != v {
			t.Fatalf("element %d is missing", i)
		}
	}
}

func BenchmarkNormal(b *testing.B) {
	s := New(1).Stream(Noise, 0, 0)
	for b.Loop() {
		s.Normal()
	}
}

func BenchmarkAddNormal(b *testing.B) {
	for _, n := range []int{69, 61706} {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			r, s, x := New(1), new(Stream), make([]float32, n)
			round := 0
			for b.Loop() {
				round++
				r.Reseed(s, Noise, 1, round)
				s.AddNormal(x, 1)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/float")
		})
	}
}

func BenchmarkReseed(b *testing.B) {
	r := New(1)
	s := new(Stream)
	round := 0
	for b.Loop() {
		round++
		r.Reseed(s, Noise, 1, round)
		s.Uint64()
	}
}
