package main

import "fmt"

// neonKeystream writes the key stream of package rng for arm64.
func neonKeystream(n *neon) {
	n.keyStream("keyStream", 0, oneMore, "for consecutive counters from the given one on")
	n.keyStream("keyHeads", oneMore, 0, "for consecutive rounds from the given one on")
	n.subWord()
}

// keyStream keeps a block in a register, with the counter in the machine's byte order. From each
// block to the next it adds low to the lower half and high to the upper half.
func (n *neon) keyStream(name string, low, high uint64, which string) {
	n.kernel(name, "func(dst *byte, units int, keys *[11][16]byte, low, high uint64)",
		keyStreamDoc+which+keyStreamPlace)
	dst, units, keys := n.load("dst"), n.load("units"), n.load("keys")
	counter := n.halves(n.load("low"), n.load("high"))
	step := n.halves(n.number(low), n.number(high))
	swap := n.halves(n.number(keepBytes), n.number(reverseLast))
	key := n.read(n.block(roundKeys), keys, 0)
	n.loop(units, func() {
		state := n.block(unitBlocks)
		for i := range state {
			n.do("tbl.16b", state[i:i+1], counter, swap)
			n.do("add.4s", counter, counter, step)
		}
		for round := range key[:roundKeys-2] {
			for i := range state { // both instructions of a block together, which many processors fuse
				n.do("aese.16b", state[i:i+1], key[round:round+1])
				n.do("aesmc.16b", state[i:i+1], state[i:i+1])
			}
		}
		n.do("aese.16b", state, key[roundKeys-2:roundKeys-1])
		n.do("eor.16b", state, state, key[roundKeys-1:])
		n.write(state, dst, 0)
		n.advance(unitBlocks*aesBlockBytes, dst)
	})
	n.end()
}

// subWord encrypts a word in all four columns with a zero key. The rotation of rows then changes
// nothing.
func (n *neon) subWord() {
	n.kernel("subWord", "func(x uint32) uint32", "substitutes the bytes of a word (FIPS 197, 5.1.1).")
	x, word, zero := n.gp(), n.block(1), n.block(1)
	n.op("MOVWU", n.operand("x"), x)
	n.op("FMOVS", x, word[0])
	n.do("dup.4s", word, word)
	n.do("eor.16b", zero, zero, zero)
	n.do("aese.16b", word, zero)
	n.op("FMOVS", word[0], n.operand("ret"))
	n.end()
}

// number puts a constant into a register.
func (n *neon) number(v uint64) gp {
	r := n.gp()
	n.op("MOVD", fmt.Sprintf("$%#x", v), r)
	return r
}

// halves makes a register from two 64-bit registers.
func (n *neon) halves(low, high gp) block {
	b := n.block(1)
	n.op("VMOV", low, fmt.Sprintf("V%d.D[0]", int(b[0])))
	n.op("VMOV", high, fmt.Sprintf("V%d.D[1]", int(b[0])))
	return b
}
