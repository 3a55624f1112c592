//go:build !noasm

package rng

import "golang.org/x/sys/cpu"

// hasKeyStream says whether keyStream can run: it needs AES in the encoding of AVX.
var hasKeyStream = cpu.X86.HasAVX2 && cpu.X86.HasAES

// twoBlocks says whether registers of two blocks can be encrypted (VAES). Many processors
// do that without AVX-512, with which alone x/sys/cpu looks for it.
var twoBlocks = hasKeyStream && vectorFeatures()&vaes != 0

// vaes is the bit of VAES in vectorFeatures.
const vaes = 1 << 9

func keyStream(dst *byte, units int, keys *[11][16]byte, low, high uint64) {
	if twoBlocks {
		keyStreamVAES(dst, units, keys, low, high)
		return
	}
	keyStreamAES(dst, units, keys, low, high)
}

func keyHeads(dst *byte, units int, keys *[11][16]byte, low, high uint64) {
	if twoBlocks {
		keyHeadsVAES(dst, units, keys, low, high)
		return
	}
	keyHeadsAES(dst, units, keys, low, high)
}
