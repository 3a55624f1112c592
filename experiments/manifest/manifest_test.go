package manifest

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// result is a manifest of a test.
type result struct {
	Title  string         `json:"title"`
	Scale  float64        `json:"scale"`
	Config map[string]int `json:"config"`
	Origin
	SHA256 string `json:"manifest_sha256"`
}

// One flipped bit in a manifest is seen, and so is a key that no manifest of its kind has.
func TestFlippedBitsAreSeen(t *testing.T) {
	var text bytes.Buffer
	if err := Write(&text, result{Title: "T", Scale: 0.05, Config: map[string]int{"b": 1, "a": 2}}); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), File)
	reads := func(text []byte, into *result) error {
		if err := os.WriteFile(path, text, 0o666); err != nil {
			t.Fatal(err)
		}
		return Read(path, into)
	}
	var read result
	if err := reads(text.Bytes(), &read); err != nil || read.Title != "T" || read.Config["a"] != 2 {
		t.Fatalf("read %+v, error %v", read, err)
	}
	if whole, err := Text(path); err != nil || !bytes.Equal(whole, text.Bytes()) {
		t.Errorf("text %s, error %v", whole, err)
	}
	flipped := bytes.Clone(text.Bytes())
	for bit := range 8 * len(flipped) {
		flipped[bit/8] ^= 1 << (bit % 8)
		if err := reads(flipped, &read); err == nil {
			t.Errorf("bit %d is not seen in\n%s", bit, flipped)
		}
		flipped[bit/8] ^= 1 << (bit % 8)
	}
	old := result{Scale: 1}
	if err := reads([]byte(`{"title": "before there were digests"}`), &old); err != nil || old.Scale != 1 {
		t.Errorf("a manifest of before there were digests: %+v, error %v", old, err)
	}
	if err := reads([]byte(`{"other": 1}`), &read); err == nil {
		t.Error("an unknown key is read")
	}
}

func TestReadNamesTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), File)
	var read result
	if err := Read(path, &read); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v of a file that is not there", err)
	}
	if err := os.WriteFile(path, []byte(`{"manifest_sha256": "0"}`), 0o666); err != nil {
		t.Fatal(err)
	}
	err := Read(path, &read)
	if !errors.Is(err, ErrDamaged) || !bytes.Contains([]byte(err.Error()), []byte(path)) {
		t.Errorf("error %v, must be of damage and name %s", err, path)
	}
}

// A manifest has one digest, of its own.
func TestWriteNeedsOneDigest(t *testing.T) {
	for _, bad := range []any{struct{}{}, struct {
		Inner  result `json:"inner"`
		SHA256 string `json:"manifest_sha256"`
	}{}} {
		if err := Write(new(bytes.Buffer), bad); err == nil {
			t.Errorf("%T is written", bad)
		}
	}
}
