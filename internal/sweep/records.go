package sweep

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"proactivedp/data"
	"proactivedp/internal/bounded"
	"proactivedp/internal/codec"
)

// maxRecords is the largest data set that is sent to workers, in bytes.
const maxRecords = 1 << 30

// recordsVersion is the version of the format. Raise it whenever the format changes.
const recordsVersion = 1

func writeRecords(w io.Writer, d *data.Dataset) error {
	if d.Targets != nil {
		return errors.New("data set: targets of a regression are not sent to workers, must be classes")
	}
	c := codec.NewWriter(w)
	sent := *d
	visitRecords(c, &sent)
	if err := c.End(); err != nil {
		return fmt.Errorf("data set: %w", err)
	}
	return nil
}

// readRecords reads a data set that writeRecords has written. It returns an error if the data set
// does not have the given digest.
func readRecords(r io.Reader, digest string) (*data.Dataset, error) {
	c := codec.NewReader(bounded.Reader(r, maxRecords))
	d := new(data.Dataset)
	visitRecords(c, d)
	if err := c.End(); err != nil {
		return nil, fmt.Errorf("data set: %w", err)
	}
	if err := d.Validate(); err != nil {
		return nil, fmt.Errorf("data set: %w", err)
	}
	if got := d.Hash(); got != digest {
		return nil, fmt.Errorf("digest of the data set = %s, must be %s", got, digest)
	}
	return d, nil
}

func visitRecords(c *codec.Codec, d *data.Dataset) {
	codec.Exactly(c, "version", recordsVersion)
	visitText(c, "name", &d.Name)
	visitText(c, "note", &d.Note)
	codec.Boolean(c, "synthetic", &d.Synthetic)
	codec.Number(c, "features", &d.Features, 0, math.MaxInt32)
	codec.Number(c, "classes", &d.Classes, 0, math.MaxInt32)
	codec.Number(c, "training rows", &d.Train, 0, math.MaxInt32)
	codec.List(c, "names of columns", &d.Columns, maxRecords/8, visitName)
	codec.List(c, "names of classes", &d.Names, maxRecords/8, visitName)
	visitNumbers(c, "labels", &d.Label)
	images, dense := d.Images != nil, d.Start == nil
	if codec.Boolean(c, "images", &images); images {
		visitImages(c, d)
		return
	}
	if codec.Boolean(c, "dense", &dense); !dense {
		visitStarts(c, d)
	}
	visitNumbers(c, "columns", &d.Index)
	visitNumbers(c, "values", &d.Value)
}

func visitImages(c *codec.Codec, d *data.Dataset) {
	if c.Reading() {
		d.Images = new(data.Images)
	}
	m := d.Images
	codec.Number(c, "channels", &m.Channels, 1, math.MaxInt32)
	codec.Number(c, "height", &m.Height, 1, math.MaxInt32)
	codec.Number(c, "width", &m.Width, 1, math.MaxInt32)
	visitNumbers(c, "pixels", &m.Pixels)
	visitNumbers(c, "means", &m.Mean)
	visitNumbers(c, "deviations", &m.Std)
}

// visitStarts visits the offsets of the rows, in the form of the rows' lengths.
func visitStarts(c *codec.Codec, d *data.Dataset) {
	lengths := make([]int32, max(0, len(d.Start)-1))
	for i := range lengths {
		lengths[i] = int32(d.Start[i+1] - d.Start[i])
	}
	visitNumbers(c, "lengths of rows", &lengths)
	if !c.Reading() {
		return
	}
	d.Start = make([]int, 1, len(lengths)+1)
	for i, n := range lengths {
		if n < 0 {
			c.Fail("row %d has %d columns", i, n)
			return
		}
		d.Start = append(d.Start, d.Start[i]+int(n))
	}
}

func visitName(s *string, c *codec.Codec) { visitText(c, "name", s) }

func visitText(c *codec.Codec, what string, s *string) {
	b := []byte(*s)
	visitNumbers(c, what, &b)
	*s = string(b)
}

// visitNumbers visits a list of numbers, one part at a time. So memory is allocated only as data arrives.
func visitNumbers[T byte | int32 | float32](c *codec.Codec, what string, x *[]T) {
	const part = 1 << 16
	width := binary.Size(*new(T))
	n := len(*x)
	codec.Number(c, "number of "+what, &n, 0, int64(maxRecords/width))
	if c.Reading() {
		*x = nil
	}
	for at := 0; at < n && c.Err() == nil; at += part / width {
		k := min(part/width, n-at)
		b := c.Next(k * width)
		var err error
		if c.Reading() {
			*x = append(*x, make([]T, k)...)
			_, err = binary.Decode(b, binary.LittleEndian, (*x)[at:at+k])
		} else {
			_, err = binary.Encode(b, binary.LittleEndian, (*x)[at:at+k])
		}
		if err != nil {
			c.Fail("%s: %v", what, err)
		}
	}
}
