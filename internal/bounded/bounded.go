// Package bounded reads untrusted data up to a limit. A file without an end, such as /dev/zero or a
// pipe that is written forever, is an error and does not use up all memory.
package bounded

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// ErrTooLarge means that there are more bytes than the limit.
var ErrTooLarge = errors.New("too large")

// Reader returns a reader of r that fails with ErrTooLarge as soon as r has returned more bytes
// than the limit most. It returns the bytes up to the limit before that.
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

// File returns the content of the file at path. most is the largest allowed size in bytes. Errors
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
