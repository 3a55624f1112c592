// Package bounded reads what somebody else wrote, and never more of it than a
// limit: a file that has no end (/dev/zero, a pipe that is fed for ever) is an
// error, not all memory.
package bounded

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// ErrTooLarge reports that more bytes came than the limit.
var ErrTooLarge = errors.New("too large")

// Reader returns r, which fails with ErrTooLarge as soon as more than most bytes
// have come of it. The bytes up to the limit are handed out before.
func Reader(r io.Reader, most int64) io.Reader { return &reader{r: r, left: most, most: most} }

type reader struct {
	r          io.Reader
	left, most int64
}

func (b *reader) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	// One byte beyond the limit is asked for, which tells an end from more.
	if int64(len(p))-1 > b.left {
		p = p[:b.left+1]
	}
	n, err := b.r.Read(p)
	if int64(n) > b.left {
		n = int(b.left)
		err = fmt.Errorf("%w: more than %d bytes", ErrTooLarge, b.most)
	}
	b.left -= int64(n)
	return n, err
}

// File returns the content of the file at path, which may have most bytes.
// Errors name the path.
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
