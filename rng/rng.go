// Package rng gives every random draw of a run its own place: a stream is a
// function of (seed, purpose, client, round), so scheduling cannot move a
// draw and a run is the same bits at any number of cores.
//
//	root := rng.New(1)                          // the same bits every time, no secret
//	root, err := rng.NewFromOS()                // noise that nobody can work out again
//	second := root.ForRun(1)                    // streams of their own for another release
//	noise := root.Stream(rng.Noise, client, round)
//	x := noise.Normal()
//
// Equal places have equal noise. So two releases need two roots, or two runs of
// one root: see [Root.ForRun], and [Name] for how that is kept track of.
//
// Streams are cryptographic: the key stream of AES-128 in counter mode, under
// a key derived from the seed by SHA-256, at a counter block made of the place.
// It is taken from the standard library's AES-GCM, encrypting zeros under the
// nonce (purpose, client, round, chunk), because that is the one vectorised
// counter mode there that can be moved to a new place without allocation; where
// an amd64 has AES and AVX2, and an arm64 AES, kernels of our own make the same bits
// with less ado.
package rng

import (
	"crypto/aes"
	"crypto/cipher"
	crand "crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/bits"
)

// Purpose says what a stream is for. The numbers are part of the meaning of a
// seed: they may be added to, never changed.
type Purpose uint8

// The purposes in use.
const (
	Sampling     Purpose = 1 // which records a round uses
	Noise        Purpose = 2 // the Gaussian noise of a round
	Init         Purpose = 3 // initial parameters of a model
	Split        Purpose = 4 // train/test split
	Partition    Purpose = 5 // records to clients
	ComputeTime  Purpose = 6 // how long a round takes
	UplinkTime   Purpose = 7 // client to server latency
	DownlinkTime Purpose = 8 // server to client latency
	Perturbation Purpose = 9 // noise added to a trained model (utility graph)
	Synthetic    Purpose = 10
	Dropout      Purpose = 11 // what a network drops in a round
	Speed        Purpose = 12 // how fast a client is
	Message      Purpose = 13 // what befalls the messages from and to a client
	Presence     Purpose = 14 // when a client leaves and returns
	Labels       Purpose = 15 // which classes a client holds
	HoldOut      Purpose = 16 // which training records are held out
)

// Root derives streams from one secret: a numbered seed, bytes of the caller's, or
// bytes of the operating system's random source. Make one with New, NewFromSecret
// or NewFromOS: the zero value has no key, and drawing from it panics (see
// Check). A Root is read-only after construction and safe for concurrent use.
type Root struct {
	stream cipher.AEAD   // makes bits of streams, many at a time
	block  cipher.Block  // makes the same bits, 16 bytes at a time
	keys   *[11][16]byte // round keys for keyStream; nil where the processor cannot run it
	origin [32]byte      // what the secret hashes to, of which every run has a key
	name   Name
}

// New returns the root of a numbered seed, for runs that must repeat. Whoever
// knows the number knows every draw: noise from it protects nobody.
func New(seed uint64) *Root {
	origin := hashed("proactivedp/rng/stream/v1", binary.LittleEndian.AppendUint64(nil, seed))
	return newRoot(origin, origin, Name{Root: seedName(seed)})
}

// Limits of a secret, in bytes.
const (
	MinSecret = 32
	MaxSecret = 1 << 10
)

// NewFromSecret returns the root of a secret of MinSecret to MaxSecret bytes, which
// must be uniform or at least as hard to guess as 16 uniform bytes (the key of
// AES-128). The same secret gives the same root, so that a client whose process
// is started again can go on with the streams that it had: it must then keep the
// secret as carefully as its records. No secret gives the root of a seed.
func NewFromSecret(secret []byte) (*Root, error) {
	if len(secret) < MinSecret || len(secret) > MaxSecret {
		return nil, fmt.Errorf("secret = %d bytes, must be in [%d, %d]", len(secret), MinSecret, MaxSecret)
	}
	origin := hashed("proactivedp/rng/secret/v1", secret)
	return newRoot(origin, origin, Name{Root: secretName(origin)}), nil
}

// NewFromOS returns a root keyed by the operating system's random source, for
// runs whose noise must not be reproducible from a number.
func NewFromOS() (*Root, error) {
	secret, err := NewSecret()
	if err != nil {
		return nil, err
	}
	return NewFromSecret(secret)
}

// NewSecret returns a secret of MinSecret bytes from the operating system's random
// source, for a root that must come back when a process is started again, and for keys.
func NewSecret() ([]byte, error) {
	secret := make([]byte, MinSecret)
	if _, err := crand.Read(secret); err != nil {
		return nil, fmt.Errorf("read the system's random source: %w", err)
	}
	return secret, nil
}

// hashed returns the SHA-256 of a text under a label. Labels are of one length and
// different, so that what one label is hashed with is never taken for another's.
func hashed(label string, text []byte) [32]byte { return sha256.Sum256(append([]byte(label), text...)) }

// newRoot makes the root whose streams are under the key's first half.
func newRoot(origin, key [32]byte, name Name) *Root {
	block, err := aes.NewCipher(key[:16])
	if err != nil {
		panic("rng: AES-128 refused a 16-byte key: " + err.Error())
	}
	gcm, err := cipher.NewGCM(block)
	if err != nil {
		panic("rng: no GCM over AES-128: " + err.Error())
	}
	r := &Root{stream: gcm, block: block, origin: origin, name: name}
	if hasKeyStream {
		r.keys = new([11][16]byte)
		expandKey(r.keys, (*[16]byte)(key[:16]))
	}
	return r
}

// ErrNoKey reports a nil root, or one that is the zero value.
var ErrNoKey = errors.New("the root has no key: make it with New, NewFromSecret or NewFromOS")

// Check returns ErrNoKey if nothing can be drawn from r; r may be nil.
func (r *Root) Check() error {
	if r == nil || r.block == nil {
		return ErrNoKey
	}
	return nil
}

const (
	chunkBytes = 4096
	blockBytes = aes.BlockSize
	tagBytes   = 16 // GCM appends a tag, which is ignored
	// fewBytes is how far a chunk is generated block by block; beyond it a call
	// of GCM costs less than the blocks it replaces.
	fewBytes = 8 * blockBytes
	// unitBytes is what keyStream makes at a time.
	unitBytes = 8 * blockBytes
	// oneChunk is the unit of Stream's chunk.
	oneChunk = 1 << 8
	// firstCounter is where GCM's key stream starts (NIST SP 800-38D, 7.1).
	firstCounter = 2
)

// Stream is a sequence of random bits at one place of a Root. The zero value
// is at no place: call Reseed first, or drawing panics. Not safe for concurrent
// use.
type Stream struct {
	root *Root
	low  uint64 // the place: the client and, in the upper half, the round;
	high uint32 // the purpose and, above its byte, the chunk that buf holds a prefix of
	pos  int    // index of the next unread byte of buf
	have int    // how many bytes of the chunk are generated so far
	buf  [chunkBytes + tagBytes]byte
	// of is the nonce as it is passed to an interface: of the stack it would be moved to
	// the heap each time.
	of [12]byte
}

// Reseed moves s to the start of the stream at (p, client, round). It neither
// allocates nor draws. It panics for a round outside [0, 2^32) and for a root
// without a key.
func (r *Root) Reseed(s *Stream, p Purpose, client uint32, round int) {
	if round < 0 || uint64(round) > math.MaxUint32 {
		panic("rng: round outside 32 bits")
	}
	if err := r.Check(); err != nil {
		panic(err)
	}
	s.root = r
	s.low, s.high = uint64(client)|uint64(round)<<32, uint32(p)
	s.pos, s.have = 0, 0
}

// Stream returns a new stream at (p, client, round).
func (r *Root) Stream(p Purpose, client uint32, round int) *Stream {
	s := new(Stream)
	r.Reseed(s, p, client, round)
	return s
}

// Peek returns the bytes that lie ready: at least those of the next draw, of size ≤ 128
// bytes, and about want ≥ size bytes if it has none. They are valid until the next call;
// Skip takes them.
func (s *Stream) Peek(size, want int) []byte {
	if s.pos+size > s.have {
		s.refill(size, want)
	}
	return s.buf[s.pos:s.have]
}

// Skip takes n of the bytes that Peek returned last, whole draws.
func (s *Stream) Skip(n int) { s.pos += n }

// refill makes the next n bytes available, and about want ≥ n bytes if it can.
// How much is generated at a time never changes the bits: a chunk is one key
// stream, which GCM generates anew from its start. Bytes at the end of a chunk
// too few for a draw are skipped.
func (s *Stream) refill(n, want int) {
	if s.pos+n > chunkBytes {
		if s.high >= 1<<32-oneChunk {
			panic("rng: stream exhausted")
		}
		s.high += oneChunk
		s.pos, s.have = 0, 0
	}
	if s.root == nil {
		panic("rng: the stream is at no place: call Root.Reseed before drawing")
	}
	switch {
	case s.root.keys != nil:
		units := (min(s.pos+want, chunkBytes) - s.have + unitBytes - 1) / unitBytes
		keyStream(&s.buf[s.have], units, s.root.keys, s.low, uint64(s.high)|uint64(s.counter())<<32)
		// Behind a head the last unit reaches beyond the chunk, by a block.
		s.have = min(s.have+units*unitBytes, chunkBytes)
	case s.pos+want <= fewBytes:
		for s.have < s.pos+n {
			b := s.buf[s.have : s.have+blockBytes]
			s.nonce(b)
			binary.BigEndian.PutUint32(b[12:], s.counter())
			s.root.block.Encrypt(b, b)
			s.have += blockBytes
		}
	default:
		m := max(4*s.have, s.pos+want)
		m = min((m+blockBytes-1)/blockBytes*blockBytes, chunkBytes)
		clear(s.buf[:m])
		s.nonce(s.of[:])
		s.root.stream.Seal(s.buf[:0], s.of[:], s.buf[:m], nil)
		s.have = m
	}
}

// nonce writes the place as GCM has it: client, round, purpose, chunk.
func (s *Stream) nonce(b []byte) {
	binary.LittleEndian.PutUint64(b, s.low)
	binary.LittleEndian.PutUint32(b[8:], s.high)
}

// counter is that of the next block to be generated.
func (s *Stream) counter() uint32 { return firstCounter + uint32(s.have/blockBytes) }

// Uint64 returns 64 uniform bits.
func (s *Stream) Uint64() uint64 {
	if s.pos+8 > s.have {
		s.refill(8, 8)
	}
	u := binary.LittleEndian.Uint64(s.buf[s.pos:])
	s.pos += 8
	return u
}

// openUnit maps 64 bits to the open interval (0, 1): the midpoints of 2^52
// equal cells.
func openUnit(u uint64) float64 {
	return (float64(int64(u>>12)) + 0.5) * 0x1p-52
}

// Float64 returns a uniform number in the open interval (0, 1).
func (s *Stream) Float64() float64 { return openUnit(s.Uint64()) }

// IntN returns a uniform integer in [0, n), without bias (Lemire, "Fast Random
// Integer Generation in an Interval", 2019). It panics if n < 1.
func (s *Stream) IntN(n int) int {
	if n < 1 {
		panic("rng: IntN needs n ≥ 1")
	}
	m := uint64(n)
	hi, lo := bits.Mul64(s.Uint64(), m)
	if lo < m {
		for threshold := -m % m; lo < threshold; {
			hi, lo = bits.Mul64(s.Uint64(), m)
		}
	}
	return int(hi)
}

// Shuffle permutes a uniformly in place (Fisher and Yates).
func Shuffle[T any](s *Stream, a []T) {
	for i := len(a) - 1; i > 0; i-- {
		j := s.IntN(i + 1)
		a[i], a[j] = a[j], a[i]
	}
}
