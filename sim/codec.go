package sim

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"proactivedp/dp"
)

// codec carries a state into a file or out of one. A visit method names each
// field once, for both directions, so what is written and what is read cannot
// differ. Numbers take eight bytes, little-endian. The first error stops it:
// reading then leaves what is not yet read at zero.
//
// A file is not trusted. A number is checked against its range where it is read;
// and written, too, so that what is written can be read. Memory is taken as the
// bytes for it come, not as a length promises.
type codec struct {
	frame
	w     io.Writer // where to write; nil when reading
	r     io.Reader // where to read; nil when writing
	chunk [1 << 16]byte
	used  int // how many bytes of chunk are not yet written
	err   error

	vectors []*Vector       // vectors by their number in the file, in the order of their first visit
	numbers map[*Vector]int // the number of each vector, when writing
}

// frame is what a configuration fixes of every state that its machines can be in.
type frame struct {
	params  int // the length of every vector
	clients int
	rounds  int
	mech    *dp.Mechanism
}

func newWriter(f frame, w io.Writer) *codec {
	return &codec{frame: f, w: w, numbers: map[*Vector]int{}}
}

func newReader(f frame, r io.Reader) *codec { return &codec{frame: f, r: r} }

func (c *codec) reading() bool { return c.r != nil }

func (c *codec) fail(format string, args ...any) {
	if c.err == nil {
		c.err = fmt.Errorf(format, args...)
	}
}

// next returns the next n ≤ 2^16 bytes of the file: read, or to be filled before
// the next call.
func (c *codec) next(n int) []byte {
	switch {
	case c.err != nil:
		clear(c.chunk[:n])
		return c.chunk[:n]
	case c.reading():
		if _, err := io.ReadFull(c.r, c.chunk[:n]); err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF // a state may end only at its end
			}
			c.fail("%w", err)
			clear(c.chunk[:n])
		}
		return c.chunk[:n]
	}
	if c.used+n > len(c.chunk) {
		c.flush()
	}
	c.used += n
	return c.chunk[c.used-n : c.used]
}

// flush writes the bytes that next returned and that have been filled.
func (c *codec) flush() {
	if c.used > 0 && c.err == nil {
		_, c.err = c.w.Write(c.chunk[:c.used])
	}
	c.used = 0
}

// integer is a number that fits an int64.
type integer interface {
	~int | ~int32 | ~int64 | ~uint8 | ~uint32 | ~uint64
}

// number visits an integer in [lo, hi].
func number[T integer](c *codec, what string, p *T, lo, hi int64) {
	b := c.next(8)
	if !c.reading() {
		binary.LittleEndian.PutUint64(b, uint64(*p))
	}
	if c.err != nil {
		return
	}
	n := int64(binary.LittleEndian.Uint64(b))
	if n < lo || n > hi {
		c.fail("%s = %d, must be in [%d, %d]", what, n, lo, hi)
		return
	}
	*p = T(n)
}

// exactly visits a number that the configuration fixes.
func exactly(c *codec, what string, want int) {
	number(c, what, &want, int64(want), int64(want))
}

func boolean(c *codec, what string, p *bool) {
	var n uint8
	if *p {
		n = 1
	}
	number(c, what, &n, 0, 1)
	*p = n == 1
}

// list visits a list of at most that many elements.
func list[E any](c *codec, what string, p *[]E, most int, visit func(*E, *codec)) {
	n := len(*p)
	number(c, "number of "+what, &n, 0, int64(most))
	if c.reading() {
		*p = nil
	}
	for i := 0; i < n && c.err == nil; i++ {
		if c.reading() {
			*p = append(*p, *new(E))
		}
		if visit(&(*p)[i], c); c.err != nil {
			c.err = fmt.Errorf("%s %d: %w", what, i, c.err)
		}
	}
}

// floats visits the numbers of a vector; when reading, x is made.
func (c *codec) floats(x *[]float32) {
	if c.reading() && c.err == nil {
		*x = make([]float32, c.params)
	}
	for rest := *x; len(rest) > 0 && c.err == nil; {
		n := min(len(rest), len(c.chunk)/4)
		b := c.next(4 * n)
		for i := range rest[:n] {
			if c.reading() {
				rest[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
			} else {
				binary.LittleEndian.PutUint32(b[4*i:], math.Float32bits(rest[i]))
			}
		}
		rest = rest[n:]
	}
}

// vector visits a vector that may be shared: by its number, and at the first visit
// by its content, too. Number 0 is nil. When reading, the vector's readers are
// counted anew: each visit adds so many.
func (c *codec) vector(p **Vector, readers int) {
	n, seen := 0, len(c.vectors)
	if *p != nil && !c.reading() {
		if n = c.numbers[*p]; n == 0 {
			n = seen + 1
		}
	}
	number(c, "vector", &n, 0, int64(seen)+1)
	if c.err != nil || n == 0 {
		return
	}
	if n > seen {
		if c.reading() {
			*p = new(Vector)
		} else {
			c.numbers[*p] = n
		}
		c.floats(&(*p).X)
		c.vectors = append(c.vectors, *p)
	}
	if c.reading() {
		*p = c.vectors[n-1]
		(*p).readers += int32(readers)
	}
}
