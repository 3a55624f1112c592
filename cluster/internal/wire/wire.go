// Package wire defines the messages in which vectors are sent between the server of a training and its clients. A
// message has a header of 64 bytes and at most as many numbers as the run's Chunk says. A longer vector is cut into
// chunks. Each chunk is one message, whose header describes the whole vector, so chunks may come in any order, twice,
// or not at all. All numbers are little-endian. These are the offset, the length in bytes, and the content of each
// field:
//
//	 0  4  "PDPM"
//	 4  2  version of the format
//	 6  2  kind: an update or a broadcast
//	 8  8  the run
//	16  4  the client; of a broadcast 0
//	20  4  the round i of an update, or the k of a broadcast
//	24  4  the k of the newest broadcast that the client had when the round began
//	28  4  the expected sample size s_i; of a broadcast 0
//	32  4  the vector's length
//	36  4  the number of this chunk
//	40  4  how many chunks there are
//	44  4  numbers in this chunk
//	48  8  digest of the whole vector
//	56  4  0
//	60  4  CRC-32C of all before and of the numbers
//	64     the numbers, float32
//
// Messages of whole vectors may be sent together, one after the other, if they have at most
// Chunk.MaxMessage bytes together.
//
// The CRC and the digest detect damage. They do not show who sent a message: the broker decides who
// may publish under which subject.
package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
)

// Kind says what the vector in a message is: an update of a client, or a broadcast of the server.
type Kind uint16

// These are the kinds of vectors.
const (
	Update    Kind = 1 // the noised sum U of a client's round
	Broadcast Kind = 2 // the global model v̂_k
)

// These are the constants of the format.
const (
	magic      = "PDPM"
	version    = 1
	HeaderSize = 64
	// MaxChunk is the largest Chunk. With its header, a message is below 1 MiB, the usual limit of
	// brokers.
	MaxChunk Chunk = 128 << 10
	// MinChunk is the smallest Chunk. With smaller ones, a long vector would be too many messages.
	MinChunk Chunk = 4 << 10
	// MaxParams is the largest length of a vector: the largest number of parameters that a model may have.
	MaxParams = 1 << 30
)

// ErrMalformed reports bytes that are not a message of this format, or a damaged message.
var ErrMalformed = errors.New("malformed message")

// Header describes a message and its vector.
type Header struct {
	Kind   Kind
	Run    uint64 // the run that it belongs to
	Client int
	Number int // the round i of an update, or the k of a broadcast
	Newest int // the newest k that the client had when the round began
	Size   int // the expected sample size s_i
	Params int // the vector's length
	Chunk  int // the number of this chunk, from 0
	Digest uint64
}

// Chunk is the largest number of floats in a message. All messages of a run have the same Chunk, because it decides
// which message has which part of a vector.
type Chunk int

// ChunkFor returns the largest Chunk, a multiple of 1024, whose messages have at most the given number of bytes. If
// this number is too small, the result is below MinChunk, which [Chunk.Validate] refuses.
func ChunkFor(most int64) Chunk {
	return Chunk(max(0, min((most-HeaderSize)/4, int64(MaxChunk))) / 1024 * 1024)
}

// Validate returns an error if c is not in [MinChunk, MaxChunk].
func (c Chunk) Validate() error {
	if c < MinChunk || c > MaxChunk {
		return fmt.Errorf("chunk = %d numbers, must be in [%d, %d]", c, MinChunk, MaxChunk)
	}
	return nil
}

// MaxMessage returns the length of the longest message with this Chunk, in bytes.
func (c Chunk) MaxMessage() int { return HeaderSize + 4*int(c) }

// Chunks returns how many messages a vector of params numbers needs. An empty vector needs one.
func (c Chunk) Chunks(params int) int { return max(1, (params+int(c)-1)/int(c)) }

// Bytes returns the length of all messages of a vector of params numbers together, in bytes.
func (c Chunk) Bytes(params int) int64 { return int64(HeaderSize*c.Chunks(params) + 4*params) }

// Together returns how many vectors of params numbers fit into one message, at least 1.
func (c Chunk) Together(params int) int { return max(1, c.MaxMessage()/(HeaderSize+4*params)) }

// Span returns the range [lo, hi) of a vector of params numbers that is in chunk number chunk.
func (c Chunk) Span(params, chunk int) (lo, hi int) {
	return chunk * int(c), min(params, (chunk+1)*int(c))
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Append appends to dst the message for chunk h.Chunk of x. x is the whole vector.
func (c Chunk) Append(dst []byte, h Header, x []float32) []byte {
	lo, hi := c.Span(len(x), h.Chunk)
	at := len(dst)
	dst = append(dst, magic...)
	le := binary.LittleEndian
	dst = le.AppendUint16(dst, version)
	dst = le.AppendUint16(dst, uint16(h.Kind))
	dst = le.AppendUint64(dst, h.Run)
	for _, n := range [...]int{h.Client, h.Number, h.Newest, h.Size, len(x), h.Chunk, c.Chunks(len(x)), hi - lo} {
		dst = le.AppendUint32(dst, uint32(n))
	}
	dst = le.AppendUint64(dst, h.Digest)
	dst = append(dst, make([]byte, 8)...)
	dst = AppendFloats(dst, x[lo:hi])
	le.PutUint32(dst[at+60:], sum(dst[at:]))
	return dst
}

// sum returns the CRC of a message without the field of the CRC.
func sum(message []byte) uint32 {
	return crc32.Update(crc32.Checksum(message[:60], castagnoli), castagnoli, message[HeaderSize:])
}

// Parse reads a message and returns its header and the bytes of its numbers, which share memory with message. The
// error wraps ErrMalformed.
func (c Chunk) Parse(message []byte) (Header, []byte, error) {
	h, floats, rest, err := c.Next(message)
	if err == nil && len(rest) > 0 {
		return Header{}, nil, fmt.Errorf("%w: %d bytes after it", ErrMalformed, len(rest))
	}
	return h, floats, err
}

// Next reads the first of several messages that were sent together. It returns the header, the bytes of the numbers,
// and the remaining messages. Both share memory with messages. The error wraps ErrMalformed.
func (c Chunk) Next(messages []byte) (h Header, floats, rest []byte, err error) {
	fail := func(format string, args ...any) (Header, []byte, []byte, error) {
		return Header{}, nil, nil, fmt.Errorf("%w: %s", ErrMalformed, fmt.Sprintf(format, args...))
	}
	if len(messages) < HeaderSize || len(messages) > c.MaxMessage() {
		return fail("%d bytes, must be %d to %d", len(messages), HeaderSize, c.MaxMessage())
	}
	le := binary.LittleEndian
	if string(messages[:4]) != magic {
		return fail("it does not begin with %q", magic)
	}
	if v := le.Uint16(messages[4:]); v != version {
		return fail("version = %d, must be %d", v, version)
	}
	var n [8]int
	for i := range n {
		v := le.Uint32(messages[16+4*i:])
		if v > MaxParams {
			return fail("number at byte %d = %d, must be at most %d", 16+4*i, v, MaxParams)
		}
		n[i] = int(v)
	}
	if n[7] > int(c) || len(messages) < HeaderSize+4*n[7] {
		return fail("%d numbers in %d bytes", n[7], len(messages)-HeaderSize)
	}
	message, rest := messages[:HeaderSize+4*n[7]], messages[HeaderSize+4*n[7]:]
	if got, want := le.Uint32(message[60:]), sum(message); got != want {
		return fail("its CRC does not match its content")
	}
	h = Header{
		Kind: Kind(le.Uint16(message[6:])), Run: le.Uint64(message[8:]), Client: n[0], Number: n[1], Newest: n[2],
		Size: n[3], Params: n[4], Chunk: n[5], Digest: le.Uint64(message[48:]),
	}
	if h.Kind != Update && h.Kind != Broadcast {
		return fail("kind = %d, must be %d or %d", h.Kind, Update, Broadcast)
	}
	if want := c.Chunks(h.Params); n[6] != want || h.Chunk >= n[6] {
		return fail("chunk %d of %d for %d numbers, must be of %d", h.Chunk, n[6], h.Params, want)
	}
	if lo, hi := c.Span(h.Params, h.Chunk); n[7] != hi-lo {
		return fail("%d numbers, must be %d", n[7], hi-lo)
	}
	if le.Uint32(message[56:]) != 0 {
		return fail("bytes 56 to 59 must be 0")
	}
	return h, message[HeaderSize:], rest, nil
}
