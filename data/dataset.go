// Package data holds labelled data sets in memory, batches of them, and how
// they are split and dealt to clients. It does no input or output: the parsers
// below it do.
package data

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"math"
)

// Dataset is a labelled data set, of images or of compressed sparse rows: the
// entries of row i are Index[Start[i]:Start[i+1]] (strictly increasing columns,
// from 0) and the Value of the same places. It is read-only once built, and then
// safe for concurrent use.
type Dataset struct {
	Name     string
	Features int // columns
	Classes  int
	Label    []int32 // one a row, in [0, Classes)
	Start    []int   // len(Label)+1 offsets
	Index    []int32
	Value    []float32

	// Images holds the content of a set of images, which has no sparse rows: Start,
	// Index and Value are nil and Features is Images.Size().
	Images *Images

	// Synthetic says that the rows were drawn, not observed. Every result made
	// from them must repeat it.
	Synthetic bool
}

// Row is one example: the columns and values of its non-zero entries.
type Row struct {
	Index []int32
	Value []float32
}

// Len returns the number of rows.
func (d *Dataset) Len() int { return len(d.Label) }

// Row returns row i; its slices alias the data set and must not be written.
func (d *Dataset) Row(i int) Row {
	a, b := d.Start[i], d.Start[i+1]
	return Row{Index: d.Index[a:b:b], Value: d.Value[a:b:b]}
}

// LabelCounts returns how many rows each class has.
func (d *Dataset) LabelCounts() []int {
	counts := make([]int, d.Classes)
	for _, l := range d.Label {
		counts[l]++
	}
	return counts
}

// Validate reports every way in which d breaks the type's description.
func (d *Dataset) Validate() error {
	var errs []error
	fail := func(format string, args ...any) { errs = append(errs, fmt.Errorf("data: "+format, args...)) }
	n := d.Len()
	if n == 0 {
		fail("no rows")
	}
	if d.Classes < 2 {
		fail("classes = %d, must be at least 2", d.Classes)
	}
	if len(d.Start) != n+1 || len(d.Index) != len(d.Value) {
		fail("%d offsets for %d rows, %d columns for %d values", len(d.Start), n, len(d.Index), len(d.Value))
		return errors.Join(errs...)
	}
	if d.Start[0] != 0 || d.Start[n] != len(d.Index) {
		fail("row offsets run from %d to %d, must be 0 to %d", d.Start[0], d.Start[n], len(d.Index))
		return errors.Join(errs...)
	}
	for i := range n {
		if l := d.Label[i]; l < 0 || int(l) >= d.Classes {
			fail("row %d: label %d, must be in [0, %d)", i, l, d.Classes)
		}
		if d.Start[i] > d.Start[i+1] {
			fail("row %d: offsets decrease", i)
			return errors.Join(errs...)
		}
		prev := int32(-1)
		r := d.Row(i)
		for j, c := range r.Index {
			if c <= prev || int(c) >= d.Features {
				fail("row %d: column %d after %d, must increase and be below %d", i, c, prev, d.Features)
				break
			}
			prev = c
			if v := float64(r.Value[j]); math.IsNaN(v) || math.IsInf(v, 0) {
				fail("row %d: column %d: value %v is not finite", i, c, v)
			}
		}
	}
	return errors.Join(errs...)
}

// Hash returns the SHA-256, in hexadecimal, of the content of d (features,
// classes, labels and entries; not its name), so that the same rows read from
// differently formatted files compare equal.
func (d *Dataset) Hash() string {
	h := sha256.New()
	put := hasher{h: h}
	put.uint64(uint64(d.Features))
	put.uint64(uint64(d.Classes))
	put.uint64(uint64(d.Len()))
	for i, l := range d.Label {
		r := d.Row(i)
		put.uint32(uint32(l))
		put.uint32(uint32(len(r.Index)))
		for j, c := range r.Index {
			put.uint32(uint32(c))
			put.uint32(math.Float32bits(r.Value[j]))
		}
	}
	put.flush()
	return hex.EncodeToString(h.Sum(nil))
}

// hasher feeds integers to a hash through a buffer.
type hasher struct {
	h   hash.Hash
	buf []byte
}

func (p *hasher) uint32(v uint32) {
	if p.buf = binary.LittleEndian.AppendUint32(p.buf, v); len(p.buf) >= 1<<16 {
		p.flush()
	}
}

func (p *hasher) uint64(v uint64) {
	p.uint32(uint32(v))
	p.uint32(uint32(v >> 32))
}

func (p *hasher) flush() {
	p.h.Write(p.buf)
	p.buf = p.buf[:0]
}
