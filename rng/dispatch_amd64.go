//go:build !noasm

package rng

import "golang.org/x/sys/cpu"

// hasKeyStream reports whether keyStream can run. It needs AES in its AVX encoding.
var hasKeyStream = cpu.X86.HasAVX2 && cpu.X86.HasAES

// twoBlocks reports whether one instruction can encrypt two blocks (VAES). Many processors can do
// so without AVX-512, but x/sys/cpu reports VAES only together with AVX-512.
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
