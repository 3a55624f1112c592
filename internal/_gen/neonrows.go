package main

import "fmt"

// wideVectors is the number of registers for 8 float64.
const wideVectors = laneBytes / vecBytes

// row returns the address of a row. Its number is the given number of bytes after numbers.
func (n *neon) row(x, stride, numbers gp, bytes int) gp {
	p := n.gp()
	n.op("MOVW", at(numbers, bytes), p)
	n.op("MUL", stride, p)
	n.op("ADD", x, p)
	return p
}

// passes writes a loop for each of numbers, in order. The loop repeats body(number) as long as at
// least number are left, and subtracts number each time.
func (n *neon) passes(left gp, numbers []int, body func(number int)) {
	for _, number := range numbers {
		again, done := n.label(fmt.Sprintf("by%d", number)), n.label("done")
		n.place(again)
		n.op("CMP", immediate(number), left)
		n.op("BLT", done)
		n.scope(func() { body(number) })
		n.op("SUB", immediate(number), left)
		n.op("B", again)
		n.place(done)
	}
}

func (n *neon) rowDots() {
	z, x, stride, numbers, w := n.load("z_base"), n.load("x_base"), n.load("stride"), n.load("rows_base"),
		n.load("w_base")
	columns := n.gp()
	n.op("LSR", "$3", stride, columns)
	n.scale(2, stride)
	n.passes(n.load("rows_len"), []int{rowsAtOnce, 1}, func(count int) {
		n.dots(count, z, x, stride, numbers, w, columns)
		n.advance(8*count, z)
		n.advance(4*count, numbers)
	})
}

// dots sets the first count elements of z to the products of w with the first rows. A product of
// two float32 is exact in float64, so a fused operation rounds like two operations.
func (n *neon) dots(count int, z, x, stride, numbers, w, columns gp) {
	var rows []gp
	var sums []block
	for e := range count {
		rows = append(rows, n.row(x, stride, numbers, 4*e))
		sums = append(sums, n.zeros(wideVectors))
	}
	weight, left := n.gp(), n.gp()
	n.op("MOVD", w, weight)
	n.op("MOVD", columns, left)
	n.loop(left, func() {
		weights := n.read(n.block(wideVectors), weight, 0)
		for e, row := range rows {
			n.scope(func() { n.do("fmla.2d", sums[e], weights, n.wide(n.read(n.block(wideVectors/2), row, 0))) })
			n.advance(laneBytes/2, row)
		}
		n.advance(laneBytes, weight)
	})
	for e := range sums {
		n.op("FMOVD", n.sumWide(sums[e]), at(z, 8*e))
	}
}

// addRows processes the columns in passes of 32, 16 and 8. It keeps their sums as integers: between
// 2^52 and 2^53 units, the bits of a float64 count units.
func (n *neon) addRows() {
	sum, x, stride, numbers, f := n.load("sum_base"), n.load("x_base"), n.load("stride"), n.load("rows_base"),
		n.load("f_base")
	magic, start := n.splatWideArgument("magic"), n.splatWideArgument("start")
	left := n.load("sum_len")
	n.op("LSR", "$3", left)
	n.scale(2, stride)
	n.passes(left, []int{4, 2, 1}, func(count int) {
		sums, number, factor := n.block(count*wideVectors), n.gp(), n.gp()
		n.do("orr.16b", sums, start, start)
		n.op("MOVD", numbers, number)
		n.op("MOVD", f, factor)
		n.loop(n.load("rows_len"), func() {
			row, by := n.row(x, stride, number, 0), n.splatWide(factor, 0)
			for i := range count {
				n.scope(func() {
					v := n.wide(n.read(n.block(wideVectors/2), row, i*laneBytes/2))
					n.do("fmul.2d", v, by, v)
					n.do("fadd.2d", v, v, magic)
					part := sums[i*wideVectors:][:wideVectors]
					n.do("add.2d", part, part, v)
				})
			}
			n.advance(4, number)
			n.advance(8, factor)
		})
		n.do("fsub.2d", sums, sums, magic)
		for i := range count {
			part := sums[i*wideVectors:][:wideVectors]
			n.scope(func() {
				before := n.read(n.block(wideVectors), sum, i*laneBytes)
				n.do("fadd.2d", part, before, part)
			})
			n.write(part, sum, i*laneBytes)
		}
		n.advance(count*laneBytes, sum)
		n.advance(count*laneBytes/2, x)
	})
}

func (n *neon) expWide() {
	x, left, table := n.load("x_base"), n.load("x_len"), n.table("expWideTable")
	with := func(name string, result, source block, i int) {
		n.scope(func() { n.do(name, result, source, n.splatWide(table, i)) })
	}
	n.op("LSR", "$3", left)
	n.loop(left, func() {
		v := n.read(n.block(wideVectors), x, 0)
		k, power := n.block(wideVectors), n.block(wideVectors)
		with("fmax.2d", v, v, expLow)
		with("fmin.2d", v, v, expHigh)
		with("fmul.2d", k, v, log2E)
		with("fadd.2d", k, k, roundToInteger)
		n.scope(func() {
			whole, part := power, n.block(wideVectors)
			with("fsub.2d", whole, k, roundToInteger)
			for _, ln2 := range []int{ln2High, ln2Low} {
				with("fmul.2d", part, whole, ln2)
				n.do("fsub.2d", v, v, part)
			}
		})
		n.do("fmul.2d", power, v, v)
		sum := n.expPolynomial(v, power, with)
		n.do("fmul.2d", power, v, v) // r² again
		n.do("fmul.2d", sum, sum, power)
		n.do("fadd.2d", sum, sum, v)
		with("fadd.2d", sum, sum, oneWide)
		with("add.2d", k, k, expBias)
		n.shift("shl.2d", k, k, 52)
		n.do("fmul.2d", sum, sum, k)
		n.write(sum, x, 0)
		n.advance(laneBytes, x)
	})
}

// expPolynomial returns the polynomial of expWidePortable. power must hold the square of v and is
// overwritten.
func (n *neon) expPolynomial(v, power block, with func(name string, result, source block, i int)) block {
	pair := func(i int) block { // c[2i] + c[2i+1]·v
		p := n.block(wideVectors)
		with("fmul.2d", p, v, expCoefficients+2*i+1)
		with("fadd.2d", p, p, expCoefficients+2*i)
		return p
	}
	four := func(i int) block { // pair 2i + v² times pair 2i+1
		low := pair(2 * i)
		n.scope(func() {
			high := pair(2*i + 1)
			n.do("fmul.2d", high, high, power)
			n.do("fadd.2d", low, low, high)
		})
		return low
	}
	sum := four(0)
	second, third := four(1), four(2)
	n.do("fmul.2d", power, power, power)
	n.do("fmul.2d", second, second, power)
	n.do("fadd.2d", sum, sum, second)
	n.do("fmul.2d", power, power, power)
	n.do("fmul.2d", third, third, power)
	n.do("fadd.2d", sum, sum, third)
	return sum
}
