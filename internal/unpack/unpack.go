// Package unpack reads files whether or not they are compressed.
package unpack

import (
	"bufio"
	"bytes"
	"compress/bzip2"
	"compress/gzip"
	"fmt"
	"io"
	"os"
)

// BufferSize is the size, in bytes, of the buffers of the readers.
const BufferSize = 1 << 16

// Reader returns r without its compression by gzip or bzip2, as its first bytes
// say, or r as it is.
func Reader(r io.Reader) (*bufio.Reader, error) {
	in := bufio.NewReaderSize(r, BufferSize)
	magic, err := in.Peek(3)
	if err != nil && err != io.EOF {
		return nil, err
	}
	switch {
	case bytes.HasPrefix(magic, []byte("\x1f\x8b")):
		z, err := gzip.NewReader(in)
		if err != nil {
			return nil, err
		}
		return bufio.NewReaderSize(z, BufferSize), nil
	case bytes.HasPrefix(magic, []byte("BZh")):
		return bufio.NewReaderSize(bzip2.NewReader(in), BufferSize), nil
	}
	return in, nil
}

// File calls read with the content of the file at path, without its compression.
// Errors name the path.
func File(path string, read func(io.Reader) error) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	in, err := Reader(f)
	if err == nil {
		err = read(in)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}
