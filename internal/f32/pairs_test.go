package f32

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// anyBits are floats of any kind: most of moderate size, some of any bits, so also not numbers,
// infinities and numbers below 2^-126.
func anyBits(r *rand.Rand, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		bits := r.Uint32()
		switch r.IntN(8) {
		case 0:
		case 1:
			bits &= 0x81ffffff // tiny
		default:
			bits = bits&0x81ffffff | 0x3e000000
		}
		x[i] = math.Float32frombits(bits)
	}
	return x
}

// anyPairs are pairs of bfloat16 of which both are as in anyBits.
func anyPairs(r *rand.Rand, n int) []float32 {
	x, y := anyBits(r, n), anyBits(r, n)
	for i := range x {
		x[i] = math.Float32frombits(math.Float32bits(x[i])>>16 | math.Float32bits(y[i])&^0xffff)
	}
	return x
}

// sameAsBits reports the first element in which the slices differ, except for the bits of what is
// not a number.
func sameAsBits(got, want []float32) error {
	for i, w := range want {
		if g := got[i]; math.Float32bits(g) != math.Float32bits(w) && (g == g || w == w) {
			return fmt.Errorf("element %d is %08x, want %08x", i, math.Float32bits(g), math.Float32bits(w))
		}
	}
	return nil
}

// The numbers that rounding to bfloat16 must tell apart: halves go to even.
func TestBF16OfANumber(t *testing.T) {
	for x, want := range map[uint32]uint32{
		0x3f800000: 0x3f800000, 0x3f807fff: 0x3f800000, 0x3f808000: 0x3f800000, 0x3f808001: 0x3f810000,
		0x3f818000: 0x3f820000, 0xbf818000: 0xbf820000, 0x7f7fffff: 0x7f800000, 0x7f7f7fff: 0x7f7f0000,
		0xff800000: 0xff800000, 0x007fffff: 0, 0x80000001: 0x80000000, 0x7fffffff: 0x7fff0000, 0x7f800001: 0x7fc00000,
	} {
		if got := bf16Bits(math.Float32frombits(x)); got != want {
			t.Errorf("%08x becomes %08x, want %08x", x, got, want)
		}
	}
}

// Every class rounds and pairs numbers in the same way, bit for bit.
func TestPairs(t *testing.T) {
	eachClass(t, func(t *testing.T) {
		r := source(21)
		for n := 1; n < 40; n++ {
			x, y := anyBits(r, Lanes*n), anyBits(r, Lanes*n)
			want := slices.Clone(x)
			roundBF16Portable(want)
			got := slices.Clone(x)
			RoundToBF16(got)
			if err := sameAsBits(got, want); err != nil {
				t.Fatalf("RoundToBF16: %v", err)
			}
			dst, src := Lanes+r.IntN(20), Lanes*r.IntN(2)
			got, want = filled(n*dst, guard), filled(n*dst, guard)
			PairVectors(got, dst, x, y, src, n)
			pairVectorsPortable(want, dst, x, y, src, n)
			if err := sameAsBits(got, want); err != nil {
				t.Fatalf("PairVectors of %d: %v", n, err)
			}
			odd := n*7 - r.IntN(2)
			got, want = filled(n*7, guard), filled(n*7, guard)
			PairRow(got, x[:odd])
			pairRowPortable(want[:(odd+1)/2], append(slices.Clone(x[:odd]), 0))
			if err := sameAsBits(got, want); err != nil {
				t.Fatalf("PairRow of %d: %v", odd, err)
			}
		}
	})
}

// The upper numbers of pairs are multiplied first, and numbers below 2^-126 are 0, as the manual says.
func TestTermOfPairs(t *testing.T) {
	const tiny = 0x1p-127
	eachClass(t, func(t *testing.T) {
		for _, c := range []struct{ lower, upper, sum, want float32 }{
			{1, 0x1p30, -0x1p30, 1}, {0x1p30, 1, -0x1p30, 0}, // 1 - 2^30 is rounded
			{-1, 1, 0, 0}, {0x1p-126, 0x1p-126, 0, 0x1p-125},
			{0.5 * 0x1p-126, 0, 1, 1}, {tiny, 0, 0, 0}, {1, 0, tiny, 1}, {0x1p-126, 0, -0x1.8p-126, 0},
		} {
			tile := Tile{Rows: 1, Cols: 1, A: []float32{pairOf(1, 1)}, B: make([]float32, Lanes),
				C: filled(Lanes, c.sum), Accumulate: true, BF16: true}
			for l := range tile.B { // also numbers that pairOf would make 0
				tile.B[l] = math.Float32frombits(math.Float32bits(c.lower)>>16 | math.Float32bits(c.upper))
			}
			tile.Mul(NewTerms([]Term{{}}))
			if tile.C[0] != c.want {
				t.Errorf("%v + %v + %v: %v, want %v", c.sum, c.upper, c.lower, tile.C[0], c.want)
			}
		}
	})
}

// Every class gives the bits of the portable tile of pairs, for numbers of all kinds.
func TestTileOfPairs(t *testing.T) {
	eachClass(t, func(t *testing.T) {
		r := source(22)
		for rows := 1; rows <= TileRows; rows++ {
			for cols := 1; cols <= TileCols; cols++ {
				for _, terms := range []int{0, 1, 2, 3, 4, 7, 12, 36} {
					tile, list := randomTile(r, rows, cols, terms)
					tile.BF16, tile.A, tile.B = true, anyPairs(r, len(tile.A)), anyPairs(r, len(tile.B))
					if terms%3 == 1 {
						tile.Bias = anyBits(r, rows)
					}
					tile.Accumulate = terms%2 == 0
					checkPairs(t, tile, list)
				}
			}
		}
		// consecutive terms
		tile, list := randomTile(r, TileRows, TileCols, 9)
		for i := range list {
			list[i] = Term{int32(i), int32(Lanes * i)}
		}
		tile.BF16, tile.A, tile.B = true, anyPairs(r, len(tile.A)), anyPairs(r, len(tile.B))
		got, want := copied(tile), copied(tile)
		got.mulLadder(NewTerms(list), true)
		tilePortable(&want, list)
		if err := sameAsBits(got.C, want.C); err != nil {
			t.Errorf("consecutive terms: %v", err)
		}
	})
}

func copied(t Tile) Tile {
	n := (t.Rows-1)*t.RowC + slices.Max(t.ColC[:]) + Lanes
	if t.C == nil {
		t.C = make([]float32, n)
		for i := range t.C {
			t.C[i] = float32(i%7) - 3
		}
	}
	t.C = slices.Clone(t.C)
	return t
}

func checkPairs(t *testing.T, tile Tile, list []Term) {
	t.Helper()
	terms := NewTerms(list)
	got, want := copied(tile), copied(tile)
	got.Mul(terms)
	tilePortable(&want, list)
	if err := sameAsBits(got.C, want.C); err != nil {
		t.Fatalf("Mul of %d×%d, %d terms: %v", tile.Rows, tile.Cols, len(list), err)
	}
	p := Patch{Terms: terms, Cols: tile.Cols}
	copy(p.ColB[:], tile.ColB[:])
	copy(p.ColC[:], tile.ColC[:])
	got = copied(tile)
	got.MulPatches(NewPatches([]Patch{p}))
	if err := sameAsBits(got.C, want.C); err != nil {
		t.Fatalf("MulPatches of %d×%d, %d terms: %v", tile.Rows, tile.Cols, len(list), err)
	}
	if len(list)%4 != 0 || len(list) == 0 {
		return
	}
	tile.Bias = nil
	tile.Factors = []float32{0.3, -7, 0x1.fffp-3, 1, 0, 2, 3, 4, 5}
	got, want = copied(tile), copied(tile)
	got.MulRuns(terms, 4)
	runsPortable(&want, list, 4)
	if err := sameAsBits(got.C, want.C); err != nil {
		t.Fatalf("MulRuns of %d×%d, %d terms: %v", tile.Rows, tile.Cols, len(list), err)
	}
	const row = TileCols*Lanes + 3
	lengths, a, b := []int{1, len(list) - 1}, make([]float64, TileRows*row), make([]float64, TileRows*row)
	tile.MulWide(terms, lengths, a, row)
	widePortable(&tile, list, lengths, b, row)
	for i, v := range b {
		if a[i] != v && (a[i] == a[i] || v == v) {
			t.Fatalf("MulWide of %d×%d, %d terms: %v, want %v", tile.Rows, tile.Cols, len(list), a[i], v)
		}
	}
}

// The same for tiles of lanes.
func TestLaneTileOfPairs(t *testing.T) {
	eachClass(t, func(t *testing.T) {
		r := source(25)
		for rows := 1; rows <= LaneTileRows; rows++ {
			for cols := 1; cols <= LaneTileCols; cols++ {
				const row, terms = 5 * Lanes, 7
				tile := LaneTile{Rows: rows, Cols: cols, RowA: 3 * Lanes, RowC: row, A: anyPairs(r, 30*Lanes),
					B: anyPairs(r, 30*Lanes), C: anyBits(r, rows*row), Accumulate: cols%2 == 0, BF16: true}
				var list []Term
				for range terms {
					list = append(list, Term{int32(r.IntN(10 * Lanes)), int32(r.IntN(10 * Lanes))})
				}
				for j := range tile.ColB {
					tile.ColB[j], tile.ColC[j] = r.IntN(10*Lanes), j*Lanes
				}
				p := NewPatches([]Patch{{Terms: NewTerms(list), Cols: cols, ColB: tile.ColB, ColC: tile.ColC}})
				one, patches := tile, tile
				one.C, patches.C = slices.Clone(tile.C), slices.Clone(tile.C)
				one.Mul(NewTerms(list))
				patches.MulPatches(p)
				laneTilePortable(&tile, list)
				for _, got := range [][]float32{one.C, patches.C} {
					if err := sameAsBits(got, tile.C); err != nil {
						t.Fatalf("%d×%d: %v", rows, cols, err)
					}
				}
			}
		}
	})
}

// A result just below 2^-126 is 2^-126 if it is rounded to that with 24 digits, and otherwise 0. A subnormal
// has fewer digits, so it cannot tell.
func TestLeastResultOfPairs(t *testing.T) {
	const least = 0x1p-126
	eachClass(t, func(t *testing.T) {
		for _, c := range []struct{ x, sum, want float32 }{
			{-0x1p-76, least, least}, {-0x1p-75, least, least}, {-0x1.02p-75, least, 0}, {-0x1.8p-75, least, 0},
			{0x1p-75, -least, -least}, {0x1.02p-75, -least, 0}, {-0x1p-74, least, 0},
		} {
			for _, x := range []float32{pairOf(c.x, 0), pairOf(0, c.x)} {
				tile := Tile{Rows: 1, Cols: 1, A: []float32{x}, B: filled(Lanes, pairOf(0x1p-76, 0x1p-76)),
					C: filled(Lanes, c.sum), Accumulate: true, BF16: true}
				tile.Mul(NewTerms([]Term{{}}))
				if tile.C[0] != c.want {
					t.Errorf("%v + %v·2^-76: %v, want %v", c.sum, c.x, tile.C[0], c.want)
				}
			}
		}
	})
}

// sumOfPairs is start plus the terms a(i)·b(i) of bfloat16, from i = 0 on, in pairs.
func sumOfPairs(start float32, n int, a, b func(i int) float32) float32 {
	for i := 0; i < n; i += 2 {
		x, y := pairOf(a(i), 0), pairOf(b(i), 0)
		if i+1 < n {
			x, y = pairOf(a(i), a(i+1)), pairOf(b(i), b(i+1))
		}
		start = dotPairs(x, y, start)
	}
	return start
}

// A product in bfloat16 is its definition, bit for bit in every class: A as it lies and transposed, an
// odd number of terms, more than a panel of them.
func TestProductInBF16(t *testing.T) {
	eachClass(t, func(t *testing.T) {
		r := source(23)
		var s ProductScratch
		for i := range 40 {
			m, blocks, k := 1+r.IntN(40), 1+r.IntN(5), 1+r.IntN(80)
			if i%10 == 0 {
				m, k = 3, 4*panelTerms+1+r.IntN(50)
			}
			p := Product{M: m, N: blocks * Lanes, K: k, Accumulate: i%3 == 0, RowA: k + 3, ColA: 1, RowB: Lanes,
				BlockB: k*Lanes + 5, RowC: Lanes, BlockC: m * Lanes, BF16: true}
			if i%2 == 0 {
				p.RowA, p.ColA = 1, m+3
			}
			p.A, p.B = randomFloats(r, m*p.RowA+k*p.ColA), randomFloats(r, blocks*p.BlockB)
			p.C = randomFloats(r, blocks*p.BlockC)
			if i%5 == 0 {
				p.Bias = randomFloats(r, m)
			}
			want := make([]float32, len(p.C))
			for at := range want {
				b, m, l := at/p.BlockC, at%p.BlockC/Lanes, at%Lanes
				start := float32(0)
				if p.Bias != nil {
					start = p.Bias[m]
				} else if p.Accumulate {
					start = p.C[at]
				}
				want[at] = sumOfPairs(start, k, func(i int) float32 { return p.A[m*p.RowA+i*p.ColA] },
					func(i int) float32 { return p.B[b*p.BlockB+i*Lanes+l] })
			}
			p.Mul(&s)
			if err := sameAsBits(p.C, want); err != nil {
				t.Fatalf("%d×%d×%d, case %d: %v", m, p.N, k, i, err)
			}
		}
	})
}

// The same of sums over runs, into float64 and onto float32.
func TestRunProductInBF16(t *testing.T) {
	eachClass(t, func(t *testing.T) {
		r := source(24)
		var s ProductScratch
		for i := range 20 {
			m, n := 1+r.IntN(20), 1+r.IntN(40)
			if i%9 == 0 { // several panels
				m, n = panelRows+3, panelBlocks*Lanes+20
			}
			var ends []int
			for end := 0; len(ends) < 1+i%3; ends = append(ends, end) {
				end += 1 + r.IntN(9)
			}
			k := ends[len(ends)-1]
			p := RunProduct{M: m, N: n, Ends: ends, A: randomFloats(r, m*(k+1)), RowA: k + 1,
				B: randomFloats(r, roundUpToLanes(n)*k), BlockB: k * Lanes, C: make([]float64, m*n), RowC: n, BF16: true}
			want := make([]float64, m*n)
			for at := range want {
				start, j := 0, at%n
				for _, end := range ends {
					want[at] += float64(sumOfPairs(0, end-start,
						func(i int) float32 { return p.A[at/n*p.RowA+start+i] },
						func(i int) float32 { return p.B[j/Lanes*p.BlockB+(start+i)*Lanes+j%Lanes] }))
					start = end
				}
			}
			if i%2 == 0 {
				p.Out, p.RowOut = randomFloats(r, m*n), n
				narrow := slices.Clone(p.Out)
				addNarrowPortable(narrow, want)
				p.Mul(&s)
				if err := sameAsBits(p.Out, narrow); err != nil {
					t.Fatalf("%d×%d, runs to %v, onto float32: %v", m, n, ends, err)
				}
				continue
			}
			if p.Mul(&s); !slices.Equal(p.C, want) {
				t.Fatalf("%d×%d, runs to %v: other bits", m, n, ends)
			}
		}
	})
}

func roundUpToLanes(n int) int { return (n + Lanes - 1) / Lanes * Lanes }

// BenchmarkPairs compares the largest tile of pairs with that of float32.
func BenchmarkPairs(b *testing.B) {
	const terms = 512
	tile := Tile{Rows: TileRows, Cols: TileCols, RowA: terms, RowC: tileFloats, A: make([]float32, TileRows*terms),
		B: make([]float32, terms*tileFloats), C: make([]float32, TileRows*tileFloats)}
	var list []Term
	for i := range terms {
		list = append(list, Term{int32(i), int32(Lanes * i)})
	}
	for j := range TileCols {
		tile.ColB[j], tile.ColC[j] = j*terms*Lanes, j*Lanes
	}
	all := NewTerms(list)
	for _, bf16 := range []bool{false, true} {
		tile.BF16 = bf16
		b.Run(fmt.Sprintf("bf16=%v", bf16), func(b *testing.B) {
			for b.Loop() {
				tile.mulLadder(all, true)
			}
			flops := 2.0 * TileRows * tileFloats * terms
			if bf16 {
				flops *= 2
			}
			b.ReportMetric(flops*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
		})
	}
}
