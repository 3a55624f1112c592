package rng

// Heads is a cache of the first bits (the head) of the streams of several consecutive rounds. It speeds
// up callers that go from round to round and use few bits in each: generating the heads of 8 rounds
// together costs about as much as generating one. The zero value is an empty cache, and a nil *Heads
// caches nothing. It is not safe for concurrent use.
type Heads struct {
	root   *Root
	low    uint64 // the first place, see Stream
	high   uint32
	blocks [unitBytes / blockBytes][blockBytes]byte // the first block of each of 8 consecutive rounds
	// Padding, so that neighbours in a slice do not share a cache line of 64 bytes between
	// goroutines.
	_ [40]byte
}

// Reseed moves s to the same place as r.Reseed(s, p, client, round), so s returns the same bits.
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

// ManyHeads is a cache of the first bits of streams, with a Heads for each client, indexed by client. A
// nil ManyHeads caches nothing; the streams are the same, but are generated one by one.
type ManyHeads []Heads

// mostHeads is the largest number of clients whose heads are kept. With more clients, reading the
// heads from memory takes longer than generating them.
const mostHeads = 1 << 14

// NewManyHeads returns an empty cache of the first bits of streams for each of the given number of
// clients. For more than 2^14 clients it returns nil, because the cache would cost more time than it
// saves. A nil ManyHeads works without a cache.
func NewManyHeads(clients int) ManyHeads {
	if clients > mostHeads {
		return nil
	}
	return make(ManyHeads, clients)
}

// Of returns the cache of one client. Its method Reseed moves a stream and uses the cached bits.
func (m ManyHeads) Of(client int) *Heads {
	if m == nil {
		return nil
	}
	return &m[client]
}
