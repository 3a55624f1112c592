// This file reads a zip archive that has one file, as published tables often are.

package unpack

import (
	"archive/zip"
	"bufio"
	"fmt"
	"io"
	"os"
	"path"
	"strings"

	"github.com/klauspost/compress/flate"

	"proactivedp/internal/bounded"
)

// maxDirectory is the largest size of the list of an archive's files, in bytes.
const maxDirectory = 16 << 20

// Encrypted is the bit of a file's flags in a zip archive that says that the file is encrypted
// (APPNOTE.TXT of PKWARE, section 4.4.4).
const Encrypted = 1

// OpenZip reads the list of the files in a zip archive of size bytes. It limits the memory for the list.
func OpenZip(f io.ReaderAt, size int64) (*zip.Reader, error) {
	list := &listing{file: f, left: maxDirectory}
	z, err := zip.NewReader(list, size)
	list.done = true
	if err == nil {
		z.RegisterDecompressor(zip.Deflate, flate.NewReader)
	}
	return z, err
}

// listing is a file from which only a limited number of bytes can be read until done is set.
type listing struct {
	file io.ReaderAt
	left int64
	done bool
}

func (l *listing) ReadAt(to []byte, at int64) (int, error) {
	if !l.done {
		if l.left -= int64(len(to)); l.left < 0 {
			return 0, fmt.Errorf("%w: a list of files of more than %d bytes", bounded.ErrTooLarge, int64(maxDirectory))
		}
	}
	return l.file.ReadAt(to, at)
}

// entry returns the only file of a zip archive. It does not count folders and what macOS adds.
func entry(f *os.File) (*zip.File, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	z, err := OpenZip(f, info.Size())
	if err != nil {
		return nil, err
	}
	var found []*zip.File
	for _, e := range z.File {
		if !strings.HasSuffix(e.Name, "/") && !strings.HasPrefix(e.Name, "__MACOSX/") && path.Base(e.Name) != ".DS_Store" {
			found = append(found, e)
		}
	}
	switch {
	case len(found) != 1:
		return nil, fmt.Errorf("this is %s of %d files, must have one: %s", Zip, len(found), Zip.Advice())
	case found[0].Flags&Encrypted != 0:
		return nil, fmt.Errorf("this is an encrypted zip archive: %s", Zip.Advice())
	}
	return found[0], nil
}

// inZip returns the decompressed content of the only file of a zip archive.
func inZip(f *os.File) (*bufio.Reader, error) {
	e, err := entry(f)
	if err != nil {
		return nil, err
	}
	in, err := e.Open()
	if err != nil {
		return nil, err
	}
	return bufio.NewReaderSize(bounded.Reader(in, MaxBytes), BufferSize), nil
}

// TextFile does the same as [Text], for a file f that r reads from its beginning. It also reads a zip archive that
// has only a text file. It then does not use r, so a progress bar in r shows nothing.
func TextFile(f *os.File, r io.Reader) (*bufio.Reader, error) {
	in, err := Reader(r)
	if err != nil {
		return nil, err
	}
	start, _ := in.Peek(startSize) // an error will occur again in the next read
	if Recognise(start) == Zip {
		if in, err = inZip(f); err != nil {
			return nil, err
		}
	}
	return in, checkText(in)
}

// Name returns a name whose ending says what is in the file at path. For a zip archive it is the name of the text in
// it, see [TextFile]. Otherwise it is path itself.
func Name(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return path
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return path
	}
	start := make([]byte, startSize)
	n, _ := io.ReadFull(f, start)
	if Recognise(start[:n]) != Zip {
		return path
	}
	if e, err := entry(f); err == nil {
		return e.Name
	}
	return path
}
