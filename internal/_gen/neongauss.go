package main

// addNormals processes the 16 pairs of a group together.
func (n *neon) addNormals() {
	x, bits, groups, done := n.load("x_base"), n.load("bits_base"), n.load("x_len"), n.gp()
	c := n.table("gaussTable")
	scale := n.splatArgument("scale")
	n.op("LSR", "$5", groups)
	n.op("MOVD", "$0", done)
	next, end := n.label("next"), n.label("end")
	n.place(next)
	n.op("CMP", groups, done)
	n.op("BEQ", end)
	n.scope(func() {
		word := n.read(n.vector(), bits, 0)
		n.leaveIfRare(word, end)
		r := n.vector()
		n.scope(func() { n.do("fmul.4s", r, n.radius(word, c), scale) })
		n.pairs(x, r, n.read(word, bits, laneBytes), c)
	})
	n.advance(2*laneBytes, x, bits)
	n.op("ADD", "$1", done)
	n.op("B", next)
	n.place(end)
	n.op("MOVD", done, n.operand("ret"))
}

// leaveIfRare writes a jump to the label to, for the case that one of the radius words is below
// rareRadius.
func (n *neon) leaveIfRare(word block, to string) {
	n.scope(func() {
		least, word32, limit := n.copied(word[:1]), n.gp(), n.gp()
		for _, w := range word[1:] {
			n.do("umin.4s", least, least, block{w})
		}
		n.do("uminv.s", least, least)
		n.op("FMOVS", least[0], word32)
		n.op("MOVD", immediate(int(number(n.pkg, "rareRadius"))), limit)
		n.op("CMPW", limit, word32)
		n.op("BLO", to)
	})
}

// withBits applies the instruction name to source and the integer bits.
func (n *neon) withBits(name string, result, source block, bits uint32) {
	n.scope(func() { n.do(name, result, source, n.splatBits(bits)) })
}

// radius returns a block with the radii for the radius words in word, which it overwrites.
func (n *neon) radius(word block, c gp) block {
	t, e := n.vector(), n.vector()
	n.withBits("and.16b", t, word, 1<<31-1)
	n.do("scvtf.4s", t, t)
	n.withConstant("fadd.4s", t, t, c, half)
	n.withConstant("fmul.4s", t, t, c, wordUnit)
	n.shift("ushr.4s", e, t, 23)
	n.scope(func() { n.do("sub.4s", e, n.splatBits(number(n.pkg, "oneHalfBits")>>23), e) })
	above := word
	n.shift("sshr.4s", above, word, 31) // u ≥ ½
	n.do("bic.16b", e, e, above)
	n.do("scvtf.4s", e, e)
	n.scope(func() {
		f := n.vector()
		n.withBits("and.16b", f, t, number(n.pkg, "mantissaBits"))
		n.withBits("orr.16b", f, f, number(n.pkg, "oneHalfBits"))
		n.scope(func() { n.do("fsub.4s", f, n.splat(c, one), f) })
		n.do("bsl.16b", above, t, f)
	})
	t = above
	p := n.horner(t, c, logCoefficients, sinCoefficients-1)
	n.do("fmul.4s", p, p, t)
	n.withConstant("fmul.4s", e, e, c, twoLn2)
	n.do("fadd.4s", p, p, e)
	n.do("fsqrt.4s", p, p)
	return p
}

// pairs adds the numbers for the radii r and the angle words word to the two vectors of a group at
// x.
func (n *neon) pairs(x gp, r, word block, c gp) {
	z, sin := n.vector(), n.vector()
	n.scope(func() {
		a, odd := n.vector(), z
		n.shift("shl.4s", a, word, 2)
		n.withBits("orr.16b", a, a, number(n.pkg, "lowAngleBit"))
		n.do("scvtf.4s", a, a)
		n.withConstant("fmul.4s", a, a, c, angleUnit)
		n.do("fmul.4s", z, a, a)
		polynomial := n.horner(z, c, sinCoefficients, cosCoefficients-1)
		n.do("fmul.4s", odd, a, z)
		n.do("fmul.4s", sin, odd, polynomial)
		n.do("fadd.4s", sin, sin, a)
		n.do("fmul.4s", z, a, a)
	})
	cos := n.horner(z, c, cosCoefficients, one-1)
	n.do("fmul.4s", cos, z, cos)
	n.withConstant("fadd.4s", cos, cos, c, one)
	sign := z
	n.shift("shl.4s", sign, word, 1)
	n.withBits("and.16b", sign, sign, number(n.pkg, "signBit"))
	n.do("eor.16b", r, r, sign)
	swap := word
	n.shift("sshr.4s", swap, word, 31)
	first := z
	n.do("orr.16b", first, swap, swap)
	n.do("bsl.16b", first, sin, cos)
	n.do("bsl.16b", swap, cos, sin)
	for i, v := range []block{first, swap} {
		n.scope(func() {
			sum := n.read(n.vector(), x, i*laneBytes)
			n.do("fmul.4s", v, r, v)
			n.do("fadd.4s", sum, sum, v)
			n.write(sum, x, i*laneBytes)
		})
	}
}
