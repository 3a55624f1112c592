//go:build !noasm

package rng

import (
	"encoding/binary"
	"math/bits"

	"golang.org/x/sys/cpu"
)

// hasKeyStream reports whether keyStream can run. It needs the AES extension.
var hasKeyStream = cpu.ARM64.HasAES

// expandKey makes the round keys of a key (FIPS 197, 5.2). The words of each round key are running
// XOR sums of the previous key's words. They start from the substituted and rotated last word and
// the round constant.
func expandKey(keys *[11][16]byte, key *[16]byte) {
	keys[0] = *key
	constant := byte(1)
	for i := 1; i < len(keys); i++ {
		last := binary.LittleEndian.Uint32(keys[i-1][12:])
		sum := bits.RotateLeft32(subWord(last), -8) ^ uint32(constant)
		for at := 0; at < blockBytes; at += 4 {
			sum ^= binary.LittleEndian.Uint32(keys[i-1][at:])
			binary.LittleEndian.PutUint32(keys[i][at:], sum)
		}
		constant = constant<<1 ^ constant>>7*0x1b // times x in GF(2^8)
	}
}
