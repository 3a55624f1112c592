package wire

import (
	"bytes"
	"math"
	"testing"
)

// Numbers that are copied from memory have the same bytes as numbers that any machine writes one by one,
// and are read the same.
func TestNumbersAreTheSameOnEveryMachine(t *testing.T) {
	for n := range 40 {
		x := make([]float32, n)
		for i := range x {
			x[i] = math.Float32frombits(uint32(i) * 2654435761) // NaN among them
		}
		each := appendEach([]byte{7}, x)
		if got := AppendFloats([]byte{7}, x); !bytes.Equal(got, each) {
			t.Fatalf("%d numbers are %x, must be %x", n, got, each)
		}
		if got := Digest(x); got != digest(each[1:]) {
			t.Errorf("%d numbers have the digest %x, must have %x", n, got, digest(each[1:]))
		}
		copied, read := make([]float32, n), make([]float32, n)
		Floats(copied, each[1:])
		setEach(read, each[1:])
		for i := range x {
			want := math.Float32bits(x[i])
			if got, other := math.Float32bits(copied[i]), math.Float32bits(read[i]); got != want || other != want {
				t.Errorf("number %d of %d is %x and %x, must be %x", i, n, got, other, want)
			}
		}
	}
	const want = 0x8a9136aa // RFC 3720, B.4, where its bytes stand the other way round
	if got := Digest(make([]float32, 8)) >> 32; got != want {
		t.Errorf("32 bytes of zeros have the CRC-32C %x, must have %x", got, want)
	}
}
