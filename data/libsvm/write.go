package libsvm

import (
	"bufio"
	"fmt"
	"io"
	"strconv"

	"proactivedp/data"
	"proactivedp/internal/unpack"
)

// Write writes d in the format that Parse reads, with classes 0 and 1 as labels. Parsing gives the
// same Hash if both classes occur and no stored entry is zero. If no entry is in the last column,
// the first row gets an explicit zero there, to keep the number of features. It is an error if d is
// invalid, does not have two classes, has images, or was published in two parts; those are two
// files (see Options.Test).
func Write(w io.Writer, d *data.Dataset) error {
	if err := d.Validate(); err != nil {
		return fmt.Errorf("write %s: %w", d.Name, err)
	}
	if d.Images != nil {
		return fmt.Errorf("write %s: it has images, must have sparse rows", d.Name)
	}
	if d.Classes != 2 {
		return fmt.Errorf("write %s: classes = %d, must be 2", d.Name, d.Classes)
	}
	if d.Train != 0 {
		return fmt.Errorf("write %s: training rows = %d, must be 0: the file would not separate them, and the test rows "+
			"would be trained on", d.Name, d.Train)
	}
	width := 0
	for _, c := range d.Index {
		width = max(width, int(c)+1)
	}
	out := bufio.NewWriterSize(w, unpack.BufferSize)
	var line []byte
	for i := range d.Len() {
		row := d.Row(i)
		line = strconv.AppendInt(line[:0], int64(d.Label[i]), 10)
		for j, c := range row.Index {
			line = appendEntry(line, int(c)+1, row.Value[j])
		}
		if i == 0 && width < d.Features {
			line = appendEntry(line, d.Features, 0)
		}
		if _, err := out.Write(append(line, '\n')); err != nil {
			return fmt.Errorf("write %s: %w", d.Name, err)
		}
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write %s: %w", d.Name, err)
	}
	return nil
}

func appendEntry(line []byte, index int, value float32) []byte {
	line = append(line, ' ')
	line = strconv.AppendInt(line, int64(index), 10)
	line = append(line, ':')
	return strconv.AppendFloat(line, float64(value), 'g', -1, 32)
}
