//go:build unix

package pool

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"proactivedp/internal/bounded"
)

// A folder of cells that somebody else made: a cell behind a link is not read, which would be written
// over if it were damaged, and a pipe is not waited for.
func TestCellsAreNoLinksAndNoPipes(t *testing.T) {
	s, other := store{t.TempDir()}, store{t.TempDir()}
	if _, err := other.save("key", Trial{Accuracy: 0.5, Rows: 2}, 0); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]func(path string) error{
		"link": func(path string) error { return os.Symlink(other.path("key"), path) },
		"pipe": func(path string) error { return syscall.Mkfifo(path, 0o600) },
	} {
		if err := errors.Join(c(s.path("key")), c(s.timePath("key"))); err != nil {
			t.Skip(err)
		}
		got, err := s.load("key", func(json.RawMessage) error { return nil })
		if !errors.Is(err, bounded.ErrNotPlain) {
			t.Errorf("%s: %s, %v, want that it is no regular file", name, got, err)
		}
		if took := s.took("key"); took != 0 {
			t.Errorf("%s: took %v", name, took)
		}
		for _, path := range []string{s.path("key"), s.timePath("key")} {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		}
	}
	if entries, err := filepath.Glob(filepath.Join(s.dir, "*")); err != nil || len(entries) > 0 {
		t.Errorf("%v, %v", entries, err)
	}
}
