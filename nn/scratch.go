package nn

import (
	"slices"

	"proactivedp/data"
	"proactivedp/internal/f32"
	"proactivedp/rng"
)

// Scratch is working memory for the methods of a [Net], so that they need not allocate any. [Net.NewScratch] makes
// it. Only one call at a time may use it. Its size has a limit that does not depend on the batch size, because a
// batch is processed in parts.
type Scratch struct {
	net    *Net
	floats stores[float32]
	ints   stores[int32]
	wides  stores[float64]
	pairs  stores[f32.Pair]
	norm2  [][f32.Lanes]float64 // for each block of the chunk: squared norms …
	factor [][f32.Lanes]float32 // … and clip factors, 0 in unused lanes

	// The fields below are what the stages work on during a call.
	params  []float32
	sum     []float64
	out     []float32   // the vector to which the sum is added, or nil
	rows    []int32     // the batch's records, in order
	ends    []int       // the ends of the batch's bins
	first   int         // the chunk's first example in the batch
	private bool        // whether norms are computed
	tiles   bool        // whether matrix tiles are in use
	dropout *rng.Stream // the stream of dropout; nil if it is off

	squares  [2][f32.Lanes]float64 // a field, because calls through a table would move it to the heap
	laneSums [f32.LaneSums]float32 // for the same reason
	product  f32.ProductScratch
	parts    []segment
	cut      []segment // the result of pieces
	own      []float64 // the sum of AddGradSum; nil until it is needed
	untiled  bool      // see WithoutTiles
	full     []int     // the ends of the bins that a dense layer adds

	window     f32.WindowTile // a field for the same reason
	windowSum  [f32.WindowFloats]float32
	windowWork f32.WindowWork
}

// LeastNorm is the smallest clipping norm for which networks can be trained. With a smaller norm, parts of the
// clipped gradients would be smaller than the smallest float32 and be lost. LeastTiledNorm is the smallest clipping
// norm if matrix tiles (AMX instructions) compute the sums, because tiles lose numbers below 2^-126.
const (
	LeastNorm      = 1e-21
	LeastTiledNorm = 1e-13
)

// WithoutTiles(true) turns off matrix tiles (AMX instructions) for later calls with this scratch, and
// WithoutTiles(false) turns them on again. Turn them off if the clipping norm is below
// LeastTiledNorm (1e-13): tiles lose numbers below 2^-126, and so parts of such small gradients.
func (s *Scratch) WithoutTiles(without bool) { s.untiled = without }

// slot is the size of a piece of scratch memory: the number of elements per block, and for how many
// blocks. Block b is stored at b mod blocks.
type slot struct{ size, blocks int }

// store is a slot's memory.
type store[T any] struct {
	slot
	data []T
}

func (m *store[T]) grow(blocks int) {
	if need := m.size * min(blocks, m.blocks); len(m.data) < need {
		m.data = make([]T, need) // borders are zero from now on
	}
}

func (m *store[T]) block(b int) []T {
	b %= m.blocks
	return m.data[b*m.size : (b+1)*m.size : (b+1)*m.size]
}

// from returns block b and the blocks after it.
func (m *store[T]) from(b int) []T { return m.data[b%m.blocks*m.size:] }

// float returns block b of a slot.
func (s *Scratch) float(slot, b int) []float32 { return s.floats[slot].block(b) }

// wide returns a slot of float64.
func (s *Scratch) wide(slot int) []float64 { return s.wides[slot].block(0) }

// pair returns a slot of pairs.
func (s *Scratch) pair(slot int) []f32.Pair { return s.pairs[slot].block(0) }

// slots are the slots of one kind of number.
type slots []slot

// reserve adds a slot, and returns its number.
func (all *slots) reserve(size, blocks int) int {
	*all = append(*all, slot{size, blocks})
	return len(*all) - 1
}

// stores is the memory of slots.
type stores[T any] []store[T]

func newStores[T any](all slots) (memory stores[T]) {
	for _, of := range all {
		memory = append(memory, store[T]{slot: of})
	}
	return memory
}

func (m stores[T]) grow(blocks int) {
	for i := range m {
		m[i].grow(blocks)
	}
}

// allot reserves slots for every value, and then calls place of every stage.
func (n *Net) allot() {
	for i, v := range n.values {
		span := n.chunk
		if i < n.flat {
			span = n.group
		}
		if v.derived {
			v.delta = n.floats.reserve(v.size(), span)
		}
		if v.act = v.delta; !v.passing {
			v.act = n.floats.reserve(roundUp(v.size(), square), n.chunk) // in whole squares, because dense.sums transposes it
		}
	}
	n.input.place(n)
	for _, s := range slices.Concat(n.maps, n.features) {
		s.place(n)
	}
}

// NewScratch returns working memory to pass to the network's methods. Each goroutine that calls them needs its own.
func (n *Net) NewScratch() *Scratch {
	return &Scratch{net: n, floats: newStores[float32](n.floats), ints: newStores[int32](n.ints),
		wides: newStores[float64](n.wides), pairs: newStores[f32.Pair](n.pairs)}
}

// ScratchBytes returns how many bytes a [Scratch] of the network grows to with batches of at most batch examples. Use
// it to estimate the memory of a training. The working memory inside single matrix products is not included.
func (n *Net) ScratchBytes(batch int) int64 {
	blocks, words := n.blocks(batch), 0
	for _, f := range slices.Concat(n.floats, n.ints) {
		words += f.size * min(blocks, f.blocks)
	}
	for _, w := range n.wides {
		words += 2 * w.size
	}
	if f32.Tiled() {
		for _, p := range n.pairs {
			words += p.size
		}
	}
	return 4 * int64(words)
}

// blocks returns the number of blocks of a chunk that a batch uses.
func (n *Net) blocks(batch int) int {
	return min((batch+f32.Lanes-1)/f32.Lanes, n.chunk)
}

// end drops references to the caller's memory.
func (s *Scratch) end() { s.params, s.sum, s.out, s.dropout = nil, nil, nil, nil }

// begin prepares s for a call.
func (s *Scratch) begin(params []float32, b data.Batch) {
	blocks := s.net.blocks(b.Len())
	s.floats.grow(blocks)
	s.ints.grow(blocks)
	s.wides.grow(1)
	if s.tiles = f32.Tiled() && !s.untiled; s.tiles {
		s.pairs.grow(1)
	}
	if len(s.norm2) < blocks {
		s.norm2, s.factor = make([][f32.Lanes]float64, blocks), make([][f32.Lanes]float32, blocks)
	}
	s.params = params[:s.net.params]
	for _, l := range s.net.learners {
		l.ready(s)
	}
}
