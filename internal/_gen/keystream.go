package main

import (
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

const (
	roundKeys     = 11 // of AES-128
	aesBlockBytes = 16
	// unitBlocks is the number of blocks that are generated at a time. With two blocks per
	// register, they fill the 16 registers together with the round keys and the counter.
	unitBlocks = 8
	// The counter is the last word of a block. It is kept in the machine's byte order. Selecting
	// bytes in the order of these constants brings it into network order.
	keepBytes, reverseLast = 0x0706050403020100, 0x0c0d0e0f0b0a0908
	// For the next counter, add one to the upper half of a block; for the next round, add one to
	// the lower half.
	oneMore = 1 << 32
	// Parts of a kernel's comment, before and after the words that say which blocks it generates.
	keyStreamDoc   = "writes units times 8 blocks of AES-128 under the round keys,\n"
	keyStreamPlace = ". low has the client and, above it, the round; high has the\n" +
		"purpose, above it the chunk, and above that the counter."
)

// aes is a class of machines with the number of blocks that a register holds.
type aes struct {
	simd
	blocks int
}

// keystream writes the key stream of package rng.
func keystream(k *kernels) {
	swap := readOnly(k, "swap", []U64{keepBytes, reverseLast, keepBytes, reverseLast})
	for _, a := range []aes{{simd{k, "VAES", ymmBytes}, 2}, {simd{k, "AES", aesBlockBytes}, 1}} {
		a.keyStream(swap, "keyStream", 0, oneMore, "for consecutive counters from the given one on")
		a.keyStream(swap, "keyHeads", oneMore, 0, "for consecutive rounds from the given one on")
	}
	k.expandKey()
	k.vectorFeatures()
}

// keyStream writes the kernel with this name. From each block to the next, it adds low to the lower
// half and high to the upper half.
func (a aes) keyStream(swap Mem, name string, low, high U64, which string) {
	a.kernel(name+a.class, "func(dst *byte, units int, keys *[11][16]byte, low, high uint64)",
		keyStreamDoc+which+keyStreamPlace)
	dst, units, keys := a.argument("dst"), a.argument("units"), a.argument("keys")
	counter := a.reg()
	a.VMOVQ(a.argument("low"), counter.AsX())
	a.VPINSRQ(Imm(1), a.argument("high"), counter.AsX(), counter.AsX())
	// next is the step of a register's blocks, and key its key of a round. With two blocks in a
	// register, the second block is one step ahead, and the register has the key twice.
	next := []U64{low, high}
	key := func(i int) Op { return Mem{Base: keys, Disp: i * aesBlockBytes} }
	if a.blocks == 2 {
		next = []U64{2 * low, 2 * high, 2 * low, 2 * high}
		a.VPERMQ(Imm(lowerTwice), counter, counter)
		a.VPADDD(readOnly(a.kernels, name+a.class+"Second", []U64{0, 0, low, high}), counter, counter)
		var twice [roundKeys]reg.VecVirtual
		for i := range twice {
			twice[i] = a.reg()
			a.VBROADCASTI128(key(i), twice[i])
		}
		key = func(i int) Op { return twice[i] }
	}
	step := readOnly(a.kernels, name+a.class+"Step", next)
	a.loop("next", units, func() {
		state := make([]reg.VecVirtual, unitBlocks/a.blocks)
		for i := range state {
			state[i] = a.reg()
			a.VPSHUFB(swap, counter, state[i])
			a.VPADDD(step, counter, counter)
			a.VPXOR(key(0), state[i], state[i])
		}
		for round := 1; round < roundKeys-1; round++ {
			for _, x := range state {
				a.VAESENC(key(round), x, x)
			}
		}
		for i, x := range state {
			a.VAESENCLAST(key(roundKeys-1), x, x)
			a.VMOVDQU(x, a.at(dst, i))
		}
		a.ADDQ(U32(unitBlocks*aesBlockBytes), dst)
	})
	a.end()
}

// lowerTwice makes VPERMQ fill a register with its lower 16 bytes.
const lowerTwice = 0b01_00_01_00

// expandKey writes a function that makes the round keys. The words of each round key are the
// running XOR sums of the previous key's words, each combined with the substituted and rotated last
// word and the round constant.
func (k *kernels) expandKey() {
	k.kernel("expandKey", "func(keys *[11][16]byte, key *[16]byte)", "computes the round keys of a key (FIPS 197, 5.2).")
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

// vectorFeatures writes a function that asks the processor for its features directly, because
// x/sys/cpu reports VAES only together with AVX-512.
func (k *kernels) vectorFeatures() {
	k.kernel("vectorFeatures", "func() uint32", "returns ECX of leaf 7 of CPUID, which all machines with AVX2 have.")
	const leaf = 7
	k.MOVL(U32(leaf), reg.EAX)
	k.XORL(reg.ECX, reg.ECX)
	k.CPUID()
	k.Store(reg.ECX, k.ReturnIndex(0))
	k.RET()
}
