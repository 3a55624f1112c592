package main

import (
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

const (
	roundKeys     = 11 // of AES-128
	aesBlockBytes = 16
	// unitPairs is how many pairs of blocks are made at a time: with the round keys
	// and the counter they fill the 16 registers.
	unitPairs = 4
)

// keystream makes the key stream of package rng.
func keystream(k *kernels) {
	// The counter, the last word of a block, is held in the machine's order; swap
	// brings it into network order.
	const keep, reverseLast = 0x0706050403020100, 0x0c0d0e0f0b0a0908
	swap := readOnly(k, "swap", []U64{keep, reverseLast, keep, reverseLast})
	const counter, round = 1 << 32, 1 << 32 // in the upper half of a block, and in the lower
	k.keyStream(swap, "keyStream", 0, counter, "of the counters from the given one on")
	k.keyStream(swap, "keyHeads", round, 0, "of the rounds from the given one on")
	k.expandKey()
}

// keyStream holds two blocks in a register. From block to block low is added to the lower
// half and high to the upper one.
func (k *kernels) keyStream(swap Mem, name string, low, high U64, which string) {
	// What makes a pair of blocks out of one twice, and the next pair out of a pair.
	second := readOnly(k, name+"Second", []U64{0, 0, low, high})
	pair := readOnly(k, name+"Pair", []U64{2 * low, 2 * high, 2 * low, 2 * high})

	k.kernel(name, "func(dst *byte, units int, keys *[11][16]byte, low, high uint64)",
		"writes units times 8 blocks of AES-128 under the round keys,\n"+which+
			`. low is the client and, above it, the round; high the
purpose, above it the chunk, and above that the counter.`)
	s := simd{kernels: k, bytes: ymmBytes}
	dst, units, keys := s.argument("dst"), s.argument("units"), s.argument("keys")
	counter := s.reg()
	s.VMOVQ(s.argument("low"), counter.AsX())
	s.VPINSRQ(Imm(1), s.argument("high"), counter.AsX(), counter.AsX())
	s.VPERMQ(Imm(lowerTwice), counter, counter)
	s.VPADDD(second, counter, counter)
	var key [roundKeys]reg.VecVirtual
	for i := range key {
		key[i] = s.reg()
		s.VBROADCASTI128(Mem{Base: keys, Disp: i * aesBlockBytes}, key[i])
	}
	s.loop("next", units, func() {
		var state [unitPairs]reg.VecVirtual
		for i := range state {
			state[i] = s.reg()
			s.VPSHUFB(swap, counter, state[i])
			s.VPADDD(pair, counter, counter)
			s.VPXOR(key[0], state[i], state[i])
		}
		for _, round := range key[1 : roundKeys-1] {
			for _, x := range state {
				s.VAESENC(round, x, x)
			}
		}
		for i, x := range state {
			s.VAESENCLAST(key[roundKeys-1], x, x)
			s.VMOVDQU(x, s.at(dst, i))
		}
		s.ADDQ(U32(unitPairs*ymmBytes), dst)
	})
	s.end()
}

// lowerTwice makes VPERMQ fill a register with its lower 16 bytes.
const lowerTwice = 0b01_00_01_00

// expandKey makes a round key of the running sums of the words of the last, each
// with the substituted and rotated last word and the round's constant.
func (k *kernels) expandKey() {
	k.kernel("expandKey", "func(keys *[11][16]byte, key *[16]byte)", "makes the round keys of a key (FIPS 197, 5.2).")
	keys, key, words := k.argument("keys"), k.argument("key"), k.XMM()
	k.MOVOU(Mem{Base: key}, words)
	k.MOVOU(words, Mem{Base: keys})
	constant := uint8(1)
	for i := 1; i < roundKeys; i++ {
		last, moved := k.XMM(), k.XMM()
		k.AESKEYGENASSIST(U8(constant), words, last)
		k.PSHUFD(U8(0xff), last, last)
		k.MOVOU(words, moved)
		for range 3 {
			k.PSLLO(U8(4), moved)
			k.PXOR(moved, words)
		}
		k.PXOR(last, words)
		k.MOVOU(words, Mem{Base: keys, Disp: i * aesBlockBytes})
		constant = constant<<1 ^ constant>>7*0x1b // times x in GF(2^8)
	}
	k.RET()
}
