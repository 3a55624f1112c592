// Package codec writes a state to a file and reads it back. The caller writes one function that visits
// each field of the state; it is used both to write and to read, so the two cannot differ. Numbers take
// eight bytes, little-endian. The first error stops the codec. When reading, the fields after it stay
// zero.
//
// A file is not trusted. A number is checked against its range when it is read, and also when it is
// written, so that whatever is written can be read. Memory is allocated as bytes arrive, not according to
// a length in the file.
package codec

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
)

// Codec reads or writes one state. Pass it to the functions of this package that visit fields, and call End last.
type Codec struct {
	w     io.Writer // where to write; nil when reading
	r     io.Reader // where to read; nil when writing
	chunk [1 << 16]byte
	used  int // number of bytes of chunk that are not yet written
	err   error
}

// Visitor is a Codec, or a type that embeds a Codec together with other values that visit functions need.
type Visitor interface{ codec() *Codec }

func (c *Codec) codec() *Codec { return c }

// NewWriter returns a codec that writes to w. The output is complete only after End.
func NewWriter(w io.Writer) *Codec { return &Codec{w: w} }

// NewReader returns a codec that reads from r. It reads nothing after the last visited field.
func NewReader(r io.Reader) *Codec { return &Codec{r: r} }

// Reading reports whether the codec reads. Visits then set the fields instead of writing them.
func (c *Codec) Reading() bool { return c.r != nil }

// Err returns the error that stopped the codec, or nil.
func (c *Codec) Err() error { return c.err }

// Fail stops the codec with an error, unless an earlier error has already stopped it.
func (c *Codec) Fail(format string, args ...any) {
	if c.err == nil {
		c.err = fmt.Errorf(format, args...)
	}
}

// Next returns the next n ≤ 2^16 bytes of the file. When reading, they are the bytes that were read. When
// writing, they are a buffer that the caller must fill before the next call.
func (c *Codec) Next(n int) []byte {
	switch {
	case c.err != nil:
		clear(c.chunk[:n])
		return c.chunk[:n]
	case c.Reading():
		if _, err := io.ReadFull(c.r, c.chunk[:n]); err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF // the file must not end within a state
			}
			c.Fail("%w", err)
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

// flush writes the bytes that Next returned and the caller has filled.
func (c *Codec) flush() {
	if c.used > 0 && c.err == nil {
		_, c.err = c.w.Write(c.chunk[:c.used])
	}
	c.used = 0
}

// End writes the bytes that are still buffered and returns the error that stopped the codec, or nil.
func (c *Codec) End() error {
	if !c.Reading() {
		c.flush()
	}
	return c.err
}

// integer is a type whose numbers fit an int64.
type integer interface {
	~int | ~int32 | ~int64 | ~uint8 | ~uint32 | ~uint64
}

// Number reads or writes the integer *p, which must be in [lo, hi]. what names it in errors.
func Number[T integer](v Visitor, what string, p *T, lo, hi int64) {
	c := v.codec()
	b := c.Next(8)
	if !c.Reading() {
		binary.LittleEndian.PutUint64(b, uint64(*p))
	}
	if c.err != nil {
		return
	}
	n := int64(binary.LittleEndian.Uint64(b))
	if n < lo || n > hi {
		c.Fail("%s = %d, must be in [%d, %d]", what, n, lo, hi)
		return
	}
	*p = T(n)
}

// Exactly writes the number want. When reading, it fails if the file has another number there. what names the number
// in errors.
func Exactly(v Visitor, what string, want int) {
	Number(v, what, &want, int64(want), int64(want))
}

// Boolean reads or writes the bool *p. what names it in errors.
func Boolean(v Visitor, what string, p *bool) {
	var n uint8
	if *p {
		n = 1
	}
	Number(v, what, &n, 0, 1)
	*p = n == 1
}

// List reads or writes the list *p: its length, and then each element by a call of visit(element, v). When reading,
// it makes the list. It fails if there are more than most elements. what names the list in errors.
func List[E any, V Visitor](v V, what string, p *[]E, most int, visit func(*E, V)) {
	c := v.codec()
	n := len(*p)
	Number(v, "number of "+what, &n, 0, int64(most))
	if c.Reading() {
		*p = nil
	}
	for i := 0; i < n && c.err == nil; i++ {
		if c.Reading() {
			*p = append(*p, *new(E))
		}
		if visit(&(*p)[i], v); c.err != nil {
			c.err = fmt.Errorf("%s %d: %w", what, i, c.err)
		}
	}
}

// Floats reads or writes the n numbers of *x. When reading, it makes the slice.
func Floats(v Visitor, x *[]float32, n int) {
	c := v.codec()
	if c.Reading() && c.err == nil {
		*x = make([]float32, n)
	}
	for rest := *x; len(rest) > 0 && c.err == nil; {
		n := min(len(rest), len(c.chunk)/4)
		b := c.Next(4 * n)
		for i := range rest[:n] {
			if c.Reading() {
				rest[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
			} else {
				binary.LittleEndian.PutUint32(b[4*i:], math.Float32bits(rest[i]))
			}
		}
		rest = rest[n:]
	}
}

// Wide reads or writes the numbers of x. The length of x must be the same in both directions.
func Wide(v Visitor, x []float64) {
	c := v.codec()
	for len(x) > 0 && c.err == nil {
		n := min(len(x), len(c.chunk)/8)
		b := c.Next(8 * n)
		for i := range x[:n] {
			if c.Reading() {
				x[i] = math.Float64frombits(binary.LittleEndian.Uint64(b[8*i:]))
			} else {
				binary.LittleEndian.PutUint64(b[8*i:], math.Float64bits(x[i]))
			}
		}
		x = x[n:]
	}
}
