package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// rowsAtOnce is the number of rows that a product processes at a time, so that their sums need not
// wait for each other.
const rowsAtOnce = 4

// row returns the address of the row whose number is at number. Rows are stride bytes apart.
func (s simd) row(x, stride reg.GPVirtual, number Mem) reg.GPVirtual {
	p := s.GP64()
	s.MOVLQSX(number, p)
	s.IMULQ(stride, p)
	s.ADDQ(x, p)
	return p
}

// narrowRegister is the size of as many float32 as a register has float64.
func (s simd) narrowRegister() int { return s.bytes / 2 }

// widenRow processes whole vectors. Without masks it leaves out the elements after the whole
// vectors of x.
func (s simd) widenRow() {
	dst, x, n := s.base("dst"), s.base("x"), s.length("x")
	s.SHRQ(Imm(3), n)
	s.loop("next", n, func() {
		for i := range laneBytes / s.bytes {
			v := s.reg()
			s.VCVTPS2PD(Mem{Base: x, Disp: i * s.narrowRegister()}, v)
			s.VMOVUPD(v, s.at(dst, i))
		}
		s.ADDQ(Imm(laneBytes/2), x)
		s.ADDQ(Imm(laneBytes), dst)
	})
	if s.wide() {
		left, v := s.length("x"), s.reg()
		s.ANDQ(Imm(7), left)
		s.JZ(LabelRef("done"))
		s.VMOVUPS_Z(Mem{Base: x}, s.lowest(left), v.AsY())
		s.VCVTPS2PD(v.AsY(), v)
		s.VMOVUPD(v, s.at(dst, 0))
		s.Label("done")
	}
}

// vectorsAtOnce is the number of parameter vectors, or of sums, that are processed at a time, so
// that a row is converted once for all of them. It must be the same in rowVectors in package f32.
func (s simd) vectorsAtOnce() int {
	if s.wide() {
		return 5
	}
	return 3
}

// eachCount writes the body for every number of vectors. The argument vectors says which is used.
func (s simd) eachCount(name string, body func(label string, vectors int)) {
	for n := range s.vectorsAtOnce() {
		label := fmt.Sprintf("%s%d", name, n+1)
		s.CMPQ(s.argument("vectors"), Imm(uint64(n+1)))
		s.JNE(LabelRef(label + "Done"))
		body(label, n+1)
		s.JMP(LabelRef("end"))
		s.Label(label + "Done")
	}
	s.Label("end")
}

// apart is where vectors begin that have equal distances.
type apart struct{ first, distance, distance3 reg.GPVirtual }

// vectorsAt returns where n vectors begin. They are distance bytes apart.
func (s simd) vectorsAt(first, distance reg.GPVirtual, n int) apart {
	v := apart{first, distance, distance}
	if n > 3 {
		v.distance3 = s.GP64()
		s.LEAQ(Mem{Base: distance, Index: distance, Scale: 2}, v.distance3)
	}
	return v
}

// at returns an address in vector i ≤ 4.
func (v apart) at(i, disp int) Mem {
	m := Mem{Base: v.first, Disp: disp}
	switch i {
	case 0:
	case 3:
		m.Index, m.Scale = v.distance3, 1
	default:
		m.Index, m.Scale = v.distance, uint8(i)
	}
	return m
}

func (s simd) rowDots() {
	s.eachCount("dots", func(label string, vectors int) {
		z, zRow := s.base("z"), s.argument("zRow")
		stride, numbers := s.argument("stride"), s.base("rows")
		left := s.length("rows")
		s.SHLQ(Imm(2), stride)
		s.SHLQ(Imm(3), zRow)
		some := rowsAtOnce
		if !s.wide() && vectors > 1 {
			some = 2 // there are only 16 registers
		}
		s.passes(label, left, []int{some, 1}, func(label string, n int) {
			s.dots(label, n, vectors, s.vectorsAt(z, zRow, vectors), stride, numbers)
			s.ADDQ(Imm(uint64(8*n)), z)
			s.ADDQ(Imm(uint64(4*n)), numbers)
		})
	})
}

// dots sets the first n elements of each vector of z to the products of the vectors of w with the
// first n rows.
func (s simd) dots(label string, n, vectors int, z apart, stride, numbers reg.GPVirtual) {
	parts := laneBytes / s.bytes // registers that hold 8 float64
	x, wide := s.base("x"), s.GP64()
	var row []reg.GPVirtual
	sums := make([][][]reg.VecVirtual, n)
	for e := range n {
		row = append(row, s.row(x, stride, Mem{Base: numbers, Disp: 4 * e}))
		for range vectors {
			var sum []reg.VecVirtual
			for range parts {
				sum = append(sum, s.zero())
			}
			sums[e] = append(sums[e], sum)
		}
	}
	s.LEAQ(Mem{Base: stride, Index: stride, Scale: 1}, wide)
	w := s.vectorsAt(s.base("w"), wide, vectors)
	at := s.GP64()
	s.XORQ(at, at)
	s.Label(label + "Columns")
	for i := range parts {
		var weights []reg.VecVirtual
		for k := range vectors {
			weights = append(weights, s.load(w.at(k, i*s.bytes)))
		}
		for e := range n {
			v := s.reg()
			s.VCVTPS2PD(Mem{Base: row[e], Index: at, Scale: 1, Disp: i * s.narrowRegister()}, v)
			for k := range vectors {
				s.VFMADD231PD(weights[k], v, sums[e][k][i])
			}
		}
	}
	s.ADDQ(Imm(laneBytes), w.first)
	s.ADDQ(Imm(laneBytes/2), at)
	s.CMPQ(at, stride)
	s.JL(LabelRef(label + "Columns"))
	for e := range n {
		for k := range vectors {
			s.VMOVSD(s.sumWide(sums[e][k]), z.at(k, 8*e))
		}
	}
}

// broadcastWide fills a register with a float64.
func (s simd) broadcastWide(m Mem) reg.VecVirtual {
	r := s.reg()
	s.VBROADCASTSD(m, r)
	return r
}

func (s simd) wideArgument(name string) reg.VecVirtual {
	return s.broadcastWide(s.address(s.Param(name)))
}

// passes writes a loop for each of numbers, in order. The loop repeats body(number) as long as at
// least number are left, and subtracts number each time.
func (s simd) passes(label string, left reg.GPVirtual, numbers []int, body func(label string, number int)) {
	for _, n := range numbers {
		label := fmt.Sprintf("%sBy%d", label, n)
		s.Label(label)
		s.CMPQ(left, Imm(uint64(n)))
		s.JL(LabelRef(label + "Done"))
		body(label, n)
		s.SUBQ(Imm(uint64(n)), left)
		s.JMP(LabelRef(label))
		s.Label(label + "Done")
	}
}

// addRows processes the columns in passes of some registers. It keeps their sums as integers:
// between 2^52 and 2^53 units, the bits of a float64 count units.
func (s simd) addRows() {
	s.eachCount("add", func(label string, vectors int) {
		sum, x, stride := s.base("sum"), s.base("x"), s.argument("stride")
		left, magic := s.GP64(), s.wideArgument("magic")
		s.MOVQ(stride, left)
		s.SHRQ(Imm(uint64(map[int]int{32: 2, 64: 3}[s.bytes])), left)
		s.SHLQ(Imm(2), stride)
		passes := []int{4, 1}
		switch {
		case vectors == 1:
			passes = []int{8, 4, 2, 1}
		case !s.wide():
			passes = []int{2, 1}
		}
		s.passes(label, left, passes, func(label string, n int) {
			s.addPass(label, n, vectors, sum, x, stride, magic)
			s.ADDQ(U32(uint32(n*s.bytes)), sum)
			s.ADDQ(U32(uint32(n*s.narrowRegister())), x)
		})
	})
}

// addPass adds to n registers of columns of each vector of sum.
func (s simd) addPass(label string, n, vectors int, sum, x, stride reg.GPVirtual, magic reg.VecVirtual) {
	sums := make([][]reg.VecVirtual, vectors)
	for k := range sums {
		for range n {
			sums[k] = append(sums[k], s.wideArgument("start"))
		}
	}
	number, fRow := s.base("rows"), s.argument("fRow")
	s.SHLQ(Imm(3), fRow)
	factor := s.vectorsAt(s.base("f"), fRow, vectors)
	s.loop(label+"Row", s.length("rows"), func() {
		row := s.row(x, stride, Mem{Base: number})
		var columns []reg.VecVirtual
		for i := range n {
			v := s.reg()
			s.VCVTPS2PD(Mem{Base: row, Disp: i * s.narrowRegister()}, v)
			columns = append(columns, v)
		}
		for k := range sums {
			by := s.broadcastWide(factor.at(k, 0))
			for i, r := range sums[k] {
				v := s.reg()
				s.VMULPD(by, columns[i], v)
				s.VADDPD(magic, v, v)
				s.VPADDQ(v, r, r)
			}
		}
		s.ADDQ(Imm(4), number)
		s.ADDQ(Imm(8), factor.first)
	})
	wide := s.GP64()
	s.LEAQ(Mem{Base: stride, Index: stride, Scale: 1}, wide)
	to := s.vectorsAt(sum, wide, vectors)
	for k := range sums {
		for i, r := range sums[k] {
			s.VSUBPD(magic, r, r)
			s.VADDPD(to.at(k, i*s.bytes), r, r)
			s.VMOVUPD(r, to.at(k, i*s.bytes))
		}
	}
}

// Elements of expWideTable before the coefficients.
const (
	expLow = iota
	expHigh
	log2E
	roundToInteger
	ln2High
	ln2Low
	expBias
	oneWide
	expCoefficients
)

// expWideTerms is the number of coefficients, beginning with that of r².
const expWideTerms = 12

func (s simd) expWide() {
	x := s.base("x")
	s.loop("next", s.wideRegisters("x"), func() {
		s.VMOVUPD(s.expOf(s.load(s.at(x, 0))), s.at(x, 0))
		s.ADDQ(Imm(uint64(s.bytes)), x)
	})
}

// wideRegisters returns the number of registers that the float64 of a slice fill.
func (s simd) wideRegisters(slice string) reg.GPVirtual {
	n := s.length(slice)
	s.SHRQ(Imm(uint64(map[int]int{32: 2, 64: 3}[s.bytes])), n)
	return n
}

// expOf returns e^v and overwrites v.
func (s simd) expOf(v reg.VecVirtual) reg.VecVirtual {
	c := func(i int) reg.VecVirtual { return s.broadcastWide(goTable("expWideTable").Offset(8 * i)) }
	k, whole := s.reg(), s.reg()
	s.VMAXPD(v, c(expLow), v) // returns the second source if one is NaN
	s.VMINPD(v, c(expHigh), v)
	s.VMULPD(c(log2E), v, k)
	s.VADDPD(c(roundToInteger), k, k)
	s.VSUBPD(c(roundToInteger), k, whole)
	part := s.reg()
	s.VMULPD(c(ln2High), whole, part)
	s.VSUBPD(part, v, v)
	s.VMULPD(c(ln2Low), whole, part)
	s.VSUBPD(part, v, v)
	var p []reg.VecVirtual
	for i := 0; i < expWideTerms; i += 2 {
		r := s.reg()
		s.VMULPD(c(expCoefficients+i+1), v, r)
		s.VADDPD(c(expCoefficients+i), r, r)
		p = append(p, r)
	}
	power := s.reg()
	s.VMULPD(v, v, power)
	square := s.reg()
	s.VMOVAPD(power, square)
	for len(p) > 1 {
		var next []reg.VecVirtual
		for i := 0; i < len(p); i += 2 {
			if i+1 < len(p) {
				s.VMULPD(power, p[i+1], p[i+1])
				s.VADDPD(p[i+1], p[i], p[i])
			}
			next = append(next, p[i])
		}
		if p = next; len(p) > 1 {
			s.VMULPD(power, power, power)
		}
	}
	s.VMULPD(square, p[0], p[0])
	s.VADDPD(v, p[0], p[0])
	s.VADDPD(c(oneWide), p[0], p[0])
	s.VPADDQ(c(expBias), k, k)
	s.VPSLLQ(Imm(52), k, k)
	s.VMULPD(k, p[0], p[0])
	return p[0]
}

// mask returns a register that selects numbers: a mask register if the class has them, otherwise
// the signs of a vector.
func (s simd) mask() reg.Register {
	if s.wide() {
		return s.K()
	}
	return s.reg()
}

// compareWide returns a mask of where x and y satisfy the predicate of VCMPPD.
func (s simd) compareWide(predicate uint64, x, y reg.VecVirtual) reg.Register {
	m := s.mask()
	s.VCMPPD(Imm(predicate), y, x, m)
	return m
}

// chooseWide returns x where the mask is set, otherwise y.
func (s simd) chooseWide(m reg.Register, x, y reg.VecVirtual) reg.VecVirtual {
	r := s.reg()
	if s.wide() {
		s.VBLENDMPD(x, y, m, r)
	} else {
		s.VBLENDVPD(m, x, y, r)
	}
	return r
}

// signs returns a mask of where the sign of x is set.
func (s simd) signs(x reg.VecVirtual) reg.Register {
	if !s.wide() {
		return x
	}
	m := s.K()
	s.VPMOVQ2M(x, m)
	return m
}

func (s simd) logisticSteps() {
	step, factor, dot, side := s.base("step"), s.base("factor"), s.base("dot"), s.base("side")
	common := s.Dereference(s.Param("l"))
	field := func(name string) reg.VecVirtual { return s.broadcastWide(s.address(common.Field(name))) }
	minus := s.signBits()
	s.loop("next", s.wideRegisters("step"), func() {
		margin, e := s.load(s.at(dot, 0)), s.reg()
		s.VADDPD(field("Bias"), margin, margin)
		s.VORPD(margin, minus, e)
		e = s.expOf(e)
		y, one := s.load(s.at(side, 0)), s.broadcastWide(goTable("expWideTable").Offset(8*oneWide))
		a, other := s.reg(), s.reg()
		s.VADDPD(e, one, a)
		s.VDIVPD(a, one, a)
		s.xor(margin, y, other)
		s.VMULPD(s.chooseWide(s.signs(other), e, one), a, a)
		s.xor(a, y, a)

		ridge, square, norm, slack := field("Ridge"), s.reg(), s.reg(), s.reg()
		s.VMULPD(a, a, square)
		s.VMULPD(s.at(factor, 0), square, square)
		s.VADDPD(a, a, norm)
		s.VMULPD(field("Lambda"), norm, norm)
		s.VMULPD(margin, norm, norm)
		s.VADDPD(square, norm, norm)
		s.VADDPD(ridge, norm, norm)
		s.VADDPD(square, ridge, slack)
		s.VMULPD(field("Slack"), slack, slack)
		s.VADDPD(slack, norm, norm)
		s.VMAXPD(norm, s.zero(), norm) // returns the second source if one is NaN
		s.VSQRTPD(norm, norm)

		clip, scaled, part := field("Clip"), s.reg(), s.reg()
		s.VMULPD(field("Margin"), norm, scaled)
		s.VDIVPD(scaled, clip, part)
		part = s.chooseWide(s.compareWide(greater, scaled, clip), part, one)
		s.allOnesWide(s.compareWide(notLE, norm, field("Most")), part)
		s.VMOVUPD(part, s.at(factor, 0))
		s.VMULPD(part, a, a)
		s.VMOVUPD(a, s.at(step, 0))
		s.advance(uint64(s.bytes), step, factor, dot, side)
	})
}

// signBits returns a register in which only the signs are set.
func (s simd) signBits() reg.VecVirtual {
	r := s.reg()
	if s.wide() {
		s.VPTERNLOGQ(Imm(0xff), r, r, r)
	} else {
		s.VPCMPEQD(r, r, r)
	}
	s.VPSLLQ(Imm(63), r, r)
	return r
}

func (s simd) xor(x, y, to reg.VecVirtual) {
	if s.wide() {
		s.VPXORQ(x, y, to)
	} else {
		s.VXORPD(x, y, to)
	}
}

// allOnesWide makes x a NaN where the mask is set.
func (s simd) allOnesWide(m reg.Register, x reg.VecVirtual) {
	if s.wide() {
		s.VPTERNLOGQ(Imm(0xff), x, x, m, x)
	} else {
		s.VORPD(m, x, x)
	}
}
