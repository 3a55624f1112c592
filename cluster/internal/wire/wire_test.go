package wire_test

import (
	"errors"
	"math"
	"slices"
	"testing"

	"proactivedp/cluster/internal/wire"
)

// vector returns n numbers, NaN and infinities among them, that differ.
func vector(n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = math.Float32frombits(uint32(i) * 2654435761) // Knuth's multiplier visits all bits
	}
	return x
}

// bits compares numbers by their bits: NaN is itself.
func bits(x []float32) []uint32 {
	out := make([]uint32, len(x))
	for i := range x {
		out[i] = math.Float32bits(x[i])
	}
	return out
}

// A vector of any length is what it was, whatever order its chunks come in, each twice.
func TestChunksPutTogetherAreTheVector(t *testing.T) {
	const most = wire.ChunkFloats
	for _, n := range []int{0, 1, 68, most - 1, most, most + 1, 2*most + 7} {
		x := vector(n)
		h := wire.Header{Kind: wire.Update, Run: 1 << 63, Client: 2, Number: 7, Newest: 5, Size: 26}
		h.Digest = wire.Digest(x)
		order := make([]int, wire.Chunks(n))
		for i := range order {
			order[i] = len(order) - 1 - i
		}
		var a wire.Assembly
		for at, chunk := range order {
			h.Chunk = chunk
			message := h.Append(nil, x)
			if len(message) > wire.MaxMessage {
				t.Fatalf("n = %d: a message of %d bytes", n, len(message))
			}
			got, floats, err := wire.Parse(message)
			want := h
			if want.Params = n; err != nil || got != want {
				t.Fatalf("n = %d: parsed %+v, %v, want %+v", n, got, err, want)
			}
			for again := range 2 {
				if n == 0 && again == 1 {
					continue
				}
				whole, err := a.Add(got, floats)
				if last := at == len(order)-1; err != nil || again == 0 && whole != last {
					t.Fatalf("n = %d, chunk %d: whole: %v, %v", n, chunk, whole, err)
				} else if last {
					break
				}
			}
		}
		if !slices.Equal(bits(a.X), bits(x)) {
			t.Errorf("n = %d: put together it is another vector", n)
		}
	}
}

// Any flipped bit of a message is seen.
func TestAFlippedBitIsSeen(t *testing.T) {
	x := vector(9)
	message := wire.Header{Kind: wire.Broadcast, Run: 3, Number: 4, Digest: wire.Digest(x)}.Append(nil, x)
	for i := range 8 * len(message) {
		message[i/8] ^= 1 << (i % 8)
		if h, _, err := wire.Parse(message); !errors.Is(err, wire.ErrMalformed) {
			t.Errorf("with bit %d flipped it is %+v, %v", i, h, err)
		}
		message[i/8] ^= 1 << (i % 8)
	}
}

// Chunks of two vectors are not mixed, and a vector that is not its digest's is none.
func TestChunksOfOtherVectorsAreRefused(t *testing.T) {
	x, y := vector(wire.ChunkFloats+1), vector(wire.ChunkFloats+1)
	y[0]++
	h := wire.Header{Kind: wire.Update, Digest: wire.Digest(x)}
	add := func(a *wire.Assembly, h wire.Header, x []float32) (bool, error) {
		h, floats, err := wire.Parse(h.Append(nil, x))
		if err != nil {
			t.Fatal(err)
		}
		return a.Add(h, floats)
	}
	var a wire.Assembly
	if whole, err := add(&a, h, x); whole || err != nil {
		t.Fatal(whole, err)
	}
	other := h
	other.Chunk, other.Digest = 1, wire.Digest(y)
	if _, err := add(&a, other, y); !errors.Is(err, wire.ErrMalformed) {
		t.Errorf("a chunk of another vector: %v", err)
	}
	if _, begun := a.About(); begun {
		t.Error("the vector goes on after a chunk of another")
	}
	if whole, err := add(&a, h, y); whole || err != nil {
		t.Fatal(whole, err)
	}
	h.Chunk = 1
	if _, err := add(&a, h, x); !errors.Is(err, wire.ErrMalformed) {
		t.Errorf("a vector that is not its digest's: %v", err)
	}
}

// Messages that travel together are read one by one, and not as one.
func TestMessagesTravelTogether(t *testing.T) {
	x := vector(3)
	var all []byte
	for round := range 4 {
		h := wire.Header{Kind: wire.Update, Run: 1, Client: 2, Number: round, Digest: wire.Digest(x)}
		all = h.Append(all, x)
	}
	if _, _, err := wire.Parse(all); !errors.Is(err, wire.ErrMalformed) {
		t.Errorf("four are read as one: %v", err)
	}
	rest := all
	for round := range 4 {
		var h wire.Header
		var floats []byte
		var err error
		if h, floats, rest, err = wire.Next(rest); err != nil || h.Number != round || len(floats) != 4*len(x) {
			t.Fatalf("message %d is %+v, %v", round, h, err)
		}
	}
	if len(rest) > 0 {
		t.Errorf("%d bytes are left", len(rest))
	}
	all[len(all)-1]++
	if _, _, _, err := wire.Next(all[3*len(all)/4:]); !errors.Is(err, wire.ErrMalformed) {
		t.Errorf("a damaged one: %v", err)
	}
	for _, n := range []int{1, 68, wire.ChunkFloats / 2, wire.ChunkFloats, 3 * wire.ChunkFloats} {
		most := wire.Together(n)
		if length := most * (wire.HeaderSize + 4*n); most > 1 && length > wire.MaxMessage || most < 1 {
			t.Errorf("%d vectors of %d numbers are %d bytes", most, n, length)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(wire.Header{Kind: wire.Update, Run: 1, Digest: wire.Digest([]float32{1})}.Append(nil, []float32{1}))
	f.Add([]byte("PDPM"))
	f.Fuzz(func(t *testing.T, message []byte) {
		if _, floats, rest, err := wire.Next(message); err == nil {
			if got := wire.HeaderSize + len(floats) + len(rest); got != len(message) {
				t.Errorf("of %d bytes %d are read", len(message), got)
			}
			message = message[:len(message)-len(rest)]
		}
		h, floats, err := wire.Parse(message)
		if err != nil {
			if !errors.Is(err, wire.ErrMalformed) {
				t.Error(err)
			}
			return
		}
		x := make([]float32, h.Params)
		lo, hi := wire.Span(h.Params, h.Chunk)
		wire.Floats(x[lo:hi], floats)
		if again := h.Append(nil, x); !slices.Equal(again, message) {
			t.Errorf("%+v is written as %x, was %x", h, again, message)
		}
	})
}

// Bytes is the length of all messages of a vector.
func TestBytesAreOfAllMessages(t *testing.T) {
	for _, n := range []int{0, 1, 68, wire.ChunkFloats, wire.ChunkFloats + 1, 300_000} {
		x, sent := make([]float32, n), 0
		for chunk := range wire.Chunks(n) {
			sent += len(wire.Header{Kind: wire.Update, Params: n, Chunk: chunk}.Append(nil, x))
		}
		if got := wire.Bytes(n); got != int64(sent) {
			t.Errorf("%d numbers: %d bytes, want %d", n, got, sent)
		}
	}
}
