package f32

import (
	"fmt"
	"math"
	"unsafe"
)

// Pair is two numbers in bfloat16, a float32 without its lower 16 bits, the first in the
// lower half. Matrix tiles multiply such numbers only, but exactly; so a float32 is
// taken apart into parts whose sum it is, or nearly, and its products into products of
// parts. A part is what is left of the number, rounded to the nearest bfloat16, away from
// 0 if two are as near. Numbers below 2^-126 count as 0, and those of 2^128 - 2^119 or
// more are not numbers.
type Pair uint32

// How many numbers in bfloat16 a float32 is taken apart into: two parts are the number
// to 2^-16 of it, and three are all of it. Of the products of two numbers of three
// parts the six largest are summed, and of two parts three: high·high, high·middle, and
// then, of three parts, middle·middle, middle·high, low·high and high·low, of two parts
// middle·high. What that leaves out is at most 2^-22.9 or 3·2^-16 of the product.
const (
	TwoParts   = 2
	ThreeParts = 3
)

// products are the parts of A and of B that are multiplied, in order.
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

// A matrix tile is 16 rows of TileTerms numbers of A, or TileTerms rows of 16 numbers of
// B. In A pair i of a row is of its terms i and i + 16; in B pair j of row i is of
// the terms i and i + 16 in column j.
const (
	TileTerms = 32
	TilePairs = TileTerms / 2 * Lanes
)

// SplitRows takes apart 16 rows of A, row floats apart, into tiles: as many as the
// terms fill, 0 behind the last term. dst is [tile][part][row][pair].
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

// SplitColumns takes apart 16 columns of B, whose rows are row floats apart, into
// tiles: as many as the terms fill, 0 behind the last term. dst is
// [tile][part][pair][column].
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

// SplitPairs takes apart vectors of lanes by twos: pair i of dst, [part][16][lane], is of
// the vectors at i·row in even and in odd. There are at most 16.
func SplitPairs(dst []Pair, parts int, even, odd []float32, row, pairs int) {
	checkParts(parts)
	if pairs < 1 || pairs > Lanes || row < 0 {
		panic("f32: pairs out of range")
	}
	_, _, _ = dst[parts*TilePairs-1], even[(pairs-1)*row+Lanes-1], odd[(pairs-1)*row+Lanes-1]
	splitPairs(dst, even, odd, row, pairs, parts)
}

// TransposePairs is Transpose of pairs.
func TransposePairs(dst []Pair, dstRow int, src []Pair, srcRow int) {
	if dstRow < Lanes || srcRow < Lanes {
		panic("f32: a row of a block shorter than the block")
	}
	_, _ = dst[(Lanes-1)*dstRow+Lanes-1], src[(Lanes-1)*srcRow+Lanes-1]
	transposePairs(dst, dstRow, src, srcRow)
}

// SplitTile is a block of a product of matrices that were taken apart, of two times two
// tiles: for i, j in {0, 1}
//
//	C[i·DownC + j·RightC + m·RowC + l] = start + Σ_t A(t, i) · B(t, j)
//
// with m and l < 16, start what C holds if Accumulate, else 0, A(t, i) the parts at
// t.A + i·DownA, and B(t, j) those at t.B + j·RightB; parts are TilePairs apart, and
// offsets count pairs, or floats in C. A block of fewer tiles has DownA = DownC = 0,
// or RightB = RightC = 0, and its tile made twice.
//
// The sum over t and over the products of parts is made in order, each by a
// multiplication of tiles: over its 32 terms it adds those of even number, one by one,
// from 0 on and rounding once for each product and its addition, likewise those of
// odd number, then the two sums, and that to C. All results are rounded to nearest,
// and those below 2^-126 are 0.
type SplitTile struct {
	A, B                []Pair
	C                   []float32
	DownA, RightB       int // ≥ 0
	DownC, RightC, RowC int // ≥ 0, ≥ 0, ≥ Lanes
	Parts               int
	Accumulate          bool
	near                near
}

// near is what a kernel asks to be brought into the second cache, a little at every step: 128
// bytes of four rows, row bytes apart, then those step bytes behind them. It changes no
// result, and what is not there does no harm.
type near struct{ at, row, step uintptr }

// nearRows is near for rows of x, which may be empty: four at a time.
func nearRows(x []float32, row int) near {
	if len(x) == 0 {
		return near{}
	}
	return near{uintptr(unsafe.Pointer(&x[0])), uintptr(4 * row), uintptr(16 * row)}
}

// Ahead makes Mul ask for pairs that are wanted soon, 128 of them for every term.
func (t *SplitTile) Ahead(x []Pair) {
	t.near = near{}
	if len(x) > 0 {
		t.near = near{uintptr(unsafe.Pointer(&x[0])), 128, 512}
	}
}

// stay makes a kernel that shall ask for nothing ask for what it has: to ask for a page
// that is not there costs a walk through the tables of pages.
func (t *SplitTile) stay() {
	if t.near.step == 0 {
		t.near.at = uintptr(unsafe.Pointer(&t.A[0]))
	}
}

// Mul computes the block.
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

// Windows is how many tiles of B a WindowTile has.
const Windows = 3

// WindowTile is what many examples add to the products of two tiles of A with three of
// B, each example with tiles of its own whose terms are its positions and parts:
//
//	Sum(i, j) += Σ_{steps} A(i, 0)·B(j, 0) + A(i, 1)·B(j, 0) + A(i, 2)·B(j, 1)
//
// for i < 2, j < Windows, where A(i, p) is the tile at i·DownA + p·TilePairs, and B(j, p)
// that at Window[j] + p·LowB, the first two in one: of an example's next step StepA and
// StepB pairs, and of the next example ExampleA and ExampleB pairs, behind them. The last
// product is left out of numbers of two parts.
//
// In the first tile of A each number's high part stands twice, in the second its
// middle part, and in the third the high and the low one; beside them B has the high and
// the middle one, and in its second tile the low and the high one. So an
// example whose terms fill half a tile is made by as many multiplications as there
// are lines above, each of which adds up its own terms before anything else.
//
// An example of several steps is summed by itself, and then added to Sum. Of others
// WindowRun in a row are added to each other first, from 0 on.
//
// Sum has WindowFloats, the rows of its tiles as AddWide reads them: row m of Sum(i, j) is
// at (16i + m)·TileCols·Lanes + 16j.
type WindowTile struct {
	A, B               []Pair
	DownA              int
	Window             [Windows]int
	LowB               int
	Steps, Examples    int // ≥ 1
	StepA, StepB       int
	ExampleA, ExampleB int // from the first step of an example to that of the next
	Sum                []float32
	Work               *WindowWork
	Parts              int

	nextA, nextB uintptr // bytes to what comes next
}

// WindowRun is how many examples of one step are added by the tiles themselves.
const WindowRun = 16

// WindowFloats is the length of the sums of a WindowTile.
const WindowFloats = 2 * Lanes * tileFloats

// WindowWork is where the tiles of a WindowTile are put before they are added to its sums.
type WindowWork [2 * Lanes * Windows * Lanes]float32

// Add adds the examples.
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
	if steps > 0 { // of whose windows all lines but some have been read
		t.nextA, t.nextB = uintptr(4*t.StepA), uintptr(4*(t.StepB+window/2))
	}
	addWindows(t)
}

// The portable twins below give the bits of the kernels.

// bfloat returns x as the nearest number in bfloat16, in the upper half of its bits.
func bfloat(x float32) float32 { return math.Float32frombits((math.Float32bits(x) + 0x8000) &^ 0xffff) }

// split returns pairs of the parts of two numbers.
func split(even, odd float32, parts int) (pairs [ThreeParts]Pair) {
	for p := range parts {
		e, o := even, odd
		if p < 2 { // what is left then is in bfloat16
			e, o = bfloat(even), bfloat(odd)
		}
		pairs[p] = Pair(math.Float32bits(e)>>16 | math.Float32bits(o)&^0xffff)
		even, odd = even-e, odd-o
	}
	return pairs
}

// splitPairsPortable is the specification of SplitPairs.
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

// mulSplitPortable is the specification of SplitTile.Mul.
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

// addRuns adds to wide, rows of TileCols·Lanes apart, the block's sums over runs of so
// many steps, one behind the other in A and B, each by itself from 0. C is what it works
// in, with the same rows; DownC, RightC, RowC and Accumulate are not looked at.
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

// addWindowsPortable is the specification of WindowTile.Add.
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

// mulTiles adds the product of two tiles, as SplitTile says.
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

// fused returns x·y + c rounded once, or 0 of its sign if it is subnormal.
func fused(x, y, c float32) float32 { return flush(multiplyAdd(x, y, c)) }

// multiplyAdd returns x·y + c rounded once, as all kernels but the portable ones do: the
// product is exact in float64, and the sum in float64 is first rounded to odd, which keeps
// the second rounding right (S. Boldo, G. Melquiond, "Emulation of a FMA and Correctly
// Rounded Sums: Proved Algorithms Using Rounding to Odd", IEEE Trans. Computers 57, 2008).
func multiplyAdd(x, y, c float32) float32 {
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
	return float32(sum)
}
