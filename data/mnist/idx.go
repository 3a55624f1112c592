// Package mnist reads images and labels in the idx format of the MNIST database of handwritten
// digits (Y. LeCun, C. Cortes and C. Burges, 1998), and finds and downloads that database, Fashion-MNIST
// and KMNIST.
//
//	d, err := mnist.Load(ctx, fetch.Locator{}) // from the cache, or from its mirrors
//	d, err := mnist.Parse("own", images, labels)
//
// A file of images begins with four big-endian words of 32 bits: the magic number 2051, the number
// of images, their height and their width. Then it has one byte per pixel, 0 for the background,
// row by row and image after image. A file of labels has two words, 2049 and the number of labels,
// and one byte per label. Nothing follows.
package mnist

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"proactivedp/data"
	"proactivedp/internal/memory"
	"proactivedp/internal/unpack"
)

// Classes is the number of classes of MNIST (the ten digits), and of every other data set that this package reads.
const Classes = 10

// Mean and Std are the constants by which images are normalised: the mean and the standard deviation of p/255 over
// all pixels p of MNIST's training set, to the four digits that are commonly used (as in PyTorch's own example,
// pytorch/examples, mnist/main.py).
const (
	Mean = 0.1307
	Std  = 0.3081
)

// These are the limits for files: MaxBytes, and 4,096 pixels for the height and the width of an image. They keep a
// damaged file from using up all memory.
const (
	// maxSide is the largest height and width.
	maxSide = 1 << 12
	// MaxBytes is the largest number of pixels in a file of images, and of labels in a file of labels; each is one
	// byte.
	MaxBytes = 1 << 30
)

const (
	imagesMagic = 2051 // unsigned bytes in 3 dimensions
	labelsMagic = 2049 // unsigned bytes in 1 dimension
)

// Parse reads a data set of ten classes from a file of images and a file of labels in the format of the package
// comment, each plain or compressed by gzip, bzip2, xz or zstd. Use it for other files in this format, and [Load] for
// MNIST itself. name is the name of the data set. The images are normalised by Mean and Std. It is an error if a file
// breaks the format or a limit, if a label is above 9, if there are no images, if the numbers of images and labels
// differ, or if a reader fails.
func Parse(name string, images, labels io.Reader) (*data.Dataset, error) {
	d := newSet(name)
	for _, part := range []struct {
		what string
		file io.Reader
		add  func(*data.Dataset, io.Reader, memory.Limit) error
	}{{"images", images, addImages}, {"labels", labels, addLabels}} {
		in, err := unpack.Reader(part.file)
		if err == nil {
			err = part.add(d, in, memory.Known())
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %s: %w", name, part.what, err)
		}
	}
	if err := finish(d); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return d, nil
}

func newSet(name string) *data.Dataset {
	return &data.Dataset{Name: name, Classes: Classes, Images: &data.Images{
		Channels: 1, Mean: []float32{Mean}, Std: []float32{Std},
	}}
}

// finish checks that there are as many labels as images.
func finish(d *data.Dataset) error {
	if n := len(d.Images.Pixels) / d.Features; n != d.Len() {
		return fmt.Errorf("%d images and %d labels, must be equally many", n, d.Len())
	}
	return nil
}

// labelBytes is the size of a label as it is read and as it is stored.
const labelBytes = 1 + 4

// addImages appends a file of images to d if they fit the limit.
func addImages(d *data.Dataset, r io.Reader, limit memory.Limit) error {
	var header [3]uint32
	if err := readHeader(r, imagesMagic, header[:]); err != nil {
		return err
	}
	count, height, width := int(header[0]), int(header[1]), int(header[2])
	if height < 1 || height > maxSide || width < 1 || width > maxSide {
		return fmt.Errorf("images of %d×%d pixels, each must be in [1, %d]", height, width, maxSide)
	}
	if most := MaxBytes / (height * width); count < 1 || count > most {
		return fmt.Errorf("%d images of %d×%d pixels, must be in [1, %d]", count, height, width, most)
	}
	m := d.Images
	if d.Features > 0 && (height != m.Height || width != m.Width) {
		return fmt.Errorf("images of %d×%d pixels, must be %d×%d like the previous ones", height, width, m.Height, m.Width)
	}
	if err := limit.Check(2 * int64(len(m.Pixels)+count*height*width)); err != nil { // twice, because they grow
		return err
	}
	pixels, err := readBytes(m.Pixels, r, count*height*width)
	if err != nil {
		return err
	}
	m.Height, m.Width, m.Pixels = height, width, pixels
	d.Features = m.Size()
	return nil
}

// addLabels appends a file of labels to d if they fit the limit.
func addLabels(d *data.Dataset, r io.Reader, limit memory.Limit) error {
	var header [1]uint32
	if err := readHeader(r, labelsMagic, header[:]); err != nil {
		return err
	}
	count := int(header[0])
	if count < 1 || count > MaxBytes {
		return fmt.Errorf("%d labels, must be in [1, %d]", count, MaxBytes)
	}
	if err := limit.Check(2 * labelBytes * int64(d.Len()+count)); err != nil {
		return err
	}
	text, err := readBytes(nil, r, count)
	if err != nil {
		return err
	}
	labels := slices.Grow(d.Label, count)
	for i, l := range text {
		if l >= Classes {
			return fmt.Errorf("label %d is %d, must be in [0, %d)", i, l, Classes)
		}
		labels = append(labels, int32(l))
	}
	d.Label = labels
	return nil
}

func readHeader(r io.Reader, magic uint32, sizes []uint32) error {
	words := make([]uint32, 1+len(sizes))
	switch err := binary.Read(r, binary.BigEndian, words); {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("the file ends in the header of %d bytes: %w", 4*len(words), io.ErrUnexpectedEOF)
	case err != nil:
		return err
	case words[0] != magic:
		return fmt.Errorf("magic number = %d, must be %d", words[0], magic)
	}
	copy(sizes, words[1:])
	return nil
}

// readBytes appends n bytes, which must be all that r has left. Memory grows with what r has, not
// with what a header says.
func readBytes(to []byte, r io.Reader, n int) ([]byte, error) {
	for need := n; need > 0; {
		step := min(need, max(len(to), 1<<20))
		start := len(to)
		to = slices.Grow(to, step)[:start+step]
		got, err := io.ReadFull(r, to[start:])
		need -= got
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return nil, fmt.Errorf("the file ends after %d bytes of content, expected %d: %w", n-need, n,
				io.ErrUnexpectedEOF)
		case err != nil:
			return nil, err
		}
	}
	switch _, err := io.ReadFull(r, make([]byte, 1)); err {
	case io.EOF:
		return to, nil
	case nil:
		return nil, fmt.Errorf("the file has more than the expected %d bytes of content", n)
	default:
		return nil, err
	}
}
