// Package bounded reads untrusted data up to a size limit. A file without an end, such as /dev/zero or a pipe that is
// written forever, then gives an error instead of using up all memory.
package bounded

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// ErrTooLarge is the error, usually wrapped, for data that has more bytes than the limit.
var ErrTooLarge = errors.New("too large")

// Reader returns a reader of r that fails with ErrTooLarge once r has returned more than most bytes. Before that, it
// returns the first most bytes.
func Reader(r io.Reader, most int64) io.Reader { return &reader{r: r, left: most, most: most} }

type reader struct {
	r          io.Reader
	left, most int64
	err        error // of the last read; some decompressors would continue after theirs
}

func (b *reader) Read(p []byte) (int, error) {
	if len(p) == 0 || b.err != nil {
		return 0, b.err
	}
	// Ask for one byte beyond the limit, to tell an end from more content.
	if int64(len(p))-1 > b.left {
		p = p[:b.left+1]
	}
	n, err := b.r.Read(p)
	if int64(n) > b.left {
		n = int(b.left)
		err = fmt.Errorf("%w: more than %d bytes", ErrTooLarge, b.most)
	}
	b.left -= int64(n)
	b.err = err
	return n, err
}

// File returns the content of the file at path. If it has more than most bytes, the error wraps ErrTooLarge. Errors
// name the path.
func File(path string, most int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(Reader(f, most))
	if errors.Is(err, ErrTooLarge) {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return text, err
}
