package report

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// HoldsOurs reports whether dir holds a file of that name. One that does not
// begin with the mark is somebody's own, not what was expected: an error.
func HoldsOurs(dir, name, mark, expected string) (bool, error) {
	text, err := os.ReadFile(filepath.Join(dir, name))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("report: out: %w", err)
	case !strings.HasPrefix(string(text), mark):
		return false, fmt.Errorf("report: out = %q holds a %s that is not %s: name another folder", dir, name, expected)
	}
	return true, nil
}
