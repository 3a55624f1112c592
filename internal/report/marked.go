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

// HoldsOurs reports whether the folder dir has a file with this name that this program wrote, so that it may be
// replaced. Such a file begins with mark. If the file begins with other text, the error says so; expected describes
// in it the file that was expected.
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
