package experiments

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"proactivedp/experiments/manifest"
	"proactivedp/internal/lockfile"
	"proactivedp/train"
)

// A damaged manifest is seen before it stands in an index.
func TestDamagedManifestsAreSeen(t *testing.T) {
	var text bytes.Buffer
	m := Manifest{Figure: "phishing-logreg-utility", Title: "T", Scale: 0.05}
	if err := manifest.Write(&text, m); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, m.Figure), 0o777); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, m.Figure, manifest.File)
	if err := os.WriteFile(path, bytes.Replace(text.Bytes(), []byte("0.05"), []byte("0.06"), 1), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := checkIndex(dir, nil); !errors.Is(err, manifest.ErrDamaged) || !strings.Contains(err.Error(), path) {
		t.Errorf("a folder with a damaged manifest: %v", err)
	}
	figures, err := Select([]string{m.Figure})
	if err != nil {
		t.Fatal(err)
	}
	if err := checkIndex(dir, figures); err != nil {
		t.Errorf("its figure is made anew: %v", err)
	}
}

// Two calls do not write to one folder: the second is refused by name.
func TestFoldersBelongToOneCall(t *testing.T) {
	dir := t.TempDir()
	lock, err := lockfile.Folder(dir)
	if err != nil {
		t.Fatal(err)
	}
	figures, err := Select([]string{"phishing-logreg-utility"})
	if err != nil {
		t.Fatal(err)
	}
	_, compared := DefaultDelaySpec("", "").Compare(t.Context(), train.NewSource(drawn()), DelayOptions{Out: dir})
	for name, err := range map[string]error{
		"Make":    Make(t.Context(), figures, options(t, dir)),
		"Compare": compared,
	} {
		if !errors.Is(err, lockfile.ErrHeld) || !strings.Contains(err.Error(), dir) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := lock.Release(); err != nil {
		t.Fatal(err)
	}
}
