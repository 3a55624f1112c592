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

// HoldsOurs reports whether the folder dir has a file of this name that this program wrote, so that the
// program may replace it. It recognises such a file by its beginning, which must be mark. If the file
// begins with other text, HoldsOurs returns an error, in which expected describes the file that was
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
