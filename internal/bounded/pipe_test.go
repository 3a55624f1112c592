//go:build unix

package bounded

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// A named pipe without a writer, a socket and a device are refused at once. With a wait for the
// writer this test would not end.
func TestPipesAndDevices(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Skip(err)
	}
	if err := os.Symlink("/dev/zero", filepath.Join(dir, "zero")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"pipe", "zero"} {
		if text, err := Within(dir, name, 10); !errors.Is(err, ErrNotPlain) {
			t.Errorf("%s: %q, %v", name, text, err)
		}
		if f, err := Regular(filepath.Join(dir, name)); !errors.Is(err, ErrNotPlain) {
			t.Errorf("%s: %v, %v", name, f, err)
		}
	}
}
