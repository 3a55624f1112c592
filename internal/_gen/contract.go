package main

import (
	"fmt"
	"go/types"
	"strings"

	"github.com/mmcloughlin/avo/gotypes"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The largest blocks of sums that fit the registers, next to a row of vectors of B and a factor
// from A.
const (
	tileRows, tileCols         = 6, 4
	laneTileRows, laneTileCols = 5, 5
	oddTileRows                = 4
)

// laneTileRowsAVX2 is the number of rows of a LaneTile that fit the 16 registers of AVX2, for each
// number of columns.
var laneTileRowsAVX2 = [laneTileCols + 1]int{1: 5, 2: 5, 3: 3, 4: 2, 5: 2}

const (
	floatBytes = 4
	termBytes  = 8
	ymmBytes   = 32
)

func contract(k *kernels) {
	k.patches("tilesAVX512", "Tile.MulPatches for n patches", tileRows, tileCols, form{})
	k.fullTile("fullTileAVX512", "", form{})
	k.patches("laneTilesAVX512", "LaneTile.MulPatches for n patches", laneTileRows, laneTileCols, form{lanes: true})
	k.patches("oddTilesAVX512", "LaneTile.MulOdd for n patches", oddTileRows, laneTileCols, form{lanes: true, odd: true})
	k.column("tileColumnAVX2", "column int", "Mul", func(c *contraction, rows int, column place) {
		c.block(rows, []place{column}, 0, ymmBytes)
		c.end()
	})
	k.tile("tileRunsAVX512", "run int", "does the same as Tile.MulRuns without its checks.", form{}, (*contraction).runs)
	k.column("tileColumnRunsAVX2", "run, column int", "MulRuns", func(c *contraction, rows int, column place) {
		c.runs(rows, []place{column}, 0, ymmBytes)
	})
	k.tile("tileWideAVX512", "lengths []int, wide []float64, wideRow int", "does the same as Tile.MulWide without its checks.",
		form{}, (*contraction).wideRuns)
	k.column("tileColumnWideAVX2", "lengths []int, wide []float64, wideRow, column int", "MulWide",
		func(c *contraction, rows int, column place) { c.wideRuns(rows, []place{column}, 0, ymmBytes) })
	k.laneTileAVX2()
	k.transposeAVX2()
	k.prefetch()
	k.peakFMA("peakFMAAVX512", k.zmm, 24)
	k.peakFMA("peakFMAAVX2", k.ymm, 12)
}

func (k *kernels) zmm() reg.VecVirtual { return k.ZMM() }
func (k *kernels) ymm() reg.VecVirtual { return k.YMM() }

// patches writes a kernel of tiles with the columns and terms of patches. It processes the patches one
// after another. The next patch, and how many are left, are stored in the arguments, because there are
// few registers.
func (k *kernels) patches(name, method string, mostRows, mostCols int, f form) {
	tile, _, _ := strings.Cut(method, ".")
	k.kernel(name, "func(t *"+tile+", p *Patch, n int)", "does the same as "+method+", without its checks.")
	c := &contraction{kernels: k, form: f, register: k.zmm, tile: k.Dereference(k.Param("t")), patches: true}
	size := types.SizesFor("gc", "amd64").Sizeof(c.pkg.Scope().Lookup("Patch").Type())
	c.shapes(c.load("Rows"), mostRows, func(rows int) {
		again, next := c.label("patch"), c.label("patchDone")
		c.Label(again)
		patch := c.patch()
		c.terms(c.Dereference(patch.Field("Terms")).Field("list"))
		c.shapes(c.loaded(patch.Field("Cols")), mostCols, func(cols int) {
			c.block(rows, columns(cols), 0)
			c.JMP(operand.LabelRef(next))
		})
		c.Label(next)
		c.ADDQ(operand.U8(uint8(size)), c.address(c.Param("p")))
		c.DECQ(c.address(c.Param("n")))
		c.JNZ(operand.LabelRef(again))
		c.end()
	})
}

// patch returns the argument that points to the next patch.
func (c *contraction) patch() gotypes.Component { return c.Dereference(c.Param("p")) }

// fullTile is the largest tile with consecutive terms.
func (k *kernels) fullTile(name, what string, f form) {
	k.kernel(name, "func(t *Tile, terms int)",
		fmt.Sprintf("does the same as Tile.Mul%s without its checks, for %d rows, %d columns and the terms {0, 0}, {1, %d}, ...",
			what, tileRows, tileCols, laneBytes/floatBytes))
	c := &contraction{kernels: k, form: f, register: k.zmm, tile: k.Dereference(k.Param("t")), straight: true}
	c.left = k.argument("terms")
	c.block(tileRows, columns(tileCols), 0)
	c.end()
}

// tile writes a kernel of Tile with all its columns.
func (k *kernels) tile(name, parameters, doc string, f form, body func(c *contraction, rows int, columns []place, offsets ...int)) {
	c := k.contraction(name, "t *Tile, terms []Term, "+parameters, doc, k.zmm)
	c.form = f
	c.shapes(c.load("Rows"), tileRows, func(rows int) {
		c.shapes(c.load("Cols"), tileCols, func(cols int) { body(c, rows, columns(cols), 0) })
	})
}

// column writes a kernel that computes one column of a method of Tile.
func (k *kernels) column(name, parameters, method string, body func(c *contraction, rows int, column place)) {
	c := k.contraction(name, "t *Tile, terms []Term, "+parameters, "computes a column of Tile."+method+".", k.ymm)
	column := place{index: k.argument("column")}
	c.shapes(c.load("Rows"), tileRows, func(rows int) { body(c, rows, column) })
}

func (k *kernels) laneTileAVX2() {
	c := k.contraction("laneTileRowsAVX2", "t *LaneTile, terms []Term, row, lane int",
		fmt.Sprintf("computes 8 lanes, from lane on, of rows of LaneTile.Mul, from row on: "+
			"at most %d rows for 1, 2, ... columns.",
			laneTileRowsAVX2[1:]), k.ymm)
	c.lanes = true
	c.corner = func(base, stride reg.GPVirtual) {
		c.LEAQ(operand.Mem{Base: base, Index: c.argument("lane"), Scale: floatBytes}, base)
		if stride != nil {
			row := c.argument("row")
			c.IMULQ(stride, row)
			c.ADDQ(row, base)
		}
	}
	rows := c.load("Rows")
	c.SUBQ(c.argument("row"), rows)
	c.shapes(c.load("Cols"), laneTileCols, func(cols int) {
		c.shapes(rows, laneTileRowsAVX2[cols], func(rows int) {
			c.block(rows, columns(cols), 0)
			c.end()
		})
	})
}

// form says how a contraction reads A and B.
type form struct {
	lanes bool // A is read as vectors of lanes, not as scalars …
	odd   bool // … and B from one of two vectors, lane by lane
	pairs bool // the numbers of A and B are pairs of bfloat16
}

// contraction is a kernel of Tile or LaneTile that is being written, with the registers that all
// its blocks use. Strides are in bytes.
type contraction struct {
	*kernels
	form
	register func() reg.VecVirtual
	// corner moves base to the start of the block, if that is not the tile's start. B has no
	// stride, and stride is nil.
	corner       func(base, stride reg.GPVirtual)
	tile         gotypes.Component
	patches      bool          // the columns are those of the patch, not of the tile
	behind, left reg.GPVirtual // the end of the terms, and minus the number of their remaining bytes
	straight     bool          // terms are consecutive, and left is their number
	labels       int
}

func (k *kernels) contraction(name, parameters, doc string, register func() reg.VecVirtual) *contraction {
	k.kernel(name, "func("+parameters+")", doc)
	c := &contraction{kernels: k, register: register, tile: k.Dereference(k.Param("t"))}
	c.terms(k.Param("terms"))
	return c
}

// terms loads the start and the length of a list of terms into c's registers.
func (c *contraction) terms(list gotypes.Component) {
	c.left = c.loaded(list.Len())
	c.SHLQ(operand.U8(3), c.left)
	c.behind = c.loaded(list.Base())
	c.ADDQ(c.left, c.behind)
	c.NEGQ(c.left)
}

// multiplyAdd adds the product of x and y to sum.
func (c *contraction) multiplyAdd(x, y, sum reg.VecVirtual) {
	if c.pairs {
		c.dotPairs(x, y, sum)
	} else {
		c.VFMADD231PS(x, y, sum)
	}
}

func (c *contraction) load(field string) reg.GPVirtual { return c.loaded(c.tile.Field(field)) }

// matrix loads the start of the block in A, B or C, and the stride of its rows. B has no stride.
func (c *contraction) matrix(name string) (base, stride reg.GPVirtual) {
	base = c.loaded(c.tile.Field(name).Base())
	if name != "B" {
		stride = c.load("Row" + name)
		c.SHLQ(operand.U8(2), stride)
	}
	if c.corner != nil {
		c.corner(base, stride)
	}
	return base, stride
}

// label returns a name that the function has not used.
func (c *contraction) label(what string) string {
	c.labels++
	return fmt.Sprintf("%s%d", what, c.labels)
}

// shapes writes code that branches to body(n) for n in [1, most], and to body(most) for larger n.
// The code tests for the largest n first, because most of the work has this shape.
func (c *contraction) shapes(n reg.GPVirtual, most int, body func(n int)) {
	for i := most; i >= 1; i-- {
		next := c.label("next")
		if i > 1 {
			c.CMPQ(n, operand.U8(uint8(i)))
			c.JLT(operand.LabelRef(next))
		}
		body(i)
		c.Label(next)
	}
}

// place names a column of the tile by a number or by the content of a register.
type place struct {
	number int
	index  reg.Register
}

func columns(n int) []place {
	places := make([]place, n)
	for j := range places {
		places[j].number = j
	}
	return places
}

// pointers computes the starts of the columns of a matrix.
func (c *contraction) pointers(base reg.GPVirtual, name string, places []place) []reg.GPVirtual {
	all := make([]reg.GPVirtual, len(places))
	from := c.tile
	if c.patches {
		from = c.patch()
	}
	for j, p := range places {
		at := c.address(from.Field("Col" + name).Index(p.number))
		if p.index != nil {
			at = at.Idx(p.index, 8)
		}
		all[j] = c.GP64()
		c.MOVQ(at, all[j])
		c.LEAQ(operand.Mem{Base: base, Index: all[j], Scale: floatBytes}, all[j])
	}
	return all
}

// rows returns the address of each row from that of row 0, the stride between rows, and a free
// register. Row m is at p + m·stride for even m, and at row 1 plus a multiple for odd m, because
// addresses scale by 1, 2, 4 or 8.
func (k *kernels) rows(n int, p, stride reg.GPVirtual) []operand.Mem {
	all := []operand.Mem{{Base: p}}
	if n == 1 {
		return all
	}
	q := k.GP64()
	k.LEAQ(operand.Mem{Base: p, Index: stride, Scale: 1}, q)
	all = append(all, operand.Mem{Base: q})
	for m := 2; m < n; m++ {
		at := all[m%2]
		at.Index, at.Scale = stride, uint8(m&^1)
		all = append(all, at)
	}
	return all
}

// accumulators returns registers for a block of rows × places, and a function that visits them with
// their places in C.
func (c *contraction) accumulators(rows int, places []place, offsets []int) (
	acc [][]reg.VecVirtual, eachOfC func(do func(at operand.Mem, acc reg.VecVirtual)),
) {
	acc = make([][]reg.VecVirtual, rows)
	for m := range acc {
		acc[m] = make([]reg.VecVirtual, len(places)*len(offsets))
		for j := range acc[m] {
			acc[m][j] = c.register()
		}
	}
	return acc, func(do func(at operand.Mem, acc reg.VecVirtual)) {
		base, stride := c.matrix("C")
		for j, p := range c.pointers(base, "C", places) {
			for m, at := range c.rows(rows, p, stride) {
				for o, offset := range offsets {
					do(at.Offset(offset), acc[m][j*len(offsets)+o])
				}
			}
		}
	}
}

func (c *contraction) clear(acc [][]reg.VecVirtual) {
	for _, row := range acc {
		for _, a := range row {
			c.VXORPS(a, a, a)
		}
	}
}

// runs adds the sum of each run of terms to a block of C, and returns. Sums of pairs are multiplied by
// the factors at the argument factor.
func (c *contraction) runs(rows int, places []place, offsets ...int) {
	acc, eachOfC := c.accumulators(rows, places, offsets)
	again, done := c.label("again"), c.label("finished")
	run, remaining := c.argument("run"), c.GP64()
	c.SHLQ(operand.U8(3), run)
	c.MOVQ(c.left, remaining) // minus the bytes of terms
	c.ADDQ(c.left, c.behind)  // the start of the terms
	c.TESTQ(remaining, remaining)
	c.JZ(operand.LabelRef(done))
	c.Label(again)
	c.ADDQ(run, c.behind)
	c.MOVQ(run, c.left)
	c.NEGQ(c.left)
	c.clear(acc)
	c.multiply(acc, places, offsets)
	factor := c.register()
	if c.pairs {
		next, at := c.GP64(), c.address(c.Param("factor"))
		c.MOVQ(at, next)
		c.VBROADCASTSS(operand.Mem{Base: next}, factor)
		c.ADDQ(operand.U8(floatBytes), at)
	}
	eachOfC(func(at operand.Mem, acc reg.VecVirtual) {
		if c.pairs {
			c.VFMADD213PS(at, factor, acc)
		} else {
			c.VADDPS(at, acc, acc)
		}
		c.VMOVUPS(acc, at)
	})
	c.ADDQ(run, remaining)
	c.JNZ(operand.LabelRef(again))
	c.Label(done)
	c.end()
}

// wideRuns adds the sum of each run of terms to rows of float64, and returns.
func (c *contraction) wideRuns(rows int, places []place, offsets ...int) {
	acc, _ := c.accumulators(rows, places, offsets)
	again, done := c.label("again"), c.label("finished")
	lengths, remaining := c.base("lengths"), c.length("lengths")
	c.ADDQ(c.left, c.behind) // the start of the terms
	c.TESTQ(remaining, remaining)
	c.JZ(operand.LabelRef(done))
	c.Label(again)
	c.MOVQ(operand.Mem{Base: lengths}, c.left)
	c.ADDQ(operand.U8(8), lengths)
	c.SHLQ(operand.U8(3), c.left)
	c.ADDQ(c.left, c.behind)
	c.NEGQ(c.left)
	c.clear(acc)
	c.multiply(acc, places, offsets)
	wide, stride := c.base("wide"), c.argument("wideRow")
	c.SHLQ(operand.U8(3), stride)
	if column := places[0].index; column != nil {
		at := c.GP64()
		c.MOVQ(column, at)
		c.SHLQ(operand.U8(7), at) // 16 float64
		c.ADDQ(at, wide)
	}
	for m, at := range c.rows(rows, wide, stride) {
		for j, a := range acc[m] {
			bytes := int(a.Size())
			for half := range 2 {
				to := c.half(a, half == 1)
				place := at.Offset((2*j + half) * bytes)
				c.VADDPD(place, to, to)
				c.VMOVUPD(to, place)
			}
		}
	}
	c.DECQ(remaining)
	c.JNZ(operand.LabelRef(again))
	c.Label(done)
	c.end()
}

// block computes a block of rows × places. Each place has one register for each offset, which is in
// bytes.
func (c *contraction) block(rows int, places []place, offsets ...int) {
	acc, eachOfC := c.accumulators(rows, places, offsets)
	multiply, noBias, zero := c.label("multiply"), c.label("noBias"), c.label("zero")

	if !c.lanes {
		bias := c.loaded(c.tile.Field("Bias").Base())
		c.TESTQ(bias, bias)
		c.JZ(operand.LabelRef(noBias))
		for m := range acc {
			c.VBROADCASTSS(operand.Mem{Base: bias, Disp: floatBytes * m}, acc[m][0])
			for _, a := range acc[m][1:] {
				c.VMOVAPS(acc[m][0], a)
			}
		}
		c.JMP(operand.LabelRef(multiply))
		c.Label(noBias)
	}
	accumulate := c.GP8()
	c.Load(c.tile.Field("Accumulate"), accumulate)
	c.TESTB(accumulate, accumulate)
	c.JZ(operand.LabelRef(zero))
	eachOfC(func(at operand.Mem, acc reg.VecVirtual) { c.VMOVUPS(at, acc) })
	c.JMP(operand.LabelRef(multiply))
	c.Label(zero)
	c.clear(acc)

	c.Label(multiply)
	switch {
	case c.straight:
		c.multiplyStraight(acc, places)
	case c.odd:
		c.multiplyOdd(acc, places)
	default:
		c.multiply(acc, places, offsets)
	}
	eachOfC(func(at operand.Mem, acc reg.VecVirtual) { c.VMOVUPS(acc, at) })
}

// multiplyStraight adds consecutive terms to the accumulators, several at a time, so that nearly
// all instructions are multiplications or loads for them.
func (c *contraction) multiplyStraight(acc [][]reg.VecVirtual, places []place) {
	const most = 4 // at a time
	baseB, _ := c.matrix("B")
	columns := c.pointers(baseB, "B", places)
	a, stride := c.matrix("A")
	rows, b := c.rows(len(acc), a, stride), c.GP64()
	c.XORQ(b, b)
	for _, some := range []int{most, 1} {
		loop, done := c.label("loop"), c.label("done")
		c.CMPQ(c.left, operand.U8(some))
		c.JLT(operand.LabelRef(done))
		c.Label(loop)
		for term := range some {
			var row []reg.VecVirtual
			for _, p := range columns {
				row = append(row, c.register())
				c.VMOVUPS(operand.Mem{Base: p, Index: b, Scale: 1, Disp: term * laneBytes}, row[len(row)-1])
			}
			for m, at := range rows {
				factor := c.register()
				c.VBROADCASTSS(at.Offset(term*floatBytes), factor)
				for j := range row {
					c.multiplyAdd(row[j], factor, acc[m][j])
				}
			}
		}
		for _, at := range rows[:2] { // the others are addressed from these
			c.ADDQ(operand.U8(some*floatBytes), at.Base)
		}
		c.ADDQ(operand.U32(some*laneBytes), b)
		c.SUBQ(operand.U8(some), c.left)
		c.CMPQ(c.left, operand.U8(some))
		c.JGE(operand.LabelRef(loop))
		c.Label(done)
	}
}

// multiplyOdd does the same as multiply, for LaneTile.MulOdd. The lanes are chosen by instructions
// for units that multiplications leave idle.
func (c *contraction) multiplyOdd(acc [][]reg.VecVirtual, places []place) {
	baseB, _ := c.matrix("B")
	first := c.pointers(baseB, "B", places[:1])[0]
	baseA, rowA := c.matrix("A")
	baseOdd, rowOdd := c.loaded(c.tile.Field("Odd").Base()), c.GP64()
	c.MOVQ(rowA, rowOdd)
	c.SHRQ(operand.U8(4), rowOdd) // each vector of A has an integer of Odd
	chosen := c.register()
	c.VXORPS(chosen, chosen, chosen) // avo assumes that blends read what they write
	c.eachTerm(func(a, b reg.GPVirtual) {
		odd := c.GP64()
		c.MOVQ(a, odd)
		c.SHRQ(operand.U8(2), odd)
		c.ADDQ(baseOdd, odd)
		c.LEAQ(operand.Mem{Base: baseA, Index: a, Scale: floatBytes}, a)
		row := make([]reg.VecVirtual, len(places)+1)
		for j := range row {
			row[j] = c.register()
			c.VMOVUPS(operand.Mem{Base: first, Index: b, Scale: floatBytes, Disp: j * laneBytes}, row[j])
		}
		masks := c.rows(len(acc), odd, rowOdd)
		for m, at := range c.rows(len(acc), a, rowA) {
			factor, mask := c.register(), c.K()
			c.KMOVW(masks[m], mask)
			c.VMOVUPS(at, factor)
			for j := range acc[m] {
				c.VBLENDMPS(row[j+1], row[j], mask, chosen)
				c.VFMADD231PS(chosen, factor, acc[m][j])
			}
		}
	})
}

// eachTerm loops over the terms that are left. The body gets the places in A and B of a term.
func (c *contraction) eachTerm(body func(a, b reg.GPVirtual)) {
	loop, done := c.label("loop"), c.label("done")
	c.TESTQ(c.left, c.left)
	c.JZ(operand.LabelRef(done))

	c.Label(loop)
	a, b := c.GP64(), c.GP64()
	c.MOVLQSX(operand.Mem{Base: c.behind, Index: c.left, Scale: 1}, a)
	c.MOVLQSX(operand.Mem{Base: c.behind, Index: c.left, Scale: 1, Disp: termBytes / 2}, b)
	body(a, b)
	c.ADDQ(operand.U8(termBytes), c.left)
	c.JNZ(operand.LabelRef(loop))
	c.Label(done)
}

// multiply adds the terms to the accumulators.
func (c *contraction) multiply(acc [][]reg.VecVirtual, places []place, offsets []int) {
	baseB, _ := c.matrix("B")
	columns := c.pointers(baseB, "B", places)
	baseA, rowA := c.matrix("A")
	c.eachTerm(func(a, b reg.GPVirtual) {
		c.LEAQ(operand.Mem{Base: baseA, Index: a, Scale: floatBytes}, a)
		var row []reg.VecVirtual
		for _, p := range columns {
			for _, offset := range offsets {
				row = append(row, c.register())
				c.VMOVUPS(operand.Mem{Base: p, Index: b, Scale: floatBytes, Disp: offset}, row[len(row)-1])
			}
		}
		for m, at := range c.rows(len(acc), a, rowA) {
			factor := c.register()
			if c.lanes {
				c.VMOVUPS(at, factor)
			} else {
				c.VBROADCASTSS(at, factor)
			}
			for j := range row {
				c.multiplyAdd(row[j], factor, acc[m][j])
			}
		}
	})
}

// transposeAVX2 loads each register with four floats of a row and four floats of the row four below
// it. The remaining work is to transpose squares of 4×4 within the halves.
func (k *kernels) transposeAVX2() {
	k.kernel("transposeAVX2", "func(dst []float32, dstRow int, src []float32, srcRow int)",
		"does the same as Transpose without its checks.")
	dst, src, dstRow, srcRow := k.base("dst"), k.base("src"), k.argument("dstRow"), k.argument("srcRow")
	k.SHLQ(operand.U8(2), dstRow)
	k.SHLQ(operand.U8(2), srcRow)
	const square = 4
	var from [4][]operand.Mem // the rows of src by fours
	for i := range from {
		from[i] = k.rows(square, src, srcRow)
		if i < 3 {
			next := k.GP64()
			k.LEAQ(operand.Mem{Base: src, Index: srcRow, Scale: square}, next)
			src = next
		}
	}
	for j := range 4 { // columns of src and rows of dst by fours
		to := k.rows(square, dst, dstRow)
		for i := range 2 {
			var x, t [square]reg.VecVirtual
			for m := range square {
				x[m], t[m] = k.YMM(), k.YMM()
				k.VBROADCASTF128(from[2*i][m].Offset(j*square*floatBytes), x[m])
				k.VINSERTF128(operand.U8(1), from[2*i+1][m].Offset(j*square*floatBytes), x[m], x[m])
			}
			k.VUNPCKLPS(x[1], x[0], t[0])
			k.VUNPCKHPS(x[1], x[0], t[1])
			k.VUNPCKLPS(x[3], x[2], t[2])
			k.VUNPCKHPS(x[3], x[2], t[3])
			for m := range square {
				y, pairs := k.YMM(), []uint8{0x44, 0xee}[m%2] // the low or the high ones
				k.VSHUFPS(operand.U8(pairs), t[m/2+2], t[m/2], y)
				k.VMOVUPS(y, to[m].Offset(i*ymmBytes))
			}
		}
		k.LEAQ(operand.Mem{Base: dst, Index: dstRow, Scale: square}, dst)
	}
	k.end()
}

// prefetch loads the cache lines of rows.
func (k *kernels) prefetch() {
	k.kernel("prefetchRows", "func(at *byte, row, rows, bytes int)",
		"loads rows of memory, bytes long and row bytes apart, into the first-level cache.")
	at, row, rows, bytes := k.argument("at"), k.argument("row"), k.argument("rows"), k.argument("bytes")
	k.Label("row")
	p, end := k.GP64(), k.GP64()
	k.MOVQ(at, p)
	k.LEAQ(operand.Mem{Base: at, Index: bytes, Scale: 1}, end)
	k.Label("line")
	k.PREFETCHT0(operand.Mem{Base: p})
	k.ADDQ(operand.U8(64), p)
	k.CMPQ(p, end)
	k.JLT(operand.LabelRef("line"))
	k.ADDQ(row, at)
	k.DECQ(rows)
	k.JNZ(operand.LabelRef("row"))
	k.RET()
}

// peakFMA runs count independent multiply-adds on registers in each round.
func (k *kernels) peakFMA(name string, register func() reg.VecVirtual, count int) {
	k.kernel(name, "func(rounds int) (flops int)",
		"runs rounds > 0 of independent multiply-adds on registers and returns the floating-point operations of a "+
			"round.")
	left := k.argument("rounds")
	acc := make([]reg.VecVirtual, count)
	for i := range acc {
		acc[i] = register()
		k.VXORPS(acc[i], acc[i], acc[i])
	}
	factor := register()
	k.VXORPS(factor, factor, factor)
	k.Label("loop")
	for _, a := range acc {
		k.VFMADD231PS(factor, factor, a)
	}
	k.DECQ(left)
	k.JNZ(operand.LabelRef("loop"))
	k.MOVQ(operand.U32(2*count*int(factor.Size())/floatBytes), left)
	k.Store(left, k.Return("flops"))
	k.end()
}
