package unpack

import (
	"archive/zip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"proactivedp/internal/bounded"
)

// writeZip writes a zip archive of files with these names and contents, and returns its path.
func writeZip(t *testing.T, name string, files ...[2]string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	z := zip.NewWriter(f)
	for _, file := range files {
		w, err := z.Create(file[0])
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, file[1]); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// The only file of a zip archive is read as it is, whatever macOS adds. Its name says what it is. Several files,
// none, a file that is no text, and an archive that is cut off are refused by name.
func TestTextInAZip(t *testing.T) {
	const text = "a,b\n1,2\n"
	read := func(path string) (string, error) {
		f, err := os.Open(path)
		if err != nil {
			return "", err
		}
		defer f.Close()
		in, err := TextFile(f, f)
		if err != nil {
			return "", err
		}
		got, err := io.ReadAll(in)
		return string(got), err
	}
	good := writeZip(t, "archive.zip", [2]string{"data/", ""}, [2]string{"data/adult.csv", text},
		[2]string{"__MACOSX/data/._adult.csv", "\x00\x05"}, [2]string{"data/.DS_Store", "\x00"})
	if got, err := read(good); err != nil || got != text || Name(good) != "data/adult.csv" || KindOf(good) != Unknown {
		t.Errorf("%q, %v, named %s, kind %q", got, err, Name(good), KindOf(good))
	}
	whole, err := os.ReadFile(good)
	if err != nil {
		t.Fatal(err)
	}
	cut := filepath.Join(t.TempDir(), "cut.zip")
	if err := os.WriteFile(cut, whole[:len(whole)-30], 0o666); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		writeZip(t, "two.zip", [2]string{"train.csv", text}, [2]string{"test.csv", text}): "of 2 files, must have one: unzip FILE",
		writeZip(t, "bytes.zip", [2]string{"model.bin", "\x00\x01\x02"}):                  "which is not read",
		writeZip(t, "nested.zip", [2]string{"in.csv", string(whole)}):                     "which is not read",
		cut: "zip: not a valid zip file",
	} {
		if _, err := read(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", filepath.Base(path), err, want)
		}
		if KindOf(path) != Zip || filepath.Base(path) == "two.zip" && Name(path) != path {
			t.Errorf("%s: kind %q, named %s", path, KindOf(path), Name(path))
		}
	}
}

// The list of an archive's files is bounded, for every reader of one.
func TestListIsBounded(t *testing.T) {
	long := [2]string{strings.Repeat("n", 60_000), ""}
	path := writeZip(t, "long.zip", slices.Repeat([][2]string{long}, maxDirectory/60_000+1)...)
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := OpenZip(f, info.Size()); !errors.Is(err, bounded.ErrTooLarge) {
		t.Errorf("a list of more than %d bytes: %v", maxDirectory, err)
	}
	if _, err := TextFile(f, f); !errors.Is(err, bounded.ErrTooLarge) {
		t.Errorf("a text in it: %v", err)
	}
}
