package rng

// Heads is a cache for programs that draw only a few random bits in each of many rounds of one client, where starting
// a stream takes most of the time. It holds the first bits of the streams of eight consecutive rounds: filling it
// costs about as much as starting the stream of one round. The bits are the same with and without it. The zero value
// is an empty cache, and a nil *Heads caches nothing. It is not safe for concurrent use.
type Heads struct {
	root   *Root
	low    uint64 // the first place, see Stream
	high   uint32
	blocks [unitBytes / blockBytes][blockBytes]byte // the first block of each of 8 consecutive rounds
	// Padding, so that neighbours in a slice do not share a cache line of 64 bytes between
	// goroutines.
	_ [40]byte
}

// Reseed does the same as r.Reseed(s, p, client, round), see [Root.Reseed]: it moves s to the start of the stream for
// the purpose p, the client and the round. It takes the first bits from the cache h.
func (h *Heads) Reseed(s *Stream, r *Root, p Purpose, client uint32, round int) {
	r.Reseed(s, p, client, round)
	if h == nil || r.keys == nil {
		return
	}
	ahead := (s.low - h.low) >> 32 // rounds, if the client is the same
	if h.root != r || h.high != s.high || uint32(h.low) != client || ahead >= uint64(len(h.blocks)) {
		h.root, h.low, h.high, ahead = r, s.low, s.high, 0
		keyHeads(&h.blocks[0][0], 1, r.keys, h.low, uint64(h.high)|firstCounter<<32)
	}
	*(*[blockBytes]byte)(s.buf[:]) = h.blocks[ahead]
	s.have = blockBytes
}

// ManyHeads has a cache (a [Heads]) for each client. Starting the stream of a round generates its first random bits, and
// the cache generates those of eight rounds at once, which is faster if a client starts many rounds with few bits each.
// The bits are the same with and without it. Make one with [NewManyHeads]. A nil ManyHeads caches nothing.
type ManyHeads []Heads

// mostHeads is the largest number of clients whose heads are kept. With more clients, reading the
// heads from memory takes longer than generating them.
const mostHeads = 1 << 14

// NewManyHeads returns empty caches for the streams of the given number of clients. For more than 2^14 clients it
// returns nil, which caches nothing, because reading so many caches from memory would take longer than it saves.
func NewManyHeads(clients int) ManyHeads {
	if clients > mostHeads {
		return nil
	}
	return make(ManyHeads, clients)
}

// Of returns the cache of one client; clients count from 0. To move a stream of this client, call [Heads.Reseed] of
// the result instead of [Root.Reseed].
func (m ManyHeads) Of(client int) *Heads {
	if m == nil {
		return nil
	}
	return &m[client]
}
