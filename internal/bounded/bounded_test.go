package bounded

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
)

type zeros struct{ read int }

func (z *zeros) Read(p []byte) (int, error) {
	clear(p)
	z.read += len(p)
	return len(p), nil
}

func TestReaderEndsAtTheLimit(t *testing.T) {
	for _, size := range []int{0, 1, 7, 8, 9, 100} {
		for name, wrap := range map[string]func(io.Reader) io.Reader{
			"whole":    func(r io.Reader) io.Reader { return r },
			"one byte": iotest.OneByteReader,
			"with EOF": iotest.DataErrReader,
		} {
			content := bytes.Repeat([]byte("x"), size)
			got, err := io.ReadAll(Reader(wrap(bytes.NewReader(content)), 8))
			if len(got) != min(size, 8) || errors.Is(err, ErrTooLarge) != (size > 8) || size <= 8 && err != nil {
				t.Errorf("%s, %d bytes: %d read, %v", name, size, len(got), err)
			}
		}
	}
}

func TestReaderTakesNoMoreThanOneByteBeyond(t *testing.T) {
	z := &zeros{}
	if _, err := io.ReadAll(Reader(z, 1000)); !errors.Is(err, ErrTooLarge) {
		t.Error(err)
	}
	if z.read > 1001 {
		t.Errorf("%d bytes taken, want at most 1001", z.read)
	}
}

func TestFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if _, err := File(path, 3); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	if err := os.WriteFile(path, []byte("abc"), 0o666); err != nil {
		t.Fatal(err)
	}
	if text, err := File(path, 3); err != nil || string(text) != "abc" {
		t.Errorf("%q, %v", text, err)
	}
	if _, err := File(path, 2); !errors.Is(err, ErrTooLarge) ||
		!strings.Contains(err.Error(), path+": too large: more than 2 bytes") {
		t.Error(err)
	}
}
