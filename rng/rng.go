// Package rng makes random numbers that can be repeated. A [Root] is a seed or a secret. A [Stream] of random bits is
// a function of a root, a purpose (such as Noise), a client and a round of the training. So scheduling cannot change
// a draw, and a run gives the same bits on any number of cores.
//
//	root := rng.New(1)                          // the same bits every time, not secret
//	root, err := rng.NewFromOS()                // noise that nobody can compute again
//	second := root.ForRun(1)                    // independent streams for another release
//	noise := root.Stream(rng.Noise, client, round)
//	x := noise.Normal()
//
// The same root, purpose, client and round give the same bits. So two releases need two roots, or two runs of one
// root; see [Root.ForRun]. A [Name] records which one a release used.
//
// Streams are cryptographic. They are the key stream of AES-128 in counter mode. The key is derived from the seed by
// SHA-256, and the counter block has the place (purpose, client, round, position). On amd64 with AES and AVX2, and on
// arm64 with AES, this package's own kernels generate the bits. Elsewhere the standard library's AES-GCM does, by
// encrypting zeros: it is the only vectorised counter mode there that can move to a new place without allocating
// memory.
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

// Purpose says what a stream of random bits is for, so that, for example, the samples and the noise of a round are
// independent. The bits of a stream depend on the number of its purpose. So new purposes may be added, but the number
// of a purpose may never change.
type Purpose uint8

// These are the purposes. Equal numbers would give equal bits, so each purpose has its own.
const (
	Sampling     Purpose = 1  // which records a round uses
	Noise        Purpose = 2  // the Gaussian noise of a round
	Init         Purpose = 3  // initial parameters of a model
	Split        Purpose = 4  // train/test split
	Partition    Purpose = 5  // assignment of records to clients
	ComputeTime  Purpose = 6  // how long a simulated round takes
	UplinkTime   Purpose = 7  // simulated latency from client to server
	DownlinkTime Purpose = 8  // simulated latency from server to client
	Perturbation Purpose = 9  // noise added once to a finished model, faults that audits plant, choices of a private search (package propose)
	Synthetic    Purpose = 10 // synthetic data, and the random choices of audits
	Dropout      Purpose = 11 // which units of a network dropout removes in a round
	Speed        Purpose = 12 // how fast a simulated client is
	Message      Purpose = 13 // simulated delays and losses of a client's messages
	Presence     Purpose = 14 // when a simulated client leaves and returns
	Labels       Purpose = 15 // which classes the rows of a client have, with a Dirichlet partition
	HoldOut      Purpose = 16 // which training records are held out
	Bounds       Purpose = 17 // noise for private lower and upper bounds of a table's columns
	Persons      Purpose = 18 // which records of a person are used
)

// Root is a source of randomness, from which all streams of a run are derived: a numbered seed, for runs that can be
// repeated, or a secret, for releases. Make one with New, NewFromSecret or NewFromOS. The zero value has no key, and
// drawing from it panics (see Check). A Root is read-only after construction and safe for concurrent use.
type Root struct {
	stream cipher.AEAD   // generates bits of streams, many at a time
	block  cipher.Block  // generates the same bits, 16 bytes at a time
	keys   *[11][16]byte // round keys for keyStream; nil if the processor cannot run it
	origin [32]byte      // the hash of the secret; each run's key is derived from it
	name   Name
}

// New returns the root of a numbered seed, for simulations and tests that must be repeatable. Anybody who knows the
// number can compute the noise, so it protects nobody. For a release (results that are published) use [NewFromOS].
func New(seed uint64) *Root {
	origin := hashed("proactivedp/rng/stream/v1", binary.LittleEndian.AppendUint64(nil, seed))
	return newRoot(origin, origin, Name{Root: seedName(seed)})
}

// MinSecret and MaxSecret are the limits of the length of a secret for [NewFromSecret], in bytes.
const (
	MinSecret = 32
	MaxSecret = 1 << 10
)

// NewFromSecret returns the root of a secret that the caller keeps, of MinSecret to MaxSecret bytes. The same secret
// gives the same root. So a client that restarts can continue its streams, but it must protect the secret as
// carefully as its records. The secret must be uniform, or at least as hard to guess as 16 uniform bytes (the key of
// AES-128). The root of a secret always differs from the root of a numbered seed.
func NewFromSecret(secret []byte) (*Root, error) {
	if len(secret) < MinSecret || len(secret) > MaxSecret {
		return nil, fmt.Errorf("secret = %d bytes, must be in [%d, %d]", len(secret), MinSecret, MaxSecret)
	}
	origin := hashed("proactivedp/rng/secret/v1", secret)
	return newRoot(origin, origin, Name{Root: secretName(origin)}), nil
}

// NewFromOS returns a root with a secret key from the operating system's random source. Use it for releases (results
// that are published): nobody can compute its noise again. After a restart of the process, the root is lost; if that
// must not happen, use [NewSecret] and [NewFromSecret].
func NewFromOS() (*Root, error) {
	secret, err := NewSecret()
	if err != nil {
		return nil, err
	}
	return NewFromSecret(secret)
}

// NewSecret returns a secret of MinSecret random bytes from the operating system. Use it with [NewFromSecret] if a
// process must have the same root again after a restart, or as a secret key, such as that of checkpoints
// (train.Keep). Store it safely.
func NewSecret() ([]byte, error) {
	secret := make([]byte, MinSecret)
	if _, err := crand.Read(secret); err != nil {
		return nil, fmt.Errorf("read the system's random source: %w", err)
	}
	return secret, nil
}

// hashed returns the SHA-256 of a label and a text. All labels have the same length and differ, so
// that no input under one label equals an input under another.
func hashed(label string, text []byte) [32]byte { return sha256.Sum256(append([]byte(label), text...)) }

// newRoot makes the root whose streams use the first half of key.
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

// ErrNoKey is the error for a nil Root or the zero Root, from which nothing can be drawn: see [Root.Check].
var ErrNoKey = errors.New("the root has no key: make it with New, NewFromSecret or NewFromOS")

// Check returns ErrNoKey if r is nil or the zero Root, and otherwise nil. Call it where a Root comes from a caller,
// because drawing from such a root panics.
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
	// fewBytes is the number of bytes of a chunk up to which block by block is faster than a call of
	// GCM.
	fewBytes = 8 * blockBytes
	// unitBytes is the number of bytes that keyStream generates at a time.
	unitBytes = 8 * blockBytes
	// oneChunk adds one to the chunk in Stream.high.
	oneChunk = 1 << 8
	// firstCounter is where GCM's key stream starts (NIST SP 800-38D, 7.1).
	firstCounter = 2
)

// Stream is a sequence of random bits, which depends only on a [Root] and on its place: a purpose, a client and a
// round. [Root.Stream] makes one. The zero value belongs to no Root, and drawing from it panics; call Root.Reseed
// first. A Stream is not safe for concurrent use.
type Stream struct {
	root *Root
	low  uint64 // the place: the client and, in the upper half, the round;
	high uint32 // the purpose and, above its byte, the chunk that buf holds a prefix of
	pos  int    // index of the next unread byte of buf
	have int    // how many bytes of the chunk are generated so far
	buf  [chunkBytes + tagBytes]byte
	// of holds the nonce while it is passed to an interface. A local variable would escape to the
	// heap on each call.
	of [12]byte
}

// Reseed moves s to the start of the stream of r for the purpose p, the client and the round. It does the same as
// [Root.Stream], but uses the memory of s, so that a program need not allocate a stream for each round. It panics if
// round is outside [0, 2^32) or r is the zero Root.
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

// Stream returns a new stream of random bits for the purpose p, the client and the round; for draws without a client
// or a round pass 0. The same arguments always give the same bits. It panics if round is outside [0, 2^32) or r is
// the zero Root.
func (r *Root) Stream(p Purpose, client uint32, round int) *Stream {
	s := new(Stream)
	r.Reseed(s, p, client, round)
	return s
}

// Peek returns the next random bytes of the stream without removing them. Together with [Stream.Skip], it lets a fast
// loop draw many numbers with few calls. size, at most 128, is the number of bytes that one draw needs, and the
// result has at least that many. want, at least size, is the number of bytes of all draws that the caller plans: if the
// stream must generate bytes, it generates about so many at once. The result is valid until the next call of a method
// of the stream.
func (s *Stream) Peek(size, want int) []byte {
	if s.pos+size > s.have {
		s.refill(size, want)
	}
	return s.buf[s.pos:s.have]
}

// Skip removes the next n bytes of the stream, which [Stream.Peek] has returned and the caller has used. n must be a
// multiple of the size that Peek was given, so that only whole draws are removed. Then the bits of a draw do not depend
// on whether the caller takes one draw or many after each call of Peek.
func (s *Stream) Skip(n int) { s.pos += n }

// refill makes the next n bytes available, and about want ≥ n bytes if possible. The amount never
// changes the bits: a chunk is one key stream, which GCM generates anew from its start. If the
// bytes left at the end of a chunk are too few for a draw, they are skipped.
func (s *Stream) refill(n, want int) {
	if s.pos+n > chunkBytes {
		if s.high >= 1<<32-oneChunk {
			panic("rng: stream exhausted")
		}
		s.high += oneChunk
		s.pos, s.have = 0, 0
	}
	if s.root == nil {
		panic("rng: the stream has no place: call Root.Reseed before drawing")
	}
	switch {
	case s.root.keys != nil:
		units := (min(s.pos+want, chunkBytes) - s.have + unitBytes - 1) / unitBytes
		keyStream(&s.buf[s.have], units, s.root.keys, s.low, uint64(s.high)|uint64(s.counter())<<32)
		// After a head, the last unit extends beyond the chunk by one block.
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

// nonce writes the place as GCM's nonce: client, round, purpose, chunk.
func (s *Stream) nonce(b []byte) {
	binary.LittleEndian.PutUint64(b, s.low)
	binary.LittleEndian.PutUint32(b[8:], s.high)
}

// counter returns the counter of the next block to generate.
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

// openUnit maps 64 bits to the open interval (0, 1): to the midpoints of 2^52 equal cells.
func openUnit(u uint64) float64 {
	return (float64(int64(u>>12)) + 0.5) * 0x1p-52
}

// Float64 returns a uniform number in (0, 1). It is never 0 or 1, so its logarithm is finite.
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

// Shuffle puts the elements of a into a uniformly random order, drawn from s (Fisher and Yates).
func Shuffle[T any](s *Stream, a []T) {
	for i := len(a) - 1; i > 0; i-- {
		j := s.IntN(i + 1)
		a[i], a[j] = a[j], a[i]
	}
}
