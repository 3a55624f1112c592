//go:build (!amd64 && !arm64) || noasm

package rng

const hasKeyStream = false

func keyStream(dst *byte, units int, keys *[11][16]byte, low, high uint64) { panic("unreachable") }

func keyHeads(dst *byte, units int, keys *[11][16]byte, low, high uint64) { panic("unreachable") }

func expandKey(keys *[11][16]byte, key *[16]byte) { panic("unreachable") }
