package rng

// Heads keeps the first bits of streams at rounds that follow one another, for somebody
// who goes from round to round and takes few bits in each: made together they cost about
// as much as those of one round. The zero value is ready, and nil keeps nothing. Not safe for
// concurrent use.
type Heads struct {
	root   *Root
	low    uint64 // the first of the places: see Stream
	high   uint32
	blocks [unitBytes / blockBytes][blockBytes]byte // one of each
	// Goroutines that have neighbours in a slice write no line of 64 bytes of each other.
	_ [40]byte
}

// Reseed is r.Reseed(s, p, client, round): s has the same bits.
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

// ManyHeads are the heads of many clients, by client; nil keeps nothing.
type ManyHeads []Heads

// mostHeads is the largest number of clients whose heads are kept: those of more are read from
// so far away that this takes longer than making them.
const mostHeads = 1 << 14

// NewManyHeads returns the heads of so many clients: nil if they are too many to gain by them.
func NewManyHeads(clients int) ManyHeads {
	if clients > mostHeads {
		return nil
	}
	return make(ManyHeads, clients)
}

// Of returns the heads of a client, for Reseed.
func (m ManyHeads) Of(client int) *Heads {
	if m == nil {
		return nil
	}
	return &m[client]
}
