package main

func (n *neon) end() { n.text.WriteString("\tRET\n") }

func (n *neon) relu() {
	x := n.load("x_base")
	n.vectors("x", func() {
		v, below := n.read(n.vector(), x, 0), n.vector()
		n.do("fcmlt.4s", below, v)
		n.do("bic.16b", v, v, below)
		n.write(v, x, 0)
		n.advance(laneBytes, x)
	})
}

func (n *neon) reluBack() {
	d, y := n.load("d_base"), n.load("y_base")
	n.vectors("d", func() {
		v, out := n.read(n.vector(), d, 0), n.read(n.vector(), y, 0)
		n.do("fcmle.4s", out, out)
		n.do("bic.16b", v, v, out)
		n.write(v, d, 0)
		n.advance(laneBytes, d, y)
	})
}

// withConstant applies the instruction name to source and element i of a table of float32.
func (n *neon) withConstant(name string, result, source block, table gp, i int) {
	n.scope(func() { n.do(name, result, source, n.splat(table, i)) })
}

func (n *neon) tanh() {
	x, c := n.load("x_base"), n.table("expTable")
	n.vectors("x", func() {
		v := n.read(n.vector(), x, 0)
		n.clamp(v, c, 0)
		n.do("fadd.4s", v, v, v)
		r, k := n.expm1(v, c)
		n.timesPowerOf2(r, k, c)
		n.withConstant("fsub.4s", k, k, c, 13)
		n.do("fadd.4s", r, r, k)
		n.withConstant("fadd.4s", k, r, c, 14)
		n.do("fdiv.4s", r, r, k)
		n.write(r, x, 0)
		n.advance(laneBytes, x)
	})
}

func (n *neon) exp() {
	x, c := n.load("x_base"), n.table("expTable")
	n.vectors("x", func() {
		v, half := n.read(n.vector(), x, 0), n.vector()
		n.clamp(v, c, 2)
		r, k := n.expm1(v, c)
		n.withConstant("fadd.4s", r, r, c, 13)
		n.shift("sshr.4s", half, k, 1)
		n.do("sub.4s", k, k, half)
		n.timesPowerOf2(r, half, c)
		n.timesPowerOf2(r, k, c)
		n.write(r, x, 0)
		n.advance(laneBytes, x)
	})
}

// clamp limits v to the elements i and i+1 of a table. NaN stays NaN.
func (n *neon) clamp(v block, table gp, i int) {
	n.withConstant("fmax.4s", v, v, table, i)
	n.withConstant("fmin.4s", v, v, table, i+1)
}

// horner returns c[last] z^k + … + c[first], unfused, for the numbers c of a table.
func (n *neon) horner(z block, table gp, first, last int) block {
	p := n.block(len(z))
	n.withConstant("fmul.4s", p, z, table, last)
	n.withConstant("fadd.4s", p, p, table, last-1)
	for i := last - 2; i >= first; i-- {
		n.do("fmul.4s", p, p, z)
		n.withConstant("fadd.4s", p, p, table, i)
	}
	return p
}

// expm1 returns r and the integers k with e^v = 2^k·(1+r). It overwrites v. c is expTable.
func (n *neon) expm1(v block, c gp) (r, k block) {
	k = n.vector()
	n.withConstant("fmul.4s", k, v, c, 4)
	n.withConstant("fadd.4s", k, k, c, 5)
	n.scope(func() {
		whole, part := n.vector(), n.vector()
		n.withConstant("fsub.4s", whole, k, c, 5)
		for _, ln2 := range []int{6, 7} {
			n.withConstant("fmul.4s", part, whole, c, ln2)
			n.do("fsub.4s", v, v, part)
		}
	})
	r = n.horner(v, c, 8, 12)
	n.scope(func() {
		square := n.vector()
		n.do("fmul.4s", square, v, v)
		n.do("fmul.4s", r, r, square)
	})
	n.do("fadd.4s", r, r, v)
	n.withConstant("sub.4s", k, k, c, 5) // the difference of the bits is the integer
	return r, k
}

// timesPowerOf2 turns the integers k into 2^k and multiplies r by them.
func (n *neon) timesPowerOf2(r, k block, c gp) {
	n.shift("shl.4s", k, k, 23)
	n.withConstant("add.4s", k, k, c, 13)
	n.do("fmul.4s", r, r, k)
}

func (n *neon) tanhBack() {
	d, y, c := n.load("d_base"), n.load("y_base"), n.table("expTable")
	one := n.splat(c, 13)
	n.vectors("d", func() {
		v, out := n.read(n.vector(), d, 0), n.read(n.vector(), y, 0)
		n.do("fmul.4s", out, out, out)
		n.do("fsub.4s", out, one, out)
		n.do("fmul.4s", v, v, out)
		n.write(v, d, 0)
		n.advance(laneBytes, d, y)
	})
}

// plane loops over the pixels of a plane p whose rows begin at small, and of a plane of twice the
// size at big, whose rows are bigRow floats apart. The body gets the pointers to the pixel, and to
// the upper and the lower two of its window.
func (n *neon) plane(small, big, bigRow gp, body func(pixel, upper, lower gp)) {
	h, row := n.load("p_H"), n.load("p_Row")
	n.scale(2, row, bigRow)
	n.loop(h, func() {
		pixel, upper, lower := n.gp(), n.gp(), n.gp()
		n.op("MOVD", small, pixel)
		n.op("MOVD", big, upper)
		n.op("ADD", bigRow, big, lower)
		n.op("ADD", bigRow, lower, big)
		n.op("ADD", row, small)
		n.loop(n.load("p_W"), func() {
			body(pixel, upper, lower)
			n.advance(laneBytes, pixel)
			n.advance(2*laneBytes, upper, lower)
		})
	})
}

// corner is a vector of a window.
type corner struct {
	at    gp
	bytes int
}

// window returns the four vectors of a window.
func window(upper, lower gp) [4]corner {
	return [4]corner{{upper, 0}, {upper, laneBytes}, {lower, 0}, {lower, laneBytes}}
}

// integers returns registers filled with 0, 1, 2, 3.
func (n *neon) integers() [4]block {
	var r [4]block
	for i := range r {
		r[i] = n.splatBits(uint32(i))
	}
	return r
}

func (n *neon) maxPool() {
	dst, src, srcRow, which := n.load("dst_base"), n.load("src_base"), n.load("srcRow"), n.load("which_base")
	number := n.integers()
	n.plane(dst, src, srcRow, func(pixel, upper, lower gp) {
		for i := range quads {
			n.scope(func() { n.maxPoolQuad(pixel, upper, lower, which, number, i*vecBytes) })
		}
		n.advance(laneBytes, which)
	})
}

// maxPoolQuad computes the maximum of a window, and its position, for four lanes.
func (n *neon) maxPoolQuad(pixel, upper, lower, which gp, number [4]block, bytes int) {
	var v [4]block
	for j, c := range window(upper, lower) {
		v[j] = n.read(n.block(1), c.at, c.bytes+bytes)
	}
	best, arg, more, numbers := n.copied(v[0]), n.copied(number[0]), n.block(1), n.block(1)
	for j := 1; j < 4; j++ {
		n.do("fcmgt.4s", more, v[j], best)
		n.do("bit.16b", best, v[j], more)
		n.do("bit.16b", arg, number[j], more)
	}
	n.do("fcmeq.4s", numbers, v[0], v[0]) // false with a NaN
	for j := 1; j < 4; j++ {
		n.do("fcmeq.4s", more, v[j], v[j])
		n.do("and.16b", numbers, numbers, more)
	}
	n.do("orn.16b", best, best, numbers)
	n.write(best, pixel, bytes)
	n.write(arg, which, bytes)
}

func (n *neon) maxPoolBack() {
	dst, dstRow, d, which := n.load("dst_base"), n.load("dstRow"), n.load("d_base"), n.load("which_base")
	number := n.integers()
	n.plane(d, dst, dstRow, func(pixel, upper, lower gp) {
		v, w, out := n.read(n.vector(), pixel, 0), n.read(n.vector(), which, 0), n.vector()
		for j, c := range window(upper, lower) {
			n.do("cmeq.4s", out, w, number[j])
			n.do("and.16b", out, out, v)
			n.write(out, c.at, c.bytes)
		}
		n.advance(laneBytes, which)
	})
}

// quarter fills a register with 2^-2, whose exponent is 125 in float32.
func (n *neon) quarter() block { return n.splatBits(125 << 23) }

func (n *neon) avgPool() {
	dst, src, srcRow, quarter := n.load("dst_base"), n.load("src_base"), n.load("srcRow"), n.quarter()
	n.plane(dst, src, srcRow, func(pixel, upper, lower gp) {
		var v [4]block
		for j, c := range window(upper, lower) {
			v[j] = n.read(n.vector(), c.at, c.bytes)
		}
		n.do("fadd.4s", v[0], v[0], v[1])
		n.do("fadd.4s", v[2], v[2], v[3])
		n.do("fadd.4s", v[0], v[0], v[2])
		n.do("fmul.4s", v[0], v[0], quarter)
		n.write(v[0], pixel, 0)
	})
}

func (n *neon) avgPoolBack() {
	dst, dstRow, d, quarter := n.load("dst_base"), n.load("dstRow"), n.load("d_base"), n.quarter()
	n.plane(d, dst, dstRow, func(pixel, upper, lower gp) {
		v := n.read(n.vector(), pixel, 0)
		n.do("fmul.4s", v, v, quarter)
		for _, c := range window(upper, lower) {
			n.write(v, c.at, c.bytes)
		}
	})
}

// inTurn loops over the vectors at x and passes each to the next of turns bodies in rotation: the
// sums of several kernels are over the vectors modulo turns, a power of 2.
func (n *neon) inTurn(slice string, x gp, turns int, body func(turn, bytes int)) {
	left, rounds := n.load(slice+"_len"), n.gp()
	n.op("LSR", "$4", left)
	n.op("LSR", immediate(map[int]int{2: 1, 4: 2}[turns]), left, rounds)
	n.loop(rounds, func() {
		for turn := range turns {
			n.scope(func() { body(turn, turn*laneBytes) })
		}
		n.advance(turns*laneBytes, x)
	})
	n.op("AND", immediate(turns-1), left)
	done := n.label("done")
	for turn := range turns - 1 {
		n.op("CBZ", left, done)
		n.scope(func() { body(turn, turn*laneBytes) })
		n.op("SUB", "$1", left)
	}
	n.place(done)
}

func (n *neon) laneSum() {
	acc, x := n.load("acc"), n.load("x_base")
	var sum [4]block
	for t := range sum {
		sum[t] = n.read(n.vector(), acc, t*laneBytes)
	}
	n.inTurn("x", x, len(sum), func(turn, bytes int) {
		n.do("fadd.4s", sum[turn], sum[turn], n.read(n.vector(), x, bytes))
	})
	for t := range sum {
		n.write(sum[t], acc, t*laneBytes)
	}
}

// wide returns the float32 of a block as float64.
func (n *neon) wide(b block) block {
	w := n.block(2 * len(b))
	for i := range b {
		n.do("fcvtl.2d", w[2*i:2*i+1], b[i:i+1])
		n.do("fcvtl2.2d", w[2*i+1:2*i+2], b[i:i+1])
	}
	return w
}

// narrow rounds the float64 of a block to float32, into a block of half the size.
func (n *neon) narrow(to, b block) {
	for i := range to {
		n.do("fcvtn.2s", to[i:i+1], b[2*i:2*i+1])
		n.do("fcvtn2.4s", to[i:i+1], b[2*i+1:2*i+2])
	}
}

// squares returns the float64 sums of the squares of the lanes. It sums even and odd vectors
// separately, and then adds the two. Squares of float32 are exact in float64, so a fused operation
// rounds like two operations.
func (n *neon) squares(x gp) block {
	sum := [2]block{n.zeros(2 * quads), n.zeros(2 * quads)}
	n.inTurn("x", x, len(sum), func(turn, bytes int) {
		v := n.wide(n.read(n.vector(), x, bytes))
		n.do("fmla.2d", sum[turn], v, v)
	})
	n.do("fadd.2d", sum[0], sum[0], sum[1])
	return sum[0]
}

func (n *neon) laneSumSquares() {
	acc := n.load("acc")
	sum := n.squares(n.load("x_base"))
	n.scope(func() {
		before := n.read(n.block(len(sum)), acc, 0)
		n.do("fadd.2d", sum, before, sum)
	})
	n.write(sum, acc, 0)
}

func (n *neon) sumSquares() {
	n.op("FMOVD", n.sumWide(n.squares(n.load("x_base"))), n.operand("ret"))
}

// sumWide adds the float64 of the registers by halves, and overwrites them.
func (n *neon) sumWide(sum block) vec {
	for half := len(sum) / 2; half > 0; half /= 2 {
		n.do("fadd.2d", sum[:half], sum[:half], sum[half:2*half])
	}
	n.do("faddp.d", sum[:1], sum[:1])
	return sum[0]
}

func (n *neon) laneScale() {
	dst, dstRow, x := n.load("dst_base"), n.load("dstRow"), n.load("x_base")
	factor := n.read(n.vector(), n.load("f"), 0)
	n.scale(2, dstRow)
	n.vectors("x", func() {
		v := n.read(n.vector(), x, 0)
		n.do("fmul.4s", v, factor, v)
		n.write(v, dst, 0)
		n.advance(laneBytes, x)
		n.op("ADD", dstRow, dst)
	})
}

func (n *neon) spread() {
	dst, dstRow, column, src := n.load("dst_base"), n.load("dstRow"), n.load("dstColumn"), n.load("src_base")
	row := n.load("p_Row")
	n.scale(2, dstRow, column, row)
	n.loop(n.load("p_H"), func() {
		to, from := n.gp(), n.gp()
		n.op("MOVD", dst, to)
		n.op("MOVD", src, from)
		n.loop(n.load("p_W"), func() {
			n.write(n.read(n.vector(), from, 0), to, 0)
			n.advance(laneBytes, from)
			n.op("ADD", column, to)
		})
		n.op("ADD", dstRow, dst)
		n.op("ADD", row, src)
	})
}

func (n *neon) axpyTo() {
	factor, x, y, dst := n.splatArgument("alpha"), n.load("x_base"), n.load("y_base"), n.load("dst_base")
	n.vectors("x", func() {
		v, sum := n.read(n.vector(), x, 0), n.read(n.vector(), y, 0)
		n.do("fmul.4s", v, factor, v)
		n.do("fadd.4s", sum, sum, v)
		n.write(sum, dst, 0)
		n.advance(laneBytes, x, y, dst)
	})
}

func (n *neon) fromBytes() {
	dst, src, scale, shift := n.load("dst_base"), n.load("src_base"), n.splatArgument("scale"), n.splatArgument("shift")
	n.vectors("dst", func() {
		bytes, half, v := n.read(n.block(1), src, 0), n.block(2), n.vector()
		n.do("ushll.8h", half[:1], bytes)
		n.do("ushll2.8h", half[1:], bytes)
		for i := range half {
			n.do("ushll.4s", v[2*i:2*i+1], half[i:i+1])
			n.do("ushll2.4s", v[2*i+1:2*i+2], half[i:i+1])
		}
		n.do("scvtf.4s", v, v)
		n.do("fmul.4s", v, scale, v)
		n.do("fadd.4s", v, v, shift)
		n.write(v, dst, 0)
		n.advance(laneBytes, dst)
		n.advance(laneBytes/4, src)
	})
}

func (n *neon) laneAxpyWide() {
	x, y := n.load("x_base"), n.load("y_base")
	factor := n.read(n.vector(), n.load("f"), 0)
	n.vectors("x", func() {
		v, sum := n.read(n.vector(), x, 0), n.read(n.vector(), y, 0)
		n.do("fmul.4s", v, factor, v)
		w := n.wide(v)
		n.do("fadd.2d", w[:quads], w[:quads], w[quads:])
		n.do("fadd.2d", sum, sum, w[:quads])
		n.write(sum, y, 0)
		n.advance(laneBytes, x, y)
	})
}

// tileRows loops over the vectors of the rows of a tile x, xRow bytes apart, and of dst.
func (n *neon) tileRows(dst, dstRow, x gp, xRow int, body func(to, from gp)) {
	columns := n.load("vectors")
	n.loop(n.load("rows"), func() {
		count, to, from := n.gp(), n.gp(), n.gp()
		n.op("MOVD", columns, count)
		n.op("MOVD", dst, to)
		n.op("MOVD", x, from)
		n.loop(count, func() { body(to, from) })
		n.op("ADD", dstRow, dst)
		n.advance(xRow, x)
	})
}

func (n *neon) addWide() {
	dst, dstRow, x := n.load("dst_base"), n.load("dstRow"), n.load("x_base")
	n.scale(3, dstRow)
	n.tileRows(dst, dstRow, x, tileCols*laneBytes, func(to, from gp) {
		v := n.wide(n.read(n.vector(), from, 0))
		sum := n.read(n.block(2*quads), to, 0)
		n.do("fadd.2d", sum, sum, v)
		n.write(sum, to, 0)
		n.advance(laneBytes, from)
		n.advance(2*laneBytes, to)
	})
}

// addNarrowVector adds 16 float64 to 16 floats.
func (n *neon) addNarrowVector(dst, x gp) {
	v := n.read(n.vector(), dst, 0)
	w, sum := n.wide(v), n.read(n.block(2*quads), x, 0)
	n.do("fadd.2d", sum, sum, w)
	n.narrow(v, sum)
	n.write(v, dst, 0)
	n.advance(laneBytes, dst)
	n.advance(2*laneBytes, x)
}

func (n *neon) addNarrow() {
	dst, x := n.load("dst_base"), n.load("x_base")
	n.vectors("dst", func() { n.addNarrowVector(dst, x) })
}

func (n *neon) narrowTile() {
	dst, dstRow, x := n.load("dst_base"), n.load("dstRow"), n.load("x_base")
	n.scale(2, dstRow)
	n.tileRows(dst, dstRow, x, 2*tileCols*laneBytes, n.addNarrowVector)
}

func (n *neon) axpyWide() {
	factor, x, y := n.splatWideArgument("alpha"), n.load("x_base"), n.load("y_base")
	n.vectors("x", func() {
		v := n.wide(n.read(n.vector(), x, 0))
		sum := n.read(n.block(2*quads), y, 0)
		n.do("fmul.2d", v, factor, v)
		n.do("fadd.2d", sum, sum, v)
		n.write(sum, y, 0)
		n.advance(laneBytes, x)
		n.advance(2*laneBytes, y)
	})
}
