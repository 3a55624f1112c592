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

// A vector of any length is restored from its chunks, in any order, even if each comes twice.
func TestChunksPutTogetherAreTheVector(t *testing.T) {
	for _, size := range []wire.Chunk{wire.MinChunk, wire.MaxChunk} {
		most := int(size)
		for _, n := range []int{0, 1, 68, most - 1, most, most + 1, 2*most + 7} {
			putTogether(t, size, n)
		}
	}
}

func putTogether(t *testing.T, size wire.Chunk, n int) {
	t.Helper()
	x := vector(n)
	h := wire.Header{Kind: wire.Update, Run: 1 << 63, Client: 2, Number: 7, Newest: 5, Size: 26}
	h.Digest = wire.Digest(x)
	order := make([]int, size.Chunks(n))
	for i := range order {
		order[i] = len(order) - 1 - i
	}
	a := wire.Assembly{Chunk: size}
	for at, chunk := range order {
		h.Chunk = chunk
		message := size.Append(nil, h, x)
		if len(message) > size.MaxMessage() {
			t.Fatalf("n = %d: a message of %d bytes", n, len(message))
		}
		got, floats, err := size.Parse(message)
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

// No message is longer than the broker's limit. A run with another Chunk refuses the message.
func TestChunksFollowTheBroker(t *testing.T) {
	for most, want := range map[int64]wire.Chunk{
		1 << 20: wire.MaxChunk, 1 << 40: wire.MaxChunk, 256 << 10: 63 << 10, 16448: wire.MinChunk,
		16447: 3 << 10, 64: 0, 1: 0, 0: 0, -1: 0,
	} {
		got := wire.ChunkFor(most)
		if got != want || got > 0 && int64(got.MaxMessage()) > most {
			t.Errorf("a broker that takes %d bytes: chunks of %d numbers, want %d", most, got, want)
		}
		if err := got.Validate(); (err == nil) != (want >= wire.MinChunk) {
			t.Errorf("chunks of %d numbers: %v", got, err)
		}
	}
	x := vector(10_000)
	message := wire.MinChunk.Append(nil, wire.Header{Kind: wire.Update, Digest: wire.Digest(x)}, x)
	if _, _, err := wire.MaxChunk.Parse(message); !errors.Is(err, wire.ErrMalformed) {
		t.Errorf("a message of smaller chunks: %v", err)
	}
	if _, _, err := wire.MinChunk.Parse(wire.MaxChunk.Append(nil, wire.Header{Kind: wire.Update}, x)); !errors.Is(err,
		wire.ErrMalformed) {
		t.Errorf("a message of larger chunks: %v", err)
	}
}

// Any flipped bit of a message is seen.
func TestAFlippedBitIsSeen(t *testing.T) {
	x := vector(9)
	message := wire.MaxChunk.Append(nil, wire.Header{Kind: wire.Broadcast, Run: 3, Number: 4, Digest: wire.Digest(x)}, x)
	for i := range 8 * len(message) {
		message[i/8] ^= 1 << (i % 8)
		if h, _, err := wire.MaxChunk.Parse(message); !errors.Is(err, wire.ErrMalformed) {
			t.Errorf("with bit %d flipped it is %+v, %v", i, h, err)
		}
		message[i/8] ^= 1 << (i % 8)
	}
}

// Chunks of two vectors are not mixed. A vector that does not have its digest is refused.
func TestChunksOfOtherVectorsAreRefused(t *testing.T) {
	x, y := vector(int(wire.MaxChunk)+1), vector(int(wire.MaxChunk)+1)
	y[0]++
	h := wire.Header{Kind: wire.Update, Digest: wire.Digest(x)}
	add := func(a *wire.Assembly, h wire.Header, x []float32) (bool, error) {
		h, floats, err := wire.MaxChunk.Parse(wire.MaxChunk.Append(nil, h, x))
		if err != nil {
			t.Fatal(err)
		}
		return a.Add(h, floats)
	}
	a := wire.Assembly{Chunk: wire.MaxChunk}
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

// Several messages that are sent together are read one by one, and are not taken for one message.
func TestMessagesTravelTogether(t *testing.T) {
	x := vector(3)
	var all []byte
	for round := range 4 {
		h := wire.Header{Kind: wire.Update, Run: 1, Client: 2, Number: round, Digest: wire.Digest(x)}
		all = wire.MaxChunk.Append(all, h, x)
	}
	if _, _, err := wire.MaxChunk.Parse(all); !errors.Is(err, wire.ErrMalformed) {
		t.Errorf("four are read as one: %v", err)
	}
	rest := all
	for round := range 4 {
		var h wire.Header
		var floats []byte
		var err error
		if h, floats, rest, err = wire.MaxChunk.Next(rest); err != nil || h.Number != round || len(floats) != 4*len(x) {
			t.Fatalf("message %d is %+v, %v", round, h, err)
		}
	}
	if len(rest) > 0 {
		t.Errorf("%d bytes are left", len(rest))
	}
	all[len(all)-1]++
	if _, _, _, err := wire.MaxChunk.Next(all[3*len(all)/4:]); !errors.Is(err, wire.ErrMalformed) {
		t.Errorf("a damaged one: %v", err)
	}
	for _, n := range []int{1, 68, int(wire.MaxChunk) / 2, int(wire.MaxChunk), 3 * int(wire.MaxChunk)} {
		most := wire.MaxChunk.Together(n)
		if length := most * (wire.HeaderSize + 4*n); most > 1 && length > wire.MaxChunk.MaxMessage() || most < 1 {
			t.Errorf("%d vectors of %d numbers are %d bytes", most, n, length)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(wire.MaxChunk.Append(nil, wire.Header{Kind: wire.Update, Run: 1, Digest: wire.Digest([]float32{1})}, []float32{1}))
	f.Add([]byte("PDPM"))
	f.Fuzz(func(t *testing.T, message []byte) {
		if _, floats, rest, err := wire.MaxChunk.Next(message); err == nil {
			if got := wire.HeaderSize + len(floats) + len(rest); got != len(message) {
				t.Errorf("of %d bytes %d are read", len(message), got)
			}
			message = message[:len(message)-len(rest)]
		}
		h, floats, err := wire.MaxChunk.Parse(message)
		if err != nil {
			if !errors.Is(err, wire.ErrMalformed) {
				t.Error(err)
			}
			return
		}
		x := make([]float32, h.Params)
		lo, hi := wire.MaxChunk.Span(h.Params, h.Chunk)
		wire.Floats(x[lo:hi], floats)
		if again := wire.MaxChunk.Append(nil, h, x); !slices.Equal(again, message) {
			t.Errorf("%+v is written as %x, was %x", h, again, message)
		}
	})
}

// Bytes returns the total length of all messages of a vector.
func TestBytesAreOfAllMessages(t *testing.T) {
	for _, n := range []int{0, 1, 68, int(wire.MaxChunk), int(wire.MaxChunk) + 1, 300_000} {
		x, sent := make([]float32, n), 0
		for chunk := range wire.MaxChunk.Chunks(n) {
			sent += len(wire.MaxChunk.Append(nil, wire.Header{Kind: wire.Update, Params: n, Chunk: chunk}, x))
		}
		if got := wire.MaxChunk.Bytes(n); got != int64(sent) {
			t.Errorf("%d numbers: %d bytes, want %d", n, got, sent)
		}
	}
}
