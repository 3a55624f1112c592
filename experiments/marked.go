package experiments

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// holdsOurs reports whether dir holds a file of that name. One that does not
// begin with the mark is somebody's own, not what was expected: an error.
func holdsOurs(dir, name, mark, expected string) (bool, error) {
	text, err := os.ReadFile(filepath.Join(dir, name))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("experiments: out: %w", err)
	case !strings.HasPrefix(string(text), mark):
		return false, fmt.Errorf("experiments: out = %q holds a %s that is not %s: name another folder", dir, name, expected)
	}
	return true, nil
}
