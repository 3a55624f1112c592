package f32

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"
)

// tiled skips a test where there are no matrix tiles: there the portable twins, which
// give their bits, are all there is.
func tiled(t *testing.T) {
	t.Helper()
	if !Tiled() {
		t.Skipf("no matrix tiles (AMX) here: the class of kernels is %v", Kernels())
	}
}

// anyFloats draws numbers of all sizes, among them infinities, NaN and numbers below the
// least normal one, as rarely as one in rare.
func anyFloats(r *rand.Rand, n, rare int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(r.NormFloat64() * math.Exp2(float64(r.IntN(40)-20)))
		if r.IntN(rare) == 0 {
			special := []float32{0, float32(math.Copysign(0, -1)), float32(math.Inf(1)),
				float32(math.NaN()), math.MaxFloat32, -math.MaxFloat32, 0x1p-126, 0x1p-130, -0x1p-149, 0x1.fffp-127,
				0x1.0001p-118, 0x1.8081p-1}
			x[i] = special[r.IntN(len(special))]
		}
	}
	return x
}

func randomPairs(r *rand.Rand, n int) []Pair {
	p := make([]Pair, n)
	for i := range p {
		p[i] = split(float32(r.NormFloat64()), float32(r.NormFloat64()*math.Exp2(float64(r.IntN(60)-30))), 1)[0]
	}
	return p
}

// The parts of a number are the nearest in bfloat16 to what is left of it, and two of
// them are it to 2^-16, three all of it.
func TestPartsAreTheNumber(t *testing.T) {
	r := source(31)
	for _, x := range anyFloats(r, 100_000, 1000) {
		for parts, bound := range map[int]float64{TwoParts: 0x1p-16, ThreeParts: 0} {
			sum := 0.0
			pairs := split(x, 0, parts)
			for _, p := range pairs[:parts] {
				sum += float64(p.even())
			}
			size := math.Abs(float64(x))
			inside := size < 0x1.fep127 && size > 0x1p-100
			if off := math.Abs(sum - float64(x)); inside && off > bound*size {
				t.Fatalf("%v in %d parts is %v, off by %v of it", x, parts, sum, off/size)
			}
		}
	}
}

// multiplyAdd rounds once: against exact arithmetic.
func TestMultiplyAddRoundsOnce(t *testing.T) {
	r := source(32)
	for i := range 300_000 {
		x, y := float32(r.NormFloat64()), float32(r.NormFloat64())
		if i%2 == 0 {
			x, y = bfloat(x), bfloat(y)
		}
		c := float32(r.NormFloat64() * math.Exp2(float64(r.IntN(100)-50)))
		if r.IntN(3) == 0 { // near a tie
			c = x * y * float32(math.Exp2(float64(r.IntN(40)))) * (1 + 0x1p-23*float32(r.IntN(4)))
		}
		if i%5 == 0 { // subnormal or not
			scale := float32(math.Exp2(-float64(60 + r.IntN(12))))
			x, y, c = x*scale, y*scale, c*scale*scale
		}
		exact := new(big.Float).SetPrec(500).SetFloat64(float64(x) * float64(y))
		want, _ := exact.Add(exact, new(big.Float).SetFloat64(float64(c))).Float32()
		if got := multiplyAdd(x, y, c); got != want {
			t.Fatalf("%v·%v + %v = %v, want %v", x, y, c, got, want)
		}
	}
}

// Taking apart: the kernels give the bits of their portable twins for all kinds of
// numbers and every number of terms, and write nothing else.
func TestSplit(t *testing.T) {
	tiled(t)
	r := source(33)
	for terms := 1; terms <= 100; terms++ {
		for _, parts := range []int{TwoParts, ThreeParts} {
			row := terms + r.IntN(9)
			src := anyFloats(r, 16*row, 20)
			tiles := (terms + TileTerms - 1) / TileTerms
			dst := make([]Pair, tiles*parts*TilePairs+1)
			dst[len(dst)-1] = 77
			SplitRows(dst, parts, src[:15*row+terms], row, terms)
			for i := range tiles * TileTerms {
				for m := range Lanes {
					sameParts(t, "row", dst, parts, i, m*Lanes+i%Lanes, i < terms, src[min(m*row+i, len(src)-1)])
				}
			}
			row = 16 + r.IntN(9)
			src = anyFloats(r, terms*row, 20)
			SplitColumns(dst, parts, src[:(terms-1)*row+16], row, terms)
			for i := range tiles * TileTerms {
				for l := range Lanes {
					sameParts(t, "column", dst, parts, i, i%Lanes*Lanes+l, i < terms, src[min(i*row+l, len(src)-1)])
				}
			}
			if dst[len(dst)-1] != 77 {
				t.Fatal("written behind the tiles")
			}
		}
	}
}

// sameParts compares the parts of term i, at a pair of its tile, with those of a number,
// or with 0.
func sameParts(t *testing.T, what string, dst []Pair, parts, i, pair int, there bool, v float32) {
	t.Helper()
	var want [ThreeParts]Pair
	if there {
		want = split(v, v, parts)
	}
	for p := range parts {
		got, shift := dst[(i/TileTerms*parts+p)*TilePairs+pair], i%TileTerms/Lanes*Lanes
		w := uint32(want[p]) >> shift & 0xffff
		if g := uint32(got) >> shift & 0xffff; g != w && !(g&0x7fff > 0x7f80 && w&0x7fff > 0x7f80) {
			t.Fatalf("%s: part %d of term %d, %v, is %#x, want %#x", what, p, i, v, g, w)
		}
	}
}

// Products: the kernel gives the portable twin's bits, for numbers of all sizes, in
// blocks of one or two tiles in each direction, with a start and without.
func TestSplitTile(t *testing.T) {
	tiled(t)
	r := source(34)
	for i := range 60 {
		parts, steps := 2+i%2, 1+r.IntN(5)
		a, b := randomPairs(r, 2*steps*parts*TilePairs), randomPairs(r, 2*steps*parts*TilePairs)
		if i%5 == 4 {
			for range 10 {
				a[r.IntN(len(a))] = Pair(math.Float32bits(0x1p-130) | 0x7f80)
			}
		}
		tile := SplitTile{A: a, B: b, Parts: parts, Accumulate: i%4 > 1, RowC: 16 + r.IntN(3)*16}
		if i%3 > 0 {
			tile.DownA, tile.DownC = steps*parts*TilePairs, 16*tile.RowC
		}
		if i%7 > 0 {
			tile.RightB, tile.RightC = steps*parts*TilePairs, 32*tile.RowC
		}
		var list []Term
		for s := range steps {
			list = append(list, Term{int32(s * parts * TilePairs), int32((steps - 1 - s) * parts * TilePairs)})
		}
		c := randomFloats(r, 64*tile.RowC)
		want := slices.Clone(c)
		tile.C = want
		mulSplitPortable(&tile, list)
		tile.C = c
		tile.Mul(NewTerms(list))
		equalBits(t, "a block", c, want)
	}
}

// Windows: the kernel gives the portable twin's bits for examples of one and of several
// steps.
func TestWindowTile(t *testing.T) {
	tiled(t)
	r := source(35)
	for i := range 40 {
		w := WindowTile{Parts: 2 + i%2, Steps: 1 + r.IntN(3)*(i%2), Examples: 1 + r.IntN(2*WindowRun+2)}
		w.LowB = 8 * TilePairs
		w.StepA, w.StepB = w.Parts*TilePairs+r.IntN(2)*16, (1+r.IntN(2))*TilePairs
		w.ExampleA, w.ExampleB = w.Steps*w.StepA+16*r.IntN(2), 16*r.IntN(60)
		w.DownA = w.Examples * w.ExampleA
		w.Window = [Windows]int{r.IntN(3) * 16, 16 * r.IntN(30), 16 * r.IntN(30)}
		w.A = randomPairs(r, w.DownA+w.Examples*w.ExampleA+3*TilePairs)
		w.B = randomPairs(r, w.Examples*w.ExampleB+w.Steps*w.StepB+30*16+w.LowB+TilePairs)
		got := randomFloats(r, WindowFloats)
		want := slices.Clone(got)
		w.Sum, w.Work = want, new(WindowWork)
		addWindowsPortable(&w)
		w.Sum = got
		w.Add()
		equalBits(t, "windows", got, want)
	}
}

// equalBits compares all bits, but that any NaN is as good as another.
func equalBits(t *testing.T, what string, got, want []float32) {
	t.Helper()
	for i, w := range want {
		if g := got[i]; math.Float32bits(g) != math.Float32bits(w) && !(g != g && w != w) {
			t.Fatalf("%s: place %d is %v (%#x), want %v (%#x)", what, i, g, math.Float32bits(g), w, math.Float32bits(w))
		}
	}
}

// splitTolerance is what a product may be off by, relative to the sum of the terms'
// magnitudes: in three parts no more than any kernel's.
func splitTolerance(parts int) float64 {
	if parts == ThreeParts {
		return contractionTolerance
	}
	return 3*0x1p-16 + contractionTolerance
}

// Products of matrices by tiles, against float64: blocks of lanes, weights as they lie and
// transposed, every start, more terms and blocks than a panel has; nothing else of C is
// written, and a column has the same bits whatever is beside it.
func TestSplitProduct(t *testing.T) {
	r := source(36)
	var s ProductScratch
	for i := range 24 {
		m, n, k := Lanes*(1+r.IntN(5)), Lanes*(1+r.IntN(4)), TileTerms*(1+r.IntN(3))
		if i%8 == 0 && Tiled() {
			n, k = panelBlocks*Lanes+3*Lanes, splitTerms+TileTerms
		}
		p := Product{M: m, N: n, K: k, Parts: 2 + i/2%2, RowB: Lanes, RowC: Lanes}
		transposed := i%2 == 0
		ld := max(m, k) + r.IntN(5)
		a := rowMajor(r, m, k, ld, transposed)
		p.A, p.RowA, p.ColA = a.x, ld, 1
		if transposed {
			p.RowA, p.ColA = 1, ld
		}
		b, blockB := blocked(r, k, n, r.IntN(20))
		c, blockC := blocked(r, m, n, r.IntN(20))
		p.B, p.BlockB, p.C, p.BlockC = b.x, blockB, c.x, blockC
		switch {
		case !transposed && i%3 == 0:
			p.Bias = randomFloats(r, m)
		case !transposed && i%3 == 1:
			p.Accumulate = true
		}
		before := slices.Clone(c.x)
		p.Mul(&s)
		for i := range m {
			for j := range n {
				sum := 0.0
				switch {
				case p.Bias != nil:
					sum = float64(p.Bias[i])
				case p.Accumulate:
					sum = float64(before[c.place(i, j)])
				}
				magnitude := math.Abs(sum)
				for l := range k {
					term := a.at(i, l) * b.at(l, j)
					sum += term
					magnitude += math.Abs(term)
				}
				if got := c.at(i, j); math.Abs(got-sum) > splitTolerance(p.Parts)*magnitude {
					t.Fatalf("%d×%d×%d, %d parts: C(%d, %d) = %v, want %v", m, n, k, p.Parts, i, j, got, sum)
				}
				before[c.place(i, j)] = c.x[c.place(i, j)]
			}
		}
		equalBits(t, "what is around C", c.x, before)
		if p.Accumulate {
			continue
		}
		last := p // its last block alone
		last.N, last.B = Lanes, p.B[(n/Lanes-1)*blockB:]
		last.C = make([]float32, m*Lanes)
		last.Mul(&s)
		equalBits(t, "a block by itself", last.C, c.x[(n/Lanes-1)*blockC:][:m*Lanes])
	}
}

// Sums of products over runs, against float64: each run by itself, more runs than a
// panel's tiles hold, into float64 and added to float32.
func TestSplitRunProduct(t *testing.T) {
	r := source(37)
	var s ProductScratch
	for i := range 16 {
		m, n := Lanes*(1+r.IntN(4)), Lanes*(1+r.IntN(5))
		if i == 8 && Tiled() {
			m, n = splitOuts+3*Lanes, splitRuns+Lanes
		}
		var ends []int
		for end := 0; len(ends) < 1+i; {
			end += 1 + r.IntN(64)
			ends = append(ends, end)
		}
		k := ends[len(ends)-1]
		row := k + r.IntN(9)
		p := RunProduct{M: m, N: n, Ends: ends, A: randomFloats(r, m*row), RowA: row, B: randomFloats(r, n*(k+2)),
			BlockB: (k + 2) * Lanes, C: make([]float64, m*(n+3)), RowC: n + 3, Accumulate: i%2 == 0, Parts: 2 + i/2%2}
		for j := range p.C {
			p.C[j] = r.NormFloat64()
		}
		before := slices.Clone(p.C)
		if i%4 > 1 {
			p.Out, p.RowOut = randomFloats(r, m*(n+5)), n+5
		}
		out := slices.Clone(p.Out)
		p.Mul(&s)
		for x := range m {
			for y := range n {
				sum, magnitude := 0.0, 0.0
				for l := range k {
					term := float64(p.A[x*row+l]) * float64(p.B[y/Lanes*p.BlockB+l*Lanes+y%Lanes])
					sum += term
					magnitude += math.Abs(term)
				}
				if p.Accumulate {
					sum += before[x*p.RowC+y]
				}
				got := p.C[x*p.RowC+y]
				if p.Out != nil {
					got = float64(p.Out[x*p.RowOut+y]) - float64(out[x*p.RowOut+y])
					magnitude += math.Abs(float64(out[x*p.RowOut+y]))
				}
				if math.Abs(got-sum) > splitTolerance(p.Parts)*(magnitude+math.Abs(sum)) {
					t.Fatalf("%d×%d, runs to %v, %d parts: C(%d, %d) = %v, want %v", m, n, ends, p.Parts, x, y, got,
						sum)
				}
			}
		}
	}
}
