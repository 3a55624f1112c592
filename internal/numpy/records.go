package numpy

import (
	"encoding/binary"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"proactivedp/internal/bounded"
	"proactivedp/internal/memory"
	"proactivedp/internal/unpack"
)

// A record of the binary version of CIFAR (A. Krizhevsky, https://www.cs.toronto.edu/~kriz/cifar.html) is
// the label, or for CIFAR-100 the coarse and the fine label, and an image of 3×32×32 pixels. Here a file
// is read as two arrays, one of images and one of labels, through two readers that skip the other part.
const (
	recordSide   = 32
	recordPixels = 3 * recordSide * recordSide
)

// IsRecords reports whether a file has records of CIFAR: its name ends in .bin, perhaps followed by the ending of a
// compressed file, and its content is not text.
func IsRecords(path string) bool {
	plain, _ := split(filepath.Base(path))
	return strings.HasSuffix(plain, "-bin") && unpack.KindOf(path) == unpack.Binary
}

// addRecords adds the part of files of records. name is their name in errors.
func (p *parser) addRecords(name string, paths []string) error {
	labels := 0
	var rows int64
	for _, path := range paths {
		size, err := p.contentSize(path, memory.Given(p.Memory).Left())
		if err != nil {
			return err
		}
		n, err := labelBytes(path, size)
		if err != nil {
			return err
		}
		if labels != 0 && n != labels {
			return fmt.Errorf("%s has records of CIFAR-10 and of CIFAR-100, must be one of them", name)
		}
		labels, rows = n, rows+size/int64(recordPixels+n)
	}
	at := labels - 1 // the fine label of CIFAR-100 is the second one
	switch p.Arrays.Y {
	case "", "fine":
	case "coarse":
		at = 0
	default:
		return fmt.Errorf("%s: labels %.40q, must be fine or coarse (--arrays y=coarse)", name, p.Arrays.Y)
	}
	if p.Arrays.Y != "" && labels == 1 {
		return fmt.Errorf("%s: labels %s, but CIFAR-10 has one label for each image", name, p.Arrays.Y)
	}
	column := func(what string, from, to int, shape ...int) (*array, error) {
		var all []io.Reader
		for _, path := range paths {
			in, err := p.content(path)
			if err != nil {
				return nil, err
			}
			all = append(all, in)
		}
		in := &columnReader{in: io.MultiReader(all...), record: make([]byte, labels+recordPixels), from: from, to: to}
		return newArrayOf(name, what, in, unknownSize, func(io.Reader) (header, int64, error) {
			kind := dtype{text: "uint8", kind: unsigned, size: 1, order: binary.BigEndian}
			return header{kind: kind, shape: append([]int{int(rows)}, shape...)}, 0, nil
		})
	}
	x, err := column("images", labels, labels+recordPixels, 3, recordSide, recordSide)
	if err != nil {
		return err
	}
	t := part{x: x}
	if !p.Unlabelled {
		if t.y, err = column("labels", at, at+1); err != nil {
			return err
		}
	}
	p.parts = append(p.parts, t)
	return nil
}

// contentSize returns the number of bytes of a file after decompression.
func (p *parser) contentSize(path string, most int64) (int64, error) {
	in, err := p.content(path)
	if err != nil {
		return 0, err
	}
	n, err := io.Copy(io.Discard, bounded.Reader(in, most))
	if err != nil {
		return 0, fmt.Errorf("%s: %w", path, err)
	}
	return n, nil
}

// labelBytes returns how many labels a record has, by the size of the file. If the size fits both, the
// name decides.
func labelBytes(path string, size int64) (int, error) {
	one, two := size%(1+recordPixels) == 0, size%(2+recordPixels) == 0
	plain, _ := split(filepath.Base(path))
	switch {
	case size > 0 && two && (!one || plain == "train-bin" || plain == "test-bin"):
		return 2, nil
	case size > 0 && one:
		return 1, nil
	}
	return 0, fmt.Errorf("%s: %d bytes, must be records of %d bytes as in CIFAR-10, or of %d as in CIFAR-100", path,
		size, 1+recordPixels, 2+recordPixels)
}

// columnReader reads the bytes from to to of each record.
type columnReader struct {
	in       io.Reader
	record   []byte
	rest     []byte // the part of the record that is not yet read
	from, to int
}

func (c *columnReader) Read(to []byte) (int, error) {
	if len(c.rest) == 0 {
		if _, err := io.ReadFull(c.in, c.record); err != nil {
			return 0, err
		}
		c.rest = c.record[c.from:c.to]
	}
	n := copy(to, c.rest)
	c.rest = c.rest[n:]
	return n, nil
}
