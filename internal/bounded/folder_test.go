package bounded

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A folder that somebody else made: links out of it and within it, folders that are links, and
// names that lead out. The secret is never read.
func TestWithinFollowsNoLink(t *testing.T) {
	outside := t.TempDir()
	secret := filepath.Join(outside, "secret")
	dir := t.TempDir()
	if err := errors.Join(os.WriteFile(secret, []byte("secret"), 0o600),
		os.WriteFile(filepath.Join(dir, "plain"), []byte("plain"), 0o600),
		os.Mkdir(filepath.Join(dir, "folder"), 0o700),
		os.WriteFile(filepath.Join(dir, "folder", "deep"), []byte("deep"), 0o600)); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Symlink(secret, filepath.Join(dir, "out")),
		os.Symlink(outside, filepath.Join(dir, "away")), os.Symlink("plain", filepath.Join(dir, "in")),
		os.Symlink("folder", filepath.Join(dir, "aside"))); err != nil {
		t.Skip(err)
	}
	for name, want := range map[string]error{"plain": nil, "folder/deep": nil, "folder/../plain": nil,
		"out": ErrNotPlain,
		"in":  ErrNotPlain, "away/secret": ErrNotPlain, "aside/deep": ErrNotPlain, "folder": ErrNotPlain,
		"none": fs.ErrNotExist, "folder/none": fs.ErrNotExist} {
		text, err := Within(dir, filepath.FromSlash(name), 10)
		if !errors.Is(err, want) || (err == nil) != (want == nil) || (want != nil && text != nil) {
			t.Errorf("%s: %q, %v, want %v", name, text, err, want)
		}
		if err != nil && !strings.HasPrefix(err.Error(), filepath.Join(dir, filepath.FromSlash(name))+": ") {
			t.Errorf("%s: %v does not name it", name, err)
		}
	}
	up, err := filepath.Rel(dir, secret)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{up, secret, filepath.Join("folder", "..", up)} {
		if text, err := Within(dir, name, 10); err == nil {
			t.Errorf("%s: %q was read", name, text)
		}
	}
	if text, err := Within(dir, "plain", 5); string(text) != "plain" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
	if _, err := Within(dir, "plain", 4); !errors.Is(err, ErrTooLarge) {
		t.Errorf("more bytes than may be: %v", err)
	}
	if _, err := Within(filepath.Join(dir, "none"), "plain", 5); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a folder that is not there: %v", err)
	}
	linked := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, linked); err != nil {
		t.Fatal(err)
	}
	if text, err := Within(linked, "plain", 5); string(text) != "plain" || err != nil {
		t.Errorf("the folder itself, which the user names, may be a link: %q, %v", text, err)
	}
}

// Regular follows the links of a file that the user names.
func TestRegular(t *testing.T) {
	dir := t.TempDir()
	path, link := filepath.Join(dir, "plain"), filepath.Join(dir, "link")
	if err := os.WriteFile(path, []byte("plain"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(path, link); err != nil {
		t.Skip(err)
	}
	for _, name := range []string{path, link} {
		f, err := Regular(name)
		if err != nil {
			t.Fatal(err)
		}
		if text, err := io.ReadAll(f); string(text) != "plain" || err != nil {
			t.Errorf("%q, %v", text, err)
		}
		f.Close()
	}
	for name, want := range map[string]error{dir: ErrNotPlain, filepath.Join(dir, "none"): fs.ErrNotExist} {
		if f, err := Regular(name); !errors.Is(err, want) {
			t.Errorf("%v, %v, want %v", f, err, want)
		}
	}
}
