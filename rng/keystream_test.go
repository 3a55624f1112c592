//go:build (amd64 || arm64) && !noasm

package rng

import (
	"bytes"
	"crypto/aes"
	"encoding/binary"
	"testing"
)

// kernel makes blocks of counters or of rounds: see keyStream and keyHeads.
type kernel func(dst *byte, units int, keys *[11][16]byte, low, high uint64)

// Whichever registers a machine encrypts in, it makes the blocks of FIPS 197: counters that
// follow one another of one place, or one counter of rounds that do; and writes no byte more.
func TestKernelsMakeTheBlocksOfAES(t *testing.T) {
	kernels := keyStreams()
	if len(kernels) == 0 {
		t.Skip("the processor has no AES on vectors")
	}
	s := New(1).Stream(Synthetic, 0, 0)
	for range 200 {
		key := binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, s.Uint64()), s.Uint64())
		block, err := aes.NewCipher(key)
		if err != nil {
			t.Fatal(err)
		}
		var keys [11][16]byte
		expandKey(&keys, (*[16]byte)(key))
		low, high, units := s.Uint64(), s.Uint64(), s.IntN(5)
		for i, step := range [][2]uint64{{0, 1 << 32}, {1 << 32, 0}} {
			want := make([]byte, units*unitBytes+unitBytes) // what is behind stays zero
			for at := 0; at < units*unitBytes; at += blockBytes {
				n := uint64(at / blockBytes)
				b := want[at : at+blockBytes]
				binary.LittleEndian.PutUint64(b, low+n*step[0])
				binary.LittleEndian.PutUint32(b[8:], uint32(high))
				binary.BigEndian.PutUint32(b[12:], uint32((high+n*step[1])>>32))
				block.Encrypt(b, b)
			}
			for name, k := range kernels {
				got := make([]byte, len(want))
				k[i](&got[0], units, &keys, low, high)
				if !bytes.Equal(got, want) {
					t.Fatalf("%s, step %x, key %x, low %x, high %x, %d units: other bytes than AES", name, step, key,
						low, high, units)
				}
			}
		}
	}
}
