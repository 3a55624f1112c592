package wire

import "fmt"

// Assembly puts the chunks of one vector together. They may come in any order.
type Assembly struct {
	Chunk Chunk     // the Chunk of the run
	X     []float32 // the vector; it is complete when Add has returned whole = true
	about Header    // header of all chunks, except for the chunk's number
	has   []bool
	left  int
	begun bool
}

// Reset drops the chunks so far, so that the assembly can be used for another vector. It keeps its memory.
func (a *Assembly) Reset() { a.begun = false }

// About returns the header of the vector, or false if no chunk has come yet.
func (a *Assembly) About() (Header, bool) { return a.about, a.begun }

// Add adds a chunk of the vector and reports whether the vector is now complete. h and floats are what
// Chunk.Parse returns. The error wraps ErrMalformed if the chunk belongs to another vector than the chunks
// before, or if the complete vector does not match its digest. After an error, all chunks so far are
// dropped, as by Reset.
func (a *Assembly) Add(h Header, floats []byte) (whole bool, err error) {
	about := h
	about.Chunk = 0
	if !a.begun {
		a.begin(about)
	}
	if about != a.about {
		a.Reset()
		return false, fmt.Errorf("%w: chunk %d is of another vector than those before", ErrMalformed, h.Chunk)
	}
	if a.has[h.Chunk] {
		return false, nil
	}
	a.has[h.Chunk] = true
	lo, hi := a.Chunk.Span(h.Params, h.Chunk)
	Floats(a.X[lo:hi], floats)
	if a.left--; a.left > 0 {
		return false, nil
	}
	a.Reset()
	if Digest(a.X) != h.Digest {
		return false, fmt.Errorf("%w: the vector does not match its digest", ErrMalformed)
	}
	return true, nil
}

func (a *Assembly) begin(about Header) {
	a.about, a.begun, a.left = about, true, a.Chunk.Chunks(about.Params)
	if cap(a.X) < about.Params {
		a.X = make([]float32, about.Params)
	}
	a.X = a.X[:about.Params]
	if cap(a.has) < a.left {
		a.has = make([]bool, a.left)
	}
	a.has = a.has[:a.left]
	clear(a.has)
}
