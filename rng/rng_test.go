package rng

import (
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"strings"
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
						t.Fatalf("first draw at seed %d purpose %d client %d round %d repeats %s", seed, p, client,
							round, prev)
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

// The kernel makes the same bits as the standard library, for any key and position, whatever was requested
// before.
func TestKeyStreamIsTheStandardLibrarys(t *testing.T) {
	if !hasKeyStream {
		t.Skip("no AES on vectors")
	}
	for seed := range uint64(50) {
		fast := New(seed)
		plain := *fast
		plain.keys = nil
		a, b := fast.Stream(Noise, uint32(seed)<<24, math.MaxUint32-int(seed)),
			plain.Stream(Noise, uint32(seed)<<24, math.MaxUint32-int(seed))
		a.refill(8, 8+int(seed)*100)
		for i := range 3 * chunkBytes / 8 {
			if x, y := a.Uint64(), b.Uint64(); x != y {
				t.Fatalf("seed %d, word %d: %x, standard library %x", seed, i, x, y)
			}
		}
		for i := range blockBytes {
			if a.buf[chunkBytes+i] != 0 {
				t.Fatal("the kernel wrote beyond the chunk")
			}
		}
	}
}

// Draws of many bytes are the bytes of the stream in order. At the end of a chunk, bytes that are too few
// for a draw are skipped.
func TestPeekAndSkip(t *testing.T) {
	fast := New(3)
	plain := *fast
	plain.keys = nil
	for name, r := range map[string]*Root{"kernel or not": fast, "standard library": &plain} {
		for _, count := range []int{1, 2, 3, 40} {
			words, draws := r.Stream(Noise, 1, 1), r.Stream(Noise, 1, 1)
			words.Uint64()
			draws.Uint64()
			for left := 100; left > 0; {
				b := draws.Peek(128, 128*count)
				if len(b) < 128 {
					t.Fatalf("%s: %d bytes for %d draws", name, len(b), count)
				}
				b = b[:min(len(b)/128, count, left)*128]
				draws.Skip(len(b))
				left -= len(b) / 128
				for ; len(b) > 0; b = b[8:] {
					if words.pos+128 > chunkBytes && len(b)%128 == 0 {
						words.refill(128, 128)
					}
					if got, want := binary.LittleEndian.Uint64(b), words.Uint64(); got != want {
						t.Fatalf("%s, draws by %d: %x, the stream has %x", name, count, got, want)
					}
				}
			}
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

// A secret with a permitted length gives the same root as it always has. Another secret gives another
// root, and so does the seed whose bytes the secret begins with.
func TestNewFromSecret(t *testing.T) {
	secret := make([]byte, MinSecret)
	first := func(r *Root) uint64 { return r.Stream(Noise, 0, 0).Uint64() }
	root := func(secret []byte) *Root {
		r, err := NewFromSecret(secret)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	const golden = 0xf6b019cbef19ad52
	if got := first(root(secret)); got != golden {
		t.Errorf("first draw of a secret of zeros = %#x, want %#x", got, uint64(golden))
	}
	seen := map[uint64]string{}
	last := slices.Clone(secret)
	last[MinSecret-1] = 1
	for name, u := range map[string]uint64{
		"seed 0": first(New(0)), "secret of zeros": first(root(secret)), "a zero more": first(root(append(secret, 0))),
		"another last byte": first(root(last)), "the longest": first(root(make([]byte, MaxSecret))),
	} {
		if other, equal := seen[u]; equal {
			t.Errorf("%s and %s draw the same", name, other)
		}
		seen[u] = name
	}
	for _, n := range []int{0, 8, MinSecret - 1, MaxSecret + 1} {
		if _, err := NewFromSecret(make([]byte, n)); err == nil ||
			!strings.Contains(err.Error(), "must be in [32, 1024]") {
			t.Errorf("%d bytes: %v, want the range", n, err)
		}
	}
}

// A root without a key is refused, both when it is checked and when it is used.
func TestZeroRootsAreRefused(t *testing.T) {
	for name, r := range map[string]*Root{"nil": nil, "zero": new(Root)} {
		if err := r.Check(); !errors.Is(err, ErrNoKey) {
			t.Errorf("%s: Check = %v, want ErrNoKey", name, err)
		}
		if p := panicOf(func() { r.Stream(Noise, 0, 0) }); p != ErrNoKey {
			t.Errorf("%s: Stream panics with %v, want ErrNoKey", name, p)
		}
	}
	if err := New(0).Check(); err != nil {
		t.Errorf("Check of a seed's root = %v", err)
	}
	if p, ok := panicOf(func() { new(Stream).Uint64() }).(string); !ok || !strings.Contains(p, "has no place") {
		t.Errorf("a zero Stream panics with %q", p)
	}
}

func panicOf(f func()) (p any) {
	defer func() { p = recover() }()
	f()
	return nil
}

// Streams that start from Heads have the same bits as other streams, for all rounds, clients, purposes and
// roots, however far they are read. The test runs with the kernel and without it.
func TestHeadsGiveTheSameBits(t *testing.T) {
	fast, other := New(5), New(6)
	plain := *fast
	plain.keys = nil
	draws := New(1).Stream(Synthetic, 0, 0)
	var heads Heads
	none := NewManyHeads(mostHeads + 1).Of(7)
	var got, bare Stream
	round := 0
	for range 3000 {
		r, p, client := fast, Sampling, uint32(0)
		switch draws.IntN(16) {
		case 0:
			r = other
		case 1:
			r = &plain
		case 2:
			p = ComputeTime
		case 3:
			client = 1 << 31
		case 4:
			round = draws.IntN(20)
		case 5:
			round = math.MaxUint32 - draws.IntN(12)
		}
		if round < math.MaxUint32 {
			round++
		}
		heads.Reseed(&got, r, p, client, round)
		want := r.Stream(p, client, round)
		none.Reseed(&bare, r, p, client, round)
		if x, y := r.Stream(p, client, round).Uint64(), bare.Uint64(); x != y {
			t.Fatalf("purpose %d, client %d, round %d: %x without heads, the stream has %x", p, client, round, y, x)
		}
		for range draws.IntN(40) + draws.IntN(30)/29*1500 { // now and then beyond a chunk
			x, y := want.Exp(), got.Exp()
			if draws.IntN(4) == 0 {
				x, y = float64(want.Peek(128, 384)[127]), float64(got.Peek(128, 384)[127])
				want.Skip(128)
				got.Skip(128)
			}
			if x != y {
				t.Fatalf("purpose %d, client %d, round %d: %v, the stream has %v", p, client, round, y, x)
			}
		}
	}
}

// AppendPlaces uses the same bits of the stream as Exp.
func TestPlacesAreSumsOfExponentials(t *testing.T) {
	for round := range 300 {
		a, b := New(2).Stream(Sampling, 0, round), New(2).Stream(Sampling, 0, round)
		n, gap := 1+round*round, math.Exp(float64(round%20)-3)
		var want []int32
		for p := -1.0; ; want = append(want, int32(p)) {
			if p += 1 + math.Floor(b.Exp()*gap); p >= float64(n) {
				break
			}
		}
		if got := a.AppendPlaces(nil, gap, n); !slices.Equal(got, want) || a.Uint64() != b.Uint64() {
			t.Fatalf("n = %d, gap %v: %v, want %v", n, gap, got, want)
		}
	}
}
