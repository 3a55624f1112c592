//go:build unix

package auto

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"proactivedp/internal/bounded"
)

// A link or a pipe in the place of a loop's journal, secret or model is refused, so nothing outside the
// loop's folder is read.
func TestFoldersOfLoopsHaveNoLinks(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(outside, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	model := fmt.Sprintf(modelFile, 0)
	for name, read := range map[string]func(dir string) error{
		JournalFile: func(dir string) error { _, err := readJournal(dir); return err },
		secretFile:  func(dir string) error { _, err := readSecret(dir, "root"); return err },
		model:       func(dir string) error { _, err := readModel(filepath.Join(dir, model)); return err },
	} {
		for kind, put := range map[string]func(path string) error{
			"link": func(path string) error { return os.Symlink(outside, path) },
			"pipe": func(path string) error { return syscall.Mkfifo(path, 0o600) },
		} {
			dir := t.TempDir()
			if err := put(filepath.Join(dir, name)); err != nil {
				t.Skip(err)
			}
			if err := read(dir); !errors.Is(err, bounded.ErrNotPlain) {
				t.Errorf("%s as a %s: %v, want that it is no regular file", name, kind, err)
			}
		}
	}
}
