package unpack

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

func TestExpected(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, bytes.Repeat([]byte("1"), 4*enoughRead), 0o666); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, c := range []struct {
		read int64
		want float64
	}{{0, 0}, {enoughRead - 1, 0}, {enoughRead, 4000 * (1 + spare)}, {2 * enoughRead, 2000 * (1 + spare)}} {
		if _, err := f.Seek(c.read, 0); err != nil {
			t.Fatal(err)
		}
		if got := Expected(f, Done(f), 1000); got != c.want {
			t.Errorf("after %d bytes: %v, want %v", c.read, got, c.want)
		}
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	defer r.Close()
	if Done(nil) != 0 || Done(r) != 0 || Expected(nil, enoughRead, 1) != 0 {
		t.Error("it is known how much of a pipe was read")
	}
}
