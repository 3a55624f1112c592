package numpy

import (
	"archive/zip"
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"

	"proactivedp/data"
	"proactivedp/internal/unpack"
)

// array is an array whose header was read. Its content is next.
type array struct {
	file string
	name string // its name in NumPy
	header
	in *bufio.Reader
}

// unknownSize is the size of a file that is compressed. Only reading it shows whether it has the
// content that its header promises.
const unknownSize = -1

// newArray reads the header of an array that takes size bytes of a file.
func newArray(file, name string, content io.Reader, size int64) (*array, error) {
	return newArrayOf(file, name, content, size, readHeader)
}

func newArrayOf(file, name string, content io.Reader, size int64, read func(io.Reader) (header, int64, error)) (*array,
	error) {
	a := &array{file: file, name: name, in: bufio.NewReaderSize(content, unpack.BufferSize)}
	h, start, err := read(a.in)
	if err != nil {
		return nil, a.fault("%w", err)
	}
	a.header = h
	need := int64(h.kind.size)
	for _, n := range h.shape {
		if n == 0 {
			return nil, a.fault("shape %s, must not have a 0", shapeText(h.shape))
		}
		if need > math.MaxInt64/int64(n) {
			need = math.MaxInt64
			break
		}
		need *= int64(n)
	}
	if is := size - start; size != unknownSize && is != need {
		return nil, a.fault("%d bytes of content, must be %d for %s elements of %d bytes", is, need, shapeText(h.shape),
			h.kind.size)
	}
	return a, nil
}

func (a *array) fault(format string, args ...any) error {
	return fmt.Errorf("%s: %s: "+format, append([]any{a.file, a.name}, args...)...)
}

// blockSize is the smallest number of bytes that are read at a time.
const blockSize = 1 << 16

// blocks calls take with the elements in the order of the file, many whole elements at a time. It
// checks that nothing follows them.
func (a *array) blocks(take func(raw []byte) error) error {
	left := 1
	for _, n := range a.shape {
		left *= n
	}
	most := max(1, blockSize/a.kind.size)
	block := make([]byte, min(left, most)*a.kind.size)
	for left > 0 {
		raw := block[:min(left, most)*a.kind.size]
		switch n, err := io.ReadFull(a.in, raw); {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return a.fault("the file ends %d elements too early: %w", left-n/a.kind.size, io.ErrUnexpectedEOF)
		case err != nil:
			return a.unread(err)
		}
		if err := take(raw); err != nil {
			return err
		}
		left -= len(raw) / a.kind.size
	}
	switch _, err := a.in.ReadByte(); { // reading the end of an archive's array checks its checksum
	case err == nil:
		return a.fault("the file has content after the last element")
	case !errors.Is(err, io.EOF):
		return a.unread(err)
	}
	return nil
}

// unread returns the error for content that could not be read.
func (a *array) unread(err error) error {
	if errors.Is(err, zip.ErrChecksum) {
		return a.fault("the archive is damaged: the content does not match its checksum")
	}
	return a.fault("cannot be read: %w", err)
}

// mostFaults is the largest number of columns for which an error is reported.
const mostFaults = 50

// floats reports whether the elements are floating-point numbers.
func (a *array) floats() bool { return a.kind.kind == floating }

// numbers reads the rows of an array into to. With saturate, a number outside of the range of float32
// becomes the nearest end of the range, because it will be clamped to its bounds. An error shows no number.
func (a *array) numbers(f form, saturate bool, to []float32) error {
	w := newWalk(a.header, f.strides)
	inOrder, done := w.inOrder(), 0
	values := make([]float32, max(1, blockSize/a.kind.size))
	var faults []error
	faulty, missing := map[int]bool{}, false
	notFinite := func(at int, v float32, raw []byte) {
		if saturate && a.kind.overflows(raw) {
			to[at] = float32(math.Copysign(math.MaxFloat32, float64(v)))
			return
		}
		missing = missing || v != v
		if column := at % f.features; len(faults) < mostFaults && !faulty[column] {
			faulty[column] = true
			faults = append(faults, a.fault("row %d: column %d: must be a finite number in the range of "+
				"float32", at/f.features+1, column+1))
		}
	}
	err := a.blocks(func(raw []byte) error {
		n := len(raw) / a.kind.size
		if inOrder {
			part := to[done : done+n]
			a.kind.float32s(part, raw)
			for i, v := range part {
				if v-v != 0 {
					notFinite(done+i, v, raw[i*a.kind.size:])
				}
			}
			done += n
			return nil
		}
		part := values[:n]
		a.kind.float32s(part, raw)
		for len(part) > 0 {
			at, places := w.next(len(part))
			for i, place := range places {
				v := part[i]
				to[at+place] = v
				if v-v != 0 {
					notFinite(at+place, v, raw[i*a.kind.size:])
				}
			}
			part, raw = part[len(places):], raw[len(places)*a.kind.size:]
		}
		return nil
	})
	if missing {
		faults = append(faults, errors.New("np.nan_to_num(x, nan=0) replaces missing numbers by 0 before the file is saved"))
	}
	return errors.Join(append(faults, err)...)
}

// pixels reads the images of an array into to. Without a range, whole numbers are levels from 0 to 255,
// and other numbers and bools are in [0, 1].
func (a *array) pixels(f form, r data.PixelRange, to []byte) error {
	w := newWalk(a.header, f.strides)
	if r.High == r.Low {
		if r = (data.PixelRange{High: 255}); a.kind.kind == floating || a.kind.kind == boolean {
			r.High = 1
		}
	}
	if a.kind.kind == unsigned && a.kind.size == 1 && r.Low == 0 && r.High == 255 {
		inOrder, done := w.inOrder(), 0
		return a.blocks(func(raw []byte) error {
			if inOrder {
				done += copy(to[done:], raw)
				return nil
			}
			for len(raw) > 0 {
				at, part := w.next(len(raw))
				image, now := to[at:], raw[:len(part)]
				for i, place := range part {
					image[place] = now[i]
				}
				raw = raw[len(part):]
			}
			return nil
		})
	}
	values := make([]float32, max(1, blockSize/a.kind.size))
	return a.blocks(func(raw []byte) error {
		values := values[:len(raw)/a.kind.size]
		a.kind.float32s(values, raw)
		for len(values) > 0 {
			at, part := w.next(len(values))
			for i, place := range part {
				p, ok := r.Pixel(float64(values[i]))
				if !ok {
					return a.fault("%w", r.Fault((at+place)/f.features+1))
				}
				to[at+place] = p
			}
			values = values[len(part):]
		}
		return nil
	})
}

// labels checks that the array can be the labels of the records of x.
func (a *array) labels(x *array) error {
	n := x.shape[0]
	if flat := len(a.shape) == 2 && a.shape[1] == 1; len(a.shape) != 1 && !flat {
		return a.fault("shape %s, must be (%d,): one label per record: y.argmax(axis=1) makes labels of one-hot rows, and y[:, 0] is the "+
			"first of several labels",
			shapeText(a.shape), n)
	}
	if a.shape[0] != n {
		return a.fault("%d labels, must be as many as the %d records of %s", a.shape[0], n, x.name)
	}
	return nil
}

// targets reads scaled targets into to. Errors do not show them.
func (a *array) targets(b data.TargetBounds, to []float32) error {
	if a.kind.isText() {
		return a.fault("texts, must be numbers, because bounds of the target are given")
	}
	at := 0
	return a.blocks(func(raw []byte) (err error) {
		for ; len(raw) > 0; raw, at = raw[a.kind.size:], at+1 {
			if to[at], err = b.Parse(a.kind.number(raw[:a.kind.size])); err != nil {
				return a.fault("row %d: the %w", at+1, err)
			}
		}
		return nil
	})
}

func (a *array) classes(l *data.Labels, to []int32) error {
	known := map[string]int32{} // by the bytes of the label
	at := 0
	return a.blocks(func(raw []byte) error {
		for ; len(raw) > 0; raw, at = raw[a.kind.size:], at+1 {
			class, seen := known[string(raw[:a.kind.size])]
			if !seen {
				label, err := a.kind.label(raw[:a.kind.size])
				if err != nil {
					return a.fault("row %d: %w", at+1, err)
				}
				if class, err = l.Class(label); err != nil {
					return a.fault("row %d: %w", at+1, err)
				}
				if len(known) < data.MaxClasses { // more are spellings of these
					known[string(raw[:a.kind.size])] = class
				}
			}
			to[at] = class
		}
		return nil
	})
}
