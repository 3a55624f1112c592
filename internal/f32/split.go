package f32

import (
	"fmt"
	"math"
	"unsafe"
)

// Pair holds two bfloat16 numbers, the first in the lower half. A bfloat16 is a float32 without its lower
// 16 bits. Matrix tiles (AMX) multiply only bfloat16, without rounding the products. To multiply float32
// numbers with them, each number is split into two or three bfloat16 parts that add up to it, exactly or
// nearly, and a product becomes a sum of products of parts.
//
// The first part is the number rounded to the nearest bfloat16, or away from 0 if two are equally near.
// The next part is the remainder, rounded in the same way. Numbers below 2^-126 count as 0, and numbers of
// 2^128 - 2^119 or more count as not finite.
type Pair uint32

// These are the numbers of bfloat16 parts of a float32, see [Pair]. Two parts add up to the number with a
// relative error of 2^-16, and three parts add up to it exactly.
//
// With three parts, a product of two numbers is the sum of the six largest products of parts: high·high,
// high·middle, middle·middle, middle·high, low·high and high·low. With two parts, it is the sum of
// high·high, high·middle and middle·high. The products that are left out are at most 2^-22.9 of the whole
// product with three parts, and 3·2^-16 with two.
const (
	TwoParts   = 2
	ThreeParts = 3
)

// products returns the pairs of parts of A and B that are multiplied with each other, in order.
func products(parts int) [][2]int {
	if parts == TwoParts {
		return [][2]int{{0, 0}, {0, 1}, {1, 0}}
	}
	return [][2]int{{0, 0}, {0, 1}, {1, 1}, {1, 0}, {2, 0}, {0, 2}}
}

func checkParts(parts int) {
	if parts != TwoParts && parts != ThreeParts {
		panic(fmt.Sprintf("f32: numbers of %d parts", parts))
	}
}

// These constants describe a matrix tile: 16 rows of TileTerms numbers of A, or TileTerms rows of 16
// numbers of B. Numbers are stored in pairs. In A, pair i of a row holds its terms i and i + 16. In B,
// pair j of row i holds the terms i and i + 16 of column j.
const (
	TileTerms = 32
	TilePairs = TileTerms / 2 * Lanes
)

// SplitRows splits 16 rows of A into tiles of parts. The rows begin row floats apart, and the terms fill as many
// tiles as needed, with zeros after the last term. dst is [tile][part][row][pair].
func SplitRows(dst []Pair, parts int, src []float32, row, terms int) {
	checkParts(parts)
	if terms < 1 || row < 1 {
		panic("f32: rows out of range")
	}
	_, _ = dst[(terms+TileTerms-1)/TileTerms*parts*TilePairs-1], src[(Lanes-1)*row+terms-1]
	for ; terms >= TileTerms; terms -= TileTerms {
		splitPairs(dst, src, src[Lanes:], row, Lanes, parts)
		dst, src = dst[parts*TilePairs:], src[TileTerms:]
	}
	if terms > 0 {
		var last [Lanes * TileTerms]float32
		for r := range Lanes {
			copy(last[r*TileTerms:], src[r*row:][:terms])
		}
		splitPairs(dst, last[:], last[Lanes:], TileTerms, Lanes, parts)
	}
}

// SplitColumns converts a block of B, which has terms rows of 16 columns, to bfloat16 for matrix tiles. Each number
// becomes parts bfloat16 numbers that add up to it, see [Pair]. Row i begins at src[i·row]. A tile takes TileTerms
// rows, and the last one is filled with zeros. dst is [tile][part][pair][column].
func SplitColumns(dst []Pair, parts int, src []float32, row, terms int) {
	checkParts(parts)
	if terms < 1 || row < 1 {
		panic("f32: columns out of range")
	}
	_, _ = dst[(terms+TileTerms-1)/TileTerms*parts*TilePairs-1], src[(terms-1)*row+Lanes-1]
	for ; terms >= TileTerms; terms -= TileTerms {
		splitPairs(dst, src, src[Lanes*row:], row, Lanes, parts)
		dst, src = dst[parts*TilePairs:], src[min(len(src), TileTerms*row):]
	}
	if terms == 0 {
		return
	}
	for p := range parts {
		clear(dst[p*TilePairs:][:TilePairs])
	}
	both := max(0, terms-Lanes)
	if both > 0 {
		splitPairs(dst, src, src[Lanes*row:], row, both, parts)
	}
	var none [Lanes]float32
	for i := both; i < min(terms, Lanes); i++ {
		splitPairs(dst[i*Lanes:], src[i*row:], none[:], 0, 1, parts)
	}
}

// SplitPairs splits the numbers of two sequences of vectors, even and odd, into bfloat16 parts, see
// [Pair]. A Pair of dst holds a part of a number of even and the same part of the number of odd at the
// same place. dst is [part][16][lane]; vector i of even and of odd begins at i·row. pairs is the number of
// vectors in each sequence, at most 16.
func SplitPairs(dst []Pair, parts int, even, odd []float32, row, pairs int) {
	checkParts(parts)
	if pairs < 1 || pairs > Lanes || row < 0 {
		panic("f32: pairs out of range")
	}
	_, _, _ = dst[parts*TilePairs-1], even[(pairs-1)*row+Lanes-1], odd[(pairs-1)*row+Lanes-1]
	splitPairs(dst, even, odd, row, pairs, parts)
}

// TransposePairs sets the 16×16 block dst to the transpose of the block src, like Transpose, for blocks
// of pairs of bfloat16.
func TransposePairs(dst []Pair, dstRow int, src []Pair, srcRow int) {
	if dstRow < Lanes || srcRow < Lanes {
		panic("f32: a row of a block shorter than the block")
	}
	_, _ = dst[(Lanes-1)*dstRow+Lanes-1], src[(Lanes-1)*srcRow+Lanes-1]
	transposePairs(dst, dstRow, src, srcRow)
}

// SplitTile is a block of a product of two matrices, computed by matrix tiles (AMX). The numbers of both
// matrices are split into bfloat16 parts, see [Pair]. The block has two times two tiles: for i, j in {0,
// 1}
//
//	C[i·DownC + j·RightC + m·RowC + l] = start + Σ_t A(t, i) · B(t, j)
//
// with m and l < 16. start is the content of C if Accumulate, otherwise 0. A(t, i) are the parts at t.A +
// i·DownA, and B(t, j) those at t.B + j·RightB. Parts are TilePairs apart. Offsets count pairs in A and B,
// and floats in C. A block of fewer tiles has DownA = DownC = 0 or RightB = RightC = 0, and computes its
// tile twice.
//
// The sum over t and over the products of parts is computed in order. One multiplication of tiles computes
// 32 terms. It adds the terms with even numbers one by one, beginning at 0, and rounds once for each
// product and its addition. It adds the terms with odd numbers in the same way. Then it adds the two sums,
// and the result to C. All results are rounded to nearest, and results below 2^-126 are 0.
type SplitTile struct {
	A, B                []Pair
	C                   []float32
	DownA, RightB       int // ≥ 0
	DownC, RightC, RowC int // ≥ 0, ≥ 0, ≥ Lanes
	Parts               int
	Accumulate          bool
	near                near
}

// near describes memory that a kernel loads into the second-level cache, a little at every step:
// first 128 bytes of each of four rows, row bytes apart, and then the same, step bytes further on.
// Loading changes no result, and an address without memory does no harm.
type near struct{ at, row, step uintptr }

// nearRows returns near for rows of x, four at a time. x may be empty.
func nearRows(x []float32, row int) near {
	if len(x) == 0 {
		return near{}
	}
	return near{uintptr(unsafe.Pointer(&x[0])), uintptr(4 * row), uintptr(16 * row)}
}

// Ahead names memory that will be needed soon: Mul then loads it into the processor's cache while it
// computes, 128 pairs of x for every term.
func (t *SplitTile) Ahead(x []Pair) {
	t.near = near{}
	if len(x) > 0 {
		t.near = near{uintptr(unsafe.Pointer(&x[0])), 128, 512}
	}
}

// stay sets the addresses that Mul loads ahead, if there is nothing to load, to memory that is
// already in the cache. Otherwise each load of an address without memory would cost a walk through
// the page tables.
func (t *SplitTile) stay() {
	if t.near.step == 0 {
		t.near.at = uintptr(unsafe.Pointer(&t.A[0]))
	}
}

// Mul computes the block. terms are the terms of its sums.
func (t *SplitTile) Mul(terms *Terms) {
	checkParts(t.Parts)
	if t.DownA < 0 || t.RightB < 0 || t.DownC < 0 || t.RightC < 0 || t.RowC < Lanes || len(terms.list) == 0 {
		panic("f32: a block of matrix tiles out of range")
	}
	all := t.Parts*TilePairs - 1
	_, _ = t.A[terms.maxA+t.DownA+all], t.B[terms.maxB+t.RightB+all]
	_ = t.C[t.DownC+t.RightC+(Lanes-1)*t.RowC+Lanes-1]
	t.stay()
	mulSplit(t, terms.list)
}

// Windows is the number of tiles of the second matrix, B, in a WindowTile.
const Windows = 3

// WindowTile computes the weight gradients of convolutions by matrix tiles (AMX). It adds up, over many
// examples, the products of two tiles of A with three tiles of B. Each example has its own tiles, whose
// terms are its positions and parts (see [Pair]):
//
//	Sum(i, j) += Σ_{steps} A(i, 0)·B(j, 0) + A(i, 1)·B(j, 0) + A(i, 2)·B(j, 1)
//
// for i < 2, j < Windows. A(i, p) is the tile at i·DownA + p·TilePairs. B(j, p) is the tile at Window[j] +
// p·LowB. The tiles of an example's next step are StepA and StepB pairs further on, and those of the next
// example ExampleA and ExampleB pairs. With numbers of two parts, the last product is left out.
//
// The first tile of A has each number's high part twice, the second its middle part twice, and the third
// the high and the low part. At the same places, B has the high and the middle part, and in its second
// tile the low and the high part. So an example whose terms fill half a tile takes as many multiplications
// as the formula has products. Each multiplication adds up its own terms first.
//
// The order of additions is fixed. An example of several steps is summed separately and then added to Sum.
// Other examples are added to each other in runs of WindowRun, beginning at 0.
//
// Sum has WindowFloats numbers. Its rows are in the form that AddWide reads: row m of Sum(i, j) is at (16i
// + m)·TileCols·Lanes + 16j.
type WindowTile struct {
	A, B               []Pair
	DownA              int
	Window             [Windows]int
	LowB               int
	Steps, Examples    int // ≥ 1
	StepA, StepB       int
	ExampleA, ExampleB int // from the first step of an example to that of the next one
	Sum                []float32
	Work               *WindowWork
	Parts              int

	nextA, nextB uintptr // bytes to the next tiles
}

// WindowRun is the number of consecutive examples that matrix tiles add to each other before their sum is added to
// WindowTile.Sum.
const WindowRun = 16

// WindowFloats is the length of WindowTile.Sum, in numbers.
const WindowFloats = 2 * Lanes * tileFloats

// WindowWork is working memory of a WindowTile: it holds the tiles before they are added to Sum.
type WindowWork [2 * Lanes * Windows * Lanes]float32

// Add adds the examples' products to Sum.
func (t *WindowTile) Add() {
	checkParts(t.Parts)
	steps, examples, window := t.Steps-1, t.Examples-1, maxColumn(t.Window[:])
	if steps < 0 || examples < 0 || min(t.DownA, t.LowB, t.StepA, t.StepB, t.ExampleA, t.ExampleB) < 0 {
		panic("f32: windows out of range")
	}
	_, _ = t.Sum[WindowFloats-1], t.Work[0]
	_ = t.A[examples*t.ExampleA+steps*t.StepA+t.DownA+t.Parts*TilePairs-1]
	low := 0
	if t.Parts == ThreeParts {
		low = t.LowB
	}
	_ = t.B[examples*t.ExampleB+steps*t.StepB+window+low+TilePairs-1]
	t.nextA, t.nextB = uintptr(4*t.ExampleA), uintptr(4*t.ExampleB)
	if steps > 0 { // most lines of its windows have been read
		t.nextA, t.nextB = uintptr(4*t.StepA), uintptr(4*(t.StepB+window/2))
	}
	addWindows(t)
}

// The portable functions below give the same bits as the kernels.

// bfloat returns x rounded to the nearest bfloat16, which is in the upper half of its bits.
func bfloat(x float32) float32 { return math.Float32frombits((math.Float32bits(x) + 0x8000) &^ 0xffff) }

// split returns the parts of two numbers as pairs.
func split(even, odd float32, parts int) (pairs [ThreeParts]Pair) {
	for p := range parts {
		e, o := even, odd
		if p < 2 { // after that, the remainder is a bfloat16
			e, o = bfloat(even), bfloat(odd)
		}
		pairs[p] = Pair(math.Float32bits(e)>>16 | math.Float32bits(o)&^0xffff)
		even, odd = even-e, odd-o
	}
	return pairs
}

// splitPairsPortable specifies SplitPairs.
func splitPairsPortable(dst []Pair, even, odd []float32, row, pairs, parts int) {
	for i := range pairs {
		for l := range Lanes {
			for p, v := range split(even[i*row+l], odd[i*row+l], parts) {
				if p < parts {
					dst[p*TilePairs+i*Lanes+l] = v
				}
			}
		}
	}
}

func transposePairsPortable(dst []Pair, dstRow int, src []Pair, srcRow int) {
	for i := range Lanes {
		for j := range Lanes {
			dst[j*dstRow+i] = src[i*srcRow+j]
		}
	}
}

// mulSplitPortable specifies SplitTile.Mul.
func mulSplitPortable(t *SplitTile, terms []Term) {
	var sums [2][2][Lanes * Lanes]float32
	each := func(row func(sum, c []float32)) {
		for i := range sums {
			for j := range sums[i] {
				for m := range Lanes {
					row(sums[i][j][m*Lanes:][:Lanes], t.C[i*t.DownC+j*t.RightC+m*t.RowC:][:Lanes])
				}
			}
		}
	}
	if t.Accumulate {
		each(func(sum, c []float32) { copy(sum, c) })
	}
	for _, x := range terms {
		for _, p := range products(t.Parts) {
			for i := range sums {
				for j := range sums[i] {
					a, b := t.A[int(x.A)+i*t.DownA:], t.B[int(x.B)+j*t.RightB:]
					mulTiles(&sums[i][j], a[p[0]*TilePairs:], b[p[1]*TilePairs:])
				}
			}
		}
	}
	each(func(sum, c []float32) { copy(c, sum) })
}

// addRuns adds to wide the block's sums over runs. wide has rows of TileCols·Lanes numbers. runs
// has the number of steps of each run; runs follow one another in A and B, and each sum begins at
// 0. C is working memory with the same rows. DownC, RightC, RowC and Accumulate are ignored.
func (t *SplitTile) addRuns(runs []int, wide []float64) {
	steps := 0
	for _, n := range runs {
		if n < 1 {
			panic("f32: a run of no steps")
		}
		steps += n
	}
	all := steps*t.Parts*TilePairs - 1
	_, _, _, _ = t.A[t.DownA+all], t.B[t.RightB+all], t.C[wideBlock-1], wide[wideBlock-1]
	t.stay()
	addRuns(t, runs, wide)
}

func addRunsPortable(t *SplitTile, runs []int, wide []float64) {
	block := *t
	block.DownC, block.RightC, block.RowC, block.Accumulate = Lanes*tileFloats, Lanes, tileFloats, false
	for _, n := range runs {
		var list []Term
		for s := range n {
			list = append(list, Term{int32(s * t.Parts * TilePairs), int32(s * t.Parts * TilePairs)})
		}
		mulSplitPortable(&block, list)
		addWidePortable(wide, tileFloats, block.C, 2*Lanes, 2)
		block.A, block.B = block.A[n*t.Parts*TilePairs:], block.B[n*t.Parts*TilePairs:]
	}
}

// addWindowsPortable specifies WindowTile.Add.
func addWindowsPortable(t *WindowTile) {
	run := WindowRun
	if t.Steps > 1 {
		run = 1
	}
	for first := 0; first < t.Examples; first += run {
		for i := range 2 {
			for j := range Windows {
				var sum [Lanes * Lanes]float32
				for e := first; e < min(first+run, t.Examples); e++ {
					for s := range t.Steps {
						a, b := t.A[e*t.ExampleA+s*t.StepA+i*t.DownA:], t.B[e*t.ExampleB+s*t.StepB+t.Window[j]:]
						mulTiles(&sum, a, b)
						mulTiles(&sum, a[TilePairs:], b)
						if t.Parts == ThreeParts {
							mulTiles(&sum, a[2*TilePairs:], b[t.LowB:])
						}
					}
				}
				for n, v := range sum {
					t.Sum[(i*Lanes+n/Lanes)*tileFloats+j*Lanes+n%Lanes] += v
				}
			}
		}
	}
}

// mulTiles adds the product of two tiles to sum, in the order that SplitTile describes.
func mulTiles(sum *[Lanes * Lanes]float32, a, b []Pair) {
	for m := range Lanes {
		for l := range Lanes {
			var even, odd float32
			for k := range TileTerms / 2 {
				x, y := a[m*Lanes+k], b[k*Lanes+l]
				even = fused(x.even(), y.even(), even)
				odd = fused(x.odd(), y.odd(), odd)
			}
			at := &sum[m*Lanes+l]
			*at = flush(flush(*at) + flush(even+odd))
		}
	}
}

func (p Pair) even() float32 { return flush(math.Float32frombits(uint32(p) << 16)) }
func (p Pair) odd() float32  { return flush(math.Float32frombits(uint32(p) & 0xffff0000)) }

// flush returns x, or 0 of its sign if it is below the least normal number.
func flush(x float32) float32 {
	if bits := math.Float32bits(x); bits&0x7f800000 == 0 {
		return math.Float32frombits(bits & 0x80000000)
	}
	return x
}

// fused returns x·y + c rounded once, or 0 of its sign if it is below 2^-126 when it is rounded to 24 digits
// (Intel 64 and IA-32 Architectures Software Developer's Manual, volume 1, section 4.9.1.5).
func fused(x, y, c float32) float32 {
	const tie = 0x1.ffffffp-127 // between 2^-126 and the number below it; the former is even
	sum := oddSum(x, y, c)
	if math.Abs(sum) < tie {
		sum = math.Copysign(0, sum)
	}
	return float32(sum)
}

// multiplyAdd returns x·y + c rounded once, like all kernels except the portable ones.
func multiplyAdd(x, y, c float32) float32 { return float32(oddSum(x, y, c)) }

// oddSum returns x·y + c, rounded to odd. The product is exact in float64. Because the sum is rounded to odd,
// rounding it again to float32 is correct (S. Boldo, G. Melquiond, "Emulation of a FMA and Correctly Rounded
// Sums: Proved Algorithms Using Rounding to Odd", IEEE Trans. Computers 57, 2008).
func oddSum(x, y, c float32) float64 {
	product, addend := float64(x)*float64(y), float64(c)
	sum := product + addend
	back := sum - product
	if off := (product - (sum - back)) + (addend - back); off != 0 && off-off == 0 {
		if bits := math.Float64bits(sum); bits&1 == 0 {
			if (off > 0) == (sum > 0) {
				bits++
			} else {
				bits--
			}
			sum = math.Float64frombits(bits)
		}
	}
	return sum
}
