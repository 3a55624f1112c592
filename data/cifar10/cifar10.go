// Package cifar10 reads CIFAR-10, 60,000 small colour images in ten classes, in its binary version (A. Krizhevsky,
// "Learning Multiple Layers of Features from Tiny Images", 2009). It finds the files on disk or downloads them.
//
//	d, err := cifar10.Load(ctx, fetch.Locator{}) // from the cache, or from its web site
//	d, err := cifar10.Parse("own", batch)
//
// A file is a sequence of records of 3,073 bytes: the label, then the image of 32 × 32 pixels, row
// by row, first its red values, then green, then blue. See
// https://www.cs.toronto.edu/~kriz/cifar.html.
package cifar10

import (
	"errors"
	"fmt"
	"io"

	"proactivedp/data"
	"proactivedp/internal/unpack"
)

const (
	Classes = 10 // number of classes
	// MaxRecords is the largest number of records in a file. The limit keeps a damaged file from using up all memory.
	MaxRecords = 100_000

	side        = 32
	channels    = 3
	pixels      = channels * side * side
	recordBytes = 1 + pixels
	labelBytes  = 4 // in memory
)

// Mean returns the mean of p/255 over all pixels p of the training set, for red, green and blue, to the four digits
// that are commonly used. The images that this package reads are normalised by Mean and Std.
func Mean() []float32 { return []float32{0.4914, 0.4822, 0.4465} }

// Std returns the standard deviation of p/255 over all pixels p of the training set, for red, green and blue, to the
// digits that are commonly used. The images that this package reads are normalised by Mean and Std.
func Std() []float32 { return []float32{0.2470, 0.2435, 0.2616} }

// Parse reads the records of one file in the format of the package comment, plain or compressed by gzip, bzip2, xz or
// zstd. Use it for other files in this format, and [Load] for CIFAR-10 itself. name is the name of the data set. It
// is an error if a record is incomplete, a label is above 9, there are no records or more than MaxRecords, or r
// fails.
func Parse(name string, r io.Reader) (*data.Dataset, error) {
	d := newSet(name)
	in, err := unpack.Reader(r)
	if err == nil {
		_, err = readRecords(in, MaxRecords, func(_ int, label int32, image []byte) {
			d.Label = append(d.Label, label)
			d.Images.Pixels = append(d.Images.Pixels, image...)
		})
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return d, nil
}

func newSet(name string) *data.Dataset {
	return &data.Dataset{Name: name, Features: pixels, Classes: Classes, Images: &data.Images{
		Channels: channels, Height: side, Width: side, Mean: Mean(), Std: Std(),
	}}
}

// readRecords calls put for each record of r, but not for more than the limit most, and returns their number. put
// must not keep the image.
func readRecords(r io.Reader, most int, put func(i int, label int32, image []byte)) (int, error) {
	record := make([]byte, recordBytes)
	for i := 0; ; i++ {
		switch n, err := io.ReadFull(r, record); {
		case err == io.EOF && i > 0:
			return i, nil
		case err == io.EOF:
			return 0, fmt.Errorf("no records: %w", io.ErrUnexpectedEOF)
		case errors.Is(err, io.ErrUnexpectedEOF):
			return i, fmt.Errorf("record %d has %d bytes, must have %d: %w", i, n, recordBytes, err)
		case err != nil:
			return i, err
		case i == most:
			return i, fmt.Errorf("more than %d records", most)
		case record[0] >= Classes:
			return i, fmt.Errorf("record %d: label %d, must be in [0, %d)", i, record[0], Classes)
		}
		put(i, int32(record[0]), record[1:])
	}
}
