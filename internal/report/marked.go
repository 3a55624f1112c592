package report

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"proactivedp/internal/bounded"
)

// maxMarked bounds the files that are looked at, in bytes.
const maxMarked = 16 << 20

// HoldsOurs reports whether dir holds a file of that name. One that does not
// begin with the mark is somebody's own, not what was expected: an error.
func HoldsOurs(dir, name, mark, expected string) (bool, error) {
	text, err := bounded.Within(dir, name, maxMarked)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("out: %w", err)
	case !strings.HasPrefix(string(text), mark):
		return false, fmt.Errorf("out = %q holds a %s that is not %s: name another folder", dir, name, expected)
	}
	return true, nil
}
