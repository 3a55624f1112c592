// Package unpack reads files that may be compressed, and recognises files by their first bytes.
package unpack

import (
	"bufio"
	"bytes"
	"compress/bzip2"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"

	"proactivedp/internal/bounded"
)

// BufferSize is the size, in bytes, of the buffers of the readers.
const BufferSize = 1 << 16

// MaxBytes is the largest size of the content of a compressed file, because a few bytes may stand for any number.
const MaxBytes = 1 << 38

// maxWindow bounds the memory of a decompressor of zstd, in bytes. zstd --ultra needs at most half of it.
const maxWindow = 256 << 20

// Endings returns the file name endings of compressed files.
func Endings() []string { return []string{".gz", ".bz2", ".xz", ".zst"} }

// Reader returns the decompressed content of r if its first bytes are those of gzip, bzip2, xz or zstd, and otherwise
// the content of r itself.
func Reader(r io.Reader) (*bufio.Reader, error) { return reader(r, MaxBytes) }

// Returns is the error text for a file whose lines end in carriage returns without line feeds, as old
// programs for the Mac write them.
const Returns = `lines end in a carriage return alone, must end in a line feed (tr '\r' '\n' writes them so)`

// Mark is the byte order mark, with which some programs begin a text in UTF-8.
const Mark = "\uFEFF"

// SkipMark skips a byte order mark at the beginning of a text. It is an error if the text is UTF-16. Errors of
// reading appear at the next read.
func SkipMark(in *bufio.Reader) error {
	start, _ := in.Peek(len(Mark))
	if bytes.HasPrefix(start, []byte("\xff\xfe")) || bytes.HasPrefix(start, []byte("\xfe\xff")) {
		return errors.New("the text is UTF-16, must be UTF-8 (iconv -f UTF-16 -t UTF-8 writes it so)")
	}
	if string(start) == Mark {
		_, err := in.Discard(len(Mark))
		return err
	}
	return nil
}

// IsBlank reports whether c is a blank or a tab, which separate fields in files without commas.
func IsBlank(c rune) bool { return c == ' ' || c == '\t' }

// IsEntry reports whether a field has the form index:value of LIBSVM, where the index has only digits.
func IsEntry(field []byte) bool {
	index, _, colon := bytes.Cut(field, []byte{':'})
	return colon && len(index) > 0 && len(bytes.Trim(index, "0123456789")) == 0
}

func reader(r io.Reader, most int64) (*bufio.Reader, error) {
	in := bufio.NewReaderSize(r, BufferSize)
	magic, err := in.Peek(6)
	if err != nil && err != io.EOF {
		return nil, err
	}
	var z io.Reader
	switch err = nil; {
	case bytes.HasPrefix(magic, []byte("\x1f\x8b")):
		z, err = newMembers(in)
	case bytes.HasPrefix(magic, []byte("BZh")):
		z = bzip2.NewReader(in)
	case bytes.HasPrefix(magic, []byte("\xfd7zXZ\x00")):
		z, err = xz.NewReader(&streams{in: in})
	case bytes.HasPrefix(magic, []byte("\x28\xb5\x2f\xfd")):
		// One at a time decompresses without goroutines, so nobody has to close it.
		z, err = zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
	default:
		return in, nil
	}
	if err != nil {
		return nil, err
	}
	return bufio.NewReaderSize(bounded.Reader(z, most), BufferSize), nil
}

// members reads the members of a file of gzip one after another. Package gzip could do so, too, but it takes a file
// that ends in the name of a later member for a whole one.
type members struct {
	z  *gzip.Reader
	in *bufio.Reader
}

func newMembers(in *bufio.Reader) (io.Reader, error) {
	m := members{new(gzip.Reader), in}
	return m, m.next()
}

// next reads the header of a member.
func (m members) next() error {
	err := m.z.Reset(m.in)
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	m.z.Multistream(false)
	return err
}

// Read reads the content of the current member, and begins the next one at its end.
func (m members) Read(p []byte) (int, error) {
	n, err := m.z.Read(p)
	if err == io.EOF {
		if _, err = m.in.Peek(1); err == nil {
			err = m.next()
		}
	}
	return n, err
}

// streams is what package xz reads from. The package takes an end before the header of a block, or in it, for the end of
// the file. A whole file ends with YZ, the last bytes of a stream, and perhaps zeros.
type streams struct {
	in   *bufio.Reader
	last [2]byte // the last bytes that are not 0
}

func (s *streams) Read(p []byte) (int, error) {
	n, err := s.in.Read(p)
	for _, b := range p[:n] {
		if b != 0 {
			s.last = [2]byte{s.last[1], b}
		}
	}
	if err == io.EOF && s.last != [2]byte{'Y', 'Z'} {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// startSize is the number of bytes from which the kind of a file is recognised.
const startSize = 512

// Text does the same as Reader, for a file that must be text. If it is not, the error names its kind.
func Text(r io.Reader) (*bufio.Reader, error) {
	in, err := Reader(r)
	if err != nil {
		return nil, err
	}
	return in, checkText(in)
}

// checkText returns an error that says what the content is if no reader of text can read it.
func checkText(in *bufio.Reader) error {
	if k := recognise(in); k != Unknown {
		return fmt.Errorf("this is %s, which is not read: %s", k, k.Advice())
	}
	return nil
}

// recognise returns the kind of the content. The comments before an ARFF file are often longer than the bytes that
// Recognise looks at.
func recognise(in *bufio.Reader) Kind {
	start, _ := in.Peek(startSize) // an error will occur again in the next read
	k := Recognise(start)
	if k == Unknown && bytes.HasPrefix(start, []byte("%")) {
		if start, _ = in.Peek(BufferSize); isARFF(start) {
			return arff
		}
	}
	return k
}

// KindOf returns the kind of the file at path, after decompression. It returns Unknown if the file cannot be read, is
// not a regular file, or is text. A zip archive that contains only a text file counts as text.
func KindOf(path string) Kind {
	k, _ := Start(path)
	return k
}

// Start returns the kind of a file, see KindOf, and its first bytes after decompression, at most BufferSize, if it
// can be read. For a zip archive that counts as text, these are the first bytes of the text.
func Start(path string) (Kind, []byte) {
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return Unknown, nil // reading would take bytes from a pipe
	}
	f, err := os.Open(path)
	if err != nil {
		return Unknown, nil
	}
	defer f.Close()
	in, err := Reader(f)
	if err != nil {
		return Unknown, nil
	}
	k := recognise(in)
	start, _ := in.Peek(BufferSize)
	if k == Zip {
		if text, err := inZip(f); err == nil && checkText(text) == nil {
			start, _ = text.Peek(BufferSize)
			return Unknown, start
		}
	}
	return k, start
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
