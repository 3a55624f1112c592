//go:build !noasm

package rng

import "golang.org/x/sys/cpu"

// hasKeyStream says whether keyStream can run: it needs AES on vectors.
var hasKeyStream = cpu.X86.HasAVX512VAES

// keyStream writes units ≥ 1 times 8 blocks of AES-128 in counter mode, under the
// round keys, from the block first on, whose counter is its last four bytes, least
// significant first.
//
//go:noescape
func keyStream(dst *byte, units int, keys *[11][16]byte, first *[16]byte)

// expandKey makes the round keys of a key (FIPS 197, 5.2).
//
//go:noescape
func expandKey(keys *[11][16]byte, key *[16]byte)
