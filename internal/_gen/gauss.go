package main

import (
	"go/constant"
	"go/types"

	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

func gauss(k *kernels) {
	bits := readOnly(k, "gaussBits", []U32{
		maxInt32:        k.number("signBit") - 1,
		mantissaBits:    k.number("mantissaBits"),
		oneHalfBits:     k.number("oneHalfBits"),
		oneHalfExponent: k.number("oneHalfBits") >> 23,
		lowAngleBit:     k.number("lowAngleBit"),
		signBit:         k.number("signBit"),
		rareRadius:      k.number("rareRadius"),
	})
	k.twins(normalTwins(func(s simd) { gaussian{simd: s}.addNormals(bits) }))
}

// Elements of gaussTable: the start of a polynomial, or a number.
const (
	logCoefficients = 0
	sinCoefficients = 9
	cosCoefficients = 12
	one             = 15
	half            = 16
	wordUnit        = 17
	twoLn2          = 18
	angleUnit       = 19
)

// Elements of gaussBits, the integer constants.
const (
	maxInt32 = iota
	mantissaBits
	oneHalfBits
	oneHalfExponent
	lowAngleBit
	signBit
	rareRadius
	bitConstants
)

// number returns the value of the integer constant of package f32 with this name.
func (k *kernels) number(name string) U32 { return U32(number(k.pkg, name)) }

func number(pkg *types.Package, name string) uint32 {
	v, _ := constant.Uint64Val(pkg.Scope().Lookup(name).(*types.Const).Val())
	return uint32(v)
}

type gaussian struct {
	simd
	bits       func(i int) reg.VecVirtual // gaussBits
	one, scale reg.VecVirtual
}

// add, sub and mul compute with an element of gaussTable.
func (g gaussian) add(c int, from, to reg.VecVirtual) {
	g.withConstant(g.VADDPS, g.VADDPS_BCST, c, from, to)
}

func (g gaussian) mul(c int, from, to reg.VecVirtual) {
	g.withConstant(g.VMULPS, g.VMULPS_BCST, c, from, to)
}

func (g gaussian) withConstant(plain, broadcast func(...Op), c int, from, to reg.VecVirtual) {
	if g.wide() {
		broadcast(goTable("gaussTable").Offset(4*c), from, to)
	} else {
		plain(g.constant(goTable("gaussTable"), c), from, to)
	}
}

// polynomial returns the value of the polynomial whose coefficients begin at first.
func (g gaussian) polynomial(first, degree int, t reg.VecVirtual) reg.VecVirtual {
	p := g.reg()
	g.mul(first+degree, t, p)
	g.add(first+degree-1, p, p)
	for i := first + degree - 2; i >= first; i-- {
		g.VMULPS(t, p, p)
		g.add(i, p, p)
	}
	return p
}

// groupNormals is the constant of package f32. normalsAhead is how many bytes ahead the kernel
// loads memory to which numbers are added, so that clearing it does not wait. It is less than
// Normal processes at once.
const (
	groupNormals = 32
	normalsAhead = 8192
)

func (g gaussian) addNormals(integers Mem) {
	x, bits, groups, done := g.base("x"), g.base("bits"), g.length("x"), g.GP64()
	g.bits, g.one, g.scale = g.table(integers, bitConstants), g.constant(goTable("gaussTable"), one),
		g.broadcast("scale")
	g.SHRQ(Imm(5), groups)
	g.XORQ(done, done)
	g.Label("next")
	g.CMPQ(done, groups)
	g.JE(LabelRef("part"))
	g.group(x, bits, nil)
	g.ADDQ(U32(2*laneBytes), x)
	g.ADDQ(U32(2*laneBytes), bits)
	g.INCQ(done)
	g.JMP(LabelRef("next"))
	g.Label("part")
	if g.wide() {
		left := g.length("x")
		g.ANDQ(Imm(groupNormals-1), left)
		g.JZ(LabelRef("end"))
		g.group(x, bits, g.lowest(left))
		g.INCQ(done)
	}
	g.Label("end")
	g.Store(done, g.ReturnIndex(0))
}

// group writes code that adds noise to a group of x, or to the part of a group given by a mask with
// one bit for each number.
func (g gaussian) group(x, bits reg.GPVirtual, part reg.Register) {
	var words []reg.VecVirtual
	for i := range laneBytes / g.bytes {
		words = append(words, g.written(g.at(bits, i)))
	}
	for line := range groupNormals * floatBytes / laneBytes {
		g.PREFETCHT0(Mem{Base: x, Disp: normalsAhead + line*laneBytes})
	}
	g.leaveIfRare(words)
	for i, word := range words {
		first, second := g.pair(g.radius(word), g.written(g.at(bits, i+len(words))))
		g.addTo(g.at(x, i), first, part)
		if part != nil {
			g.KSHIFTRD(Imm(laneBytes/4), part, part)
		}
		g.addTo(g.at(x, i+len(words)), second, part)
	}
}

// addTo adds numbers to memory. With a mask, it adds only those that the mask selects.
func (g gaussian) addTo(at Mem, n reg.VecVirtual, mask reg.Register) {
	if mask == nil {
		g.VADDPS(at, n, n)
		g.VMOVUPS(n, at)
		return
	}
	old := g.reg()
	g.VMOVUPS_Z(at, mask, old)
	g.VADDPS(old, n, n)
	g.VMOVUPS(n, mask, at)
}

// written loads bits that were stored just before, 32 bytes at a time, because a wider load would
// wait until the stores have left the processor.
func (g gaussian) written(m Mem) reg.VecVirtual {
	if !g.wide() {
		return g.load(m)
	}
	r := g.reg()
	g.VMOVUPS(m, r.AsY())
	g.VINSERTI64X4(Imm(1), m.Offset(ymmBytes), r, r)
	return r
}

// leaveIfRare jumps to the end if one of the radius words is below rareRadius.
func (g gaussian) leaveIfRare(words []reg.VecVirtual) {
	if g.wide() {
		rare := g.K()
		g.VPCMPUD(Imm(1), g.bits(rareRadius), words[0], rare)
		g.KTESTW(rare, rare)
		g.JNE(LabelRef("end"))
		return
	}
	least, limit := g.reg(), g.bits(rareRadius)
	g.VPMINUD(words[0], words[1], least)
	g.VPMAXUD(least, limit, limit)
	g.VPCMPEQD(limit, least, least)
	// Equal if least ≥ rareRadius.
	mask := g.GP32()
	g.VMOVMSKPS(least, mask)
	g.CMPL(mask, Imm(0xff))
	g.JNE(LabelRef("end"))
}

// radius returns a register with the radii for the radius words in word, which it keeps.
func (g gaussian) radius(word reg.VecVirtual) reg.VecVirtual {
	t, e, f := g.reg(), g.reg(), g.reg()
	g.VANDPS(g.bits(maxInt32), word, t)
	g.VCVTDQ2PS(t, t)
	g.add(half, t, t)
	g.mul(wordUnit, t, t)
	g.VPSRLD(Imm(23), t, e)
	g.VPSUBD(e, g.bits(oneHalfExponent), e)
	if g.wide() {
		below := g.K() // u < ½
		g.VPTESTNMD(g.bits(signBit), word, below)
		g.VCVTDQ2PS_Z(e, below, e)
		g.VMOVAPS(t, f)
		g.VPTERNLOGD(Imm(0xea), g.bits(oneHalfBits), g.bits(mantissaBits), f) // (f AND mantissaBits) OR oneHalfBits
		g.VSUBPS(f, g.one, below, t)
	} else {
		above := g.reg()
		g.VPSRAD(Imm(31), word, above)
		g.VPANDN(e, above, e)
		g.VCVTDQ2PS(e, e)
		g.VANDPS(g.bits(mantissaBits), t, f)
		g.VORPS(g.bits(oneHalfBits), f, f)
		g.VSUBPS(f, g.one, f)
		g.VBLENDVPS(above, t, f, t)
	}
	p := g.polynomial(logCoefficients, 8, t)
	g.VMULPS(t, p, p)
	g.mul(twoLn2, e, e)
	g.VADDPS(e, p, p)
	g.VSQRTPS(p, p)
	return p
}

// pair returns the numbers for radii and angle words. Those with cosines go to the first half of a
// group.
func (g gaussian) pair(r, word reg.VecVirtual) (first, second reg.VecVirtual) {
	a, sign := g.reg(), g.reg()
	g.VPSLLD(Imm(2), word, a)
	g.VORPS(g.bits(lowAngleBit), a, a)
	g.VCVTDQ2PS(a, a)
	g.mul(angleUnit, a, a)
	z, odd := g.reg(), g.reg()
	g.VMULPS(a, a, z)
	g.VMULPS(z, a, odd)
	sin := g.polynomial(sinCoefficients, 2, z)
	g.VMULPS(odd, sin, sin)
	g.VADDPS(a, sin, sin)
	cos := g.polynomial(cosCoefficients, 2, z)
	g.VMULPS(z, cos, cos)
	g.add(one, cos, cos)
	g.VMULPS(g.scale, r, r)
	g.VPADDD(word, word, sign)
	first, second = g.reg(), g.reg()
	if g.wide() {
		g.VPTERNLOGD(Imm(0x6a), r, g.bits(signBit), sign) // (sign AND signBit) XOR r
		r = sign
		swap := g.K()
		g.VPMOVD2M(word, swap)
		g.VBLENDMPS(sin, cos, swap, first)
		g.VBLENDMPS(cos, sin, swap, second)
	} else {
		g.VANDPS(g.bits(signBit), sign, sign)
		g.VXORPS(sign, r, r)
		g.VBLENDVPS(word, sin, cos, first)
		g.VBLENDVPS(word, cos, sin, second)
	}
	g.VMULPS(r, first, first)
	g.VMULPS(r, second, second)
	return first, second
}
