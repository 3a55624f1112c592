// Package data holds labelled data sets in memory. It has batches of their rows, splits them into training and test
// rows, and divides rows among the clients of a training. A root (see rng.Root) is the source of the random numbers
// for that. The package does no input or output; the packages below it read files.
//
//	d, err := data.FromRows("own", rows, labels)      // or libsvm.ParseFile, mnist.Load, ...
//	train, test, err := data.Split(d, root)           // four fifths and one fifth, at random
//	parts, err := data.Shard.Deal(train, 10, root)    // disjoint, of equal size
package data

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"math"
	"slices"

	"proactivedp/internal/decimal"
)

// Dataset is a labelled data set of images or of rows of features. It is read-only once it is built, and then safe
// for concurrent use. Rows are stored in one of two forms.
//
//   - Sparse (compressed sparse rows): row i has its non-zero entries at the positions Start[i] to Start[i+1]−1 of Index
//     and Value. Index has the columns, strictly increasing within a row, from 0.
//   - Dense: Start is nil. Index has only Features entries, the columns 0, …, Features−1, which all rows share. Value
//     has Features numbers for each row, one row after another.
type Dataset struct {
	Name     string
	Features int // number of columns of a row
	// Classes is the number of classes. It is 1 if there are Targets.
	Classes int
	Columns []string // names of the columns, or nil if the source has none
	Names   []string // names of the classes, or nil if the source has none
	Label   []int32  // the class of each row, in [0, Classes)
	Start   []int    // the start of each row in Index and Value: len(Label)+1 offsets
	Index   []int32
	Value   []float32

	// Targets are the numbers that a regression model learns to predict. All labels are then 0. nil means that the
	// data set has classes. Images always have classes.
	Targets *Targets

	// Images holds the content of a set of images, which has no rows: Start,
	// Index and Value are nil and Features is Images.Size().
	Images *Images

	// Person has a key for each row that says whose record it is. Set it if (ε, δ) should protect persons who may
	// have several records. nil means that (ε, δ) protects each row by itself.
	Person []PersonKey

	// Train is the number of rows that were published as the training set; they come first. The other rows
	// are the test set. 0 means that the set was published as a whole, without a test set.
	Train int

	// Note is a warning about the rows that every report of a result must show, for example that some rows are
	// missing. It is usually "".
	Note string

	// Synthetic means that the rows were generated and not observed. Every report of a result must say so.
	Synthetic bool

	// Featurer is what [Dataset.Featured] calls to get the features of the map m; set it to a function that keeps
	// features in a file, because computing them again can take long. The argument d is this data set or one that was
	// made from it. nil means that the map's own method Apply is called.
	Featurer func(d *Dataset, m FeatureMap) (*Dataset, error)
}

// Row is one row of features: Index has the columns of its stored entries, from 0, and Value their values. Columns
// that are not stored are 0.
type Row struct {
	Index []int32
	Value []float32
}

// Len returns the number of rows.
func (d *Dataset) Len() int { return len(d.Label) }

// Row returns the features of row i. Its slices share memory with the data set and must not be modified. Row panics
// for a set of images.
func (d *Dataset) Row(i int) Row {
	if d.Start == nil {
		n := d.Features
		return Row{Index: d.Index, Value: d.Value[i*n : (i+1)*n : (i+1)*n]}
	}
	a, b := d.Start[i], d.Start[i+1]
	return Row{Index: d.Index[a:b:b], Value: d.Value[a:b:b]}
}

// Shape returns text for messages that says what an example of d looks like, such as "68 features" or "3×32×32
// pixels" (channels, height, width).
func (d *Dataset) Shape() string {
	if m := d.Images; m != nil {
		return fmt.Sprintf("%d×%d×%d pixels", m.Channels, m.Height, m.Width)
	}
	return decimal.Many(d.Features, "feature")
}

// Validate returns nil if d has the form that the documentation of Dataset describes. Otherwise it returns an error
// that lists every problem, for example labels outside [0, Classes) or columns of a row that are not in increasing
// order.
func (d *Dataset) Validate() error {
	if d == nil {
		return errors.New("no data set")
	}
	var errs []error
	fail := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	n := d.Len()
	if n == 0 {
		fail("no rows")
	}
	if d.Targets != nil {
		d.Targets.validate(d, fail)
	} else if d.Classes < 2 {
		fail("classes = %d, must be at least 2", d.Classes)
	}
	if d.Train != 0 && (d.Train < 0 || d.Train >= n) {
		fail("training rows = %d, must be in [1, %d), or 0 if the set was published as one", d.Train, n)
	}
	if d.Person != nil && len(d.Person) != n {
		fail("persons of %d rows, must be of all %d", len(d.Person), n)
	}
	for i, l := range d.Label {
		if l < 0 || int(l) >= d.Classes {
			fail("row %d: label %d, must be in [0, %d)", i, l, d.Classes)
		}
	}
	if d.Images != nil {
		d.validateImages(fail)
	} else {
		d.validateRows(fail)
	}
	return errors.Join(errs...)
}

// validateRows calls fail for every problem of the rows.
func (d *Dataset) validateRows(fail func(format string, args ...any)) {
	n := d.Len()
	if d.Dense() {
		d.validateDense(fail)
		return
	}
	if len(d.Start) != n+1 || len(d.Index) != len(d.Value) {
		fail("%d offsets for %d rows, %d columns for %d values", len(d.Start), n, len(d.Index), len(d.Value))
		return
	}
	if d.Start[0] != 0 || d.Start[n] != len(d.Index) {
		fail("row offsets run from %d to %d, must be 0 to %d", d.Start[0], d.Start[n], len(d.Index))
		return
	}
	for i := range n {
		if d.Start[i] > d.Start[i+1] {
			fail("row %d: offsets decrease", i)
			return
		}
		if d.Start[i+1] > len(d.Index) {
			fail("row %d: end offset = %d, must be at most %d", i, d.Start[i+1], len(d.Index))
			return
		}
		prev := int32(-1)
		r := d.Row(i)
		for j, c := range r.Index {
			if c <= prev || int(c) >= d.Features {
				fail("row %d: column %d after %d, must increase and be below %d", i, c, prev, d.Features)
				break
			}
			prev = c
			if !finite(r.Value[j]) {
				fail("row %d: column %d: value %v is not finite", i, c, r.Value[j])
			}
		}
	}
}

func finite(v float32) bool { return v-v == 0 }

// Hash returns the SHA-256 of the content of d in hexadecimal. Use it to recognise the same data again. The content
// has these parts:
//
//   - the numbers of rows, features, classes and training rows (Train);
//   - the label of each row and, for regression, its target and the bounds of the targets;
//   - the values that are stored for each row or, for images, the pixels and their normalisation;
//   - the persons.
//
// Everything else does not count, such as Name, Note, and the names of the columns and classes. So two files of
// different formats with the same rows have equal hashes, if both are stored sparsely or both densely.
func (d *Dataset) Hash() string {
	h := sha256.New()
	put := hasher{h: h}
	put.uint64(uint64(d.Features))
	put.uint64(uint64(d.Classes))
	put.uint64(uint64(d.Len()))
	if d.Images != nil {
		d.hashImages(&put)
	} else {
		for i := range d.Label {
			d.hashRow(&put, i)
		}
	}
	if d.Train > 0 {
		put.uint64(uint64(d.Train))
	}
	if t := d.Targets; t != nil {
		put.uint64(math.Float64bits(t.Bounds.Low))
		put.uint64(math.Float64bits(t.Bounds.High))
	}
	for i := range d.Person {
		put.bytes(d.Person[i][:])
	}
	put.flush()
	return hex.EncodeToString(h.Sum(nil))
}

func (d *Dataset) hashRow(put *hasher, i int) {
	r := d.Row(i)
	put.uint32(uint32(d.Label[i]))
	if d.Targets != nil {
		put.float32s(d.Targets.Value[i : i+1])
	}
	put.uint32(uint32(len(r.Index)))
	for len(r.Index) > 0 {
		n := min(len(r.Index), blockBytes/8)
		block, value := put.block(8*n), r.Value[:n]
		for j, c := range r.Index[:n] {
			binary.LittleEndian.PutUint64(block[8*j:8*j+8], uint64(uint32(c))|uint64(math.Float32bits(value[j]))<<32)
		}
		r.Index, r.Value = r.Index[n:], r.Value[n:]
	}
}

// hasher feeds integers to a hash, in blocks of up to blockBytes that stay in the processor's cache.
type hasher struct {
	h   hash.Hash
	buf []byte
	sum []byte // the last digest
}

const blockBytes = 1 << 14

// block returns the next n ≤ blockBytes bytes to be hashed. The caller fills them before it calls p again.
func (p *hasher) block(n int) []byte {
	if len(p.buf)+n > blockBytes {
		p.flush()
	}
	p.buf = slices.Grow(p.buf, n)[:len(p.buf)+n]
	return p.buf[len(p.buf)-n:]
}

func (p *hasher) uint32(v uint32) { binary.LittleEndian.PutUint32(p.block(4), v) }

func (p *hasher) uint64(v uint64) { binary.LittleEndian.PutUint64(p.block(8), v) }

func (p *hasher) float32s(v []float32) {
	for _, x := range v {
		p.uint32(math.Float32bits(x))
	}
}

func (p *hasher) bytes(b []byte) {
	p.flush()
	p.h.Write(b)
}

func (p *hasher) flush() {
	p.h.Write(p.buf)
	p.buf = p.buf[:0]
}

// digest returns the hash of what write feeds to p, and of nothing before. The next call overwrites it.
func (p *hasher) digest(write func()) []byte {
	p.h.Reset()
	write()
	p.flush()
	p.sum = p.h.Sum(p.sum[:0])
	return p.sum
}
