// Package unpack reads files that may be compressed.
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

// Reader returns the decompressed content of r if its first bytes are those of gzip or bzip2,
// otherwise r itself.
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

// File calls read with the decompressed content of the file at path. Errors name the path.
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
