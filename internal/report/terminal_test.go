package report

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// What is no terminal has no columns: a buffer, a file, a pipe, the null device.
func TestColumnsOfWhatIsNoTerminal(t *testing.T) {
	if n := Columns(new(bytes.Buffer)); n != 0 {
		t.Errorf("a buffer has %d columns", n)
	}
	file, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	for _, f := range []*os.File{file, w, null} {
		if n := Columns(f); n != 0 {
			t.Errorf("%s has %d columns", f.Name(), n)
		}
	}
}
