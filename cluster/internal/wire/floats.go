package wire

import (
	"encoding/binary"
	"hash/crc32"
	"math"
	"slices"
	"unsafe"
)

// littleEndian reports whether this machine stores numbers in the byte order of messages.
var littleEndian = binary.NativeEndian.Uint16([]byte{1, 0}) == 1

// memory returns the memory of x.
func memory(x []float32) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x))), 4*len(x))
}

// AppendFloats appends the numbers of x as little-endian float32.
func AppendFloats(dst []byte, x []float32) []byte {
	if littleEndian {
		return append(dst, memory(x)...)
	}
	return appendEach(dst, x)
}

// appendEach does the same as AppendFloats, number by number, on machines of any byte order.
func appendEach(dst []byte, x []float32) []byte {
	dst = slices.Grow(dst, 4*len(x))
	for _, number := range x {
		dst = binary.LittleEndian.AppendUint32(dst, math.Float32bits(number))
	}
	return dst
}

// Floats sets x to the little-endian float32 numbers in the first 4·len(x) bytes of bytes.
func Floats(x []float32, bytes []byte) {
	bytes = bytes[:4*len(x)]
	if littleEndian {
		copy(memory(x), bytes)
		return
	}
	setEach(x, bytes)
}

// setEach does the same as Floats, number by number, on machines of any byte order.
func setEach(x []float32, bytes []byte) {
	for i := range x {
		x[i] = math.Float32frombits(binary.LittleEndian.Uint32(bytes[4*i:]))
	}
}

// Digest returns a checksum of the bits of a vector, for finding damage. It consists of two 32-bit CRCs with
// different polynomials, because processors have instructions for these.
func Digest(x []float32) uint64 {
	if littleEndian {
		return digest(memory(x))
	}
	return digest(appendEach(nil, x))
}

func digest(bytes []byte) uint64 {
	return uint64(crc32.Checksum(bytes, castagnoli))<<32 | uint64(crc32.ChecksumIEEE(bytes))
}
