package files

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestWriteSetIsAllOrNothing(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	set := func(a, b, seal func(io.Writer) error) error {
		return WriteSet([]Output{{at("a"), a}, {at("b"), b}}, Output{at("seal"), seal})
	}
	has := func(want string) {
		t.Helper()
		if got := names(t, dir); !slices.Equal(got, []string{"a", "b", "seal"}) {
			t.Fatalf("the folder has %v", got)
		}
		for _, name := range []string{"a", "b", "seal"} {
			if text, err := os.ReadFile(at(name)); err != nil || string(text) != want {
				t.Errorf("%s holds %q, %v, want %q", name, text, err, want)
			}
		}
	}
	for _, text := range []string{"old", "new"} {
		if err := set(put(text), put(text), put(text)); err != nil {
			t.Fatal(err)
		}
		has(text)
	}
	broken := errors.New("broken")
	fail := func(io.Writer) error { return broken }
	for i, err := range []error{
		set(fail, put("x"), put("x")), set(put("x"), fail, put("x")), set(put("x"), put("x"), fail),
	} {
		if !errors.Is(err, broken) {
			t.Errorf("writer %d: %v", i, err)
		}
		has("new")
	}
}

// While the files of a set are moved to their places, there is no seal. An old one would describe other
// files.
func TestWriteSetWithoutItsSealIsIncomplete(t *testing.T) {
	dir := t.TempDir()
	seal := filepath.Join(dir, "seal")
	if err := Write(seal, put("old")); err != nil {
		t.Fatal(err)
	}
	blocked := filepath.Join(dir, "blocked")
	err := WriteSet([]Output{{blocked, func(io.Writer) error {
		return os.MkdirAll(filepath.Join(blocked, "full"), 0o777) // it cannot be replaced
	}}}, Output{seal, put("new")})
	if err == nil {
		t.Fatal("a folder was replaced by a file")
	}
	if got := names(t, dir); !slices.Equal(got, []string{"blocked"}) {
		t.Errorf("the folder has %v, want no seal", got)
	}
}
