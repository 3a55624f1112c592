package report

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"proactivedp/internal/bounded"
)

// maxMarked is the largest size of a file that HoldsOurs reads, in bytes.
const maxMarked = 16 << 20

// HoldsOurs reports whether dir has a file with that name. If the file does not begin with mark, it was
// not written by this program, and HoldsOurs returns an error. expected describes the file that was
// expected.
func HoldsOurs(dir, name, mark, expected string) (bool, error) {
	text, err := bounded.Within(dir, name, maxMarked)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("out: %w", err)
	case !strings.HasPrefix(string(text), mark):
		return false, fmt.Errorf("out = %q has a %s that is not %s: give another folder", dir, name, expected)
	}
	return true, nil
}
