package pool

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"proactivedp/sim"
	"proactivedp/train"
)

// flips calls try with text after each of its bits was flipped, one at a time.
func flips(text []byte, try func(bit int, flipped []byte)) {
	flipped := bytes.Clone(text)
	for bit := range 8 * len(text) {
		flipped[bit/8] ^= 1 << (bit % 8)
		try(bit, flipped)
		flipped[bit/8] ^= 1 << (bit % 8)
	}
}

// One flipped bit in a finished cell never changes its result: the cell is damaged.
// The case of its keys may change.
func TestFlippedBitsOfCellsAreSeen(t *testing.T) {
	s := store{t.TempDir()}
	text, err := s.save("key", Trial{Accuracy: 0.9636, Rows: 1000}, 0)
	if err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(s.path("key"))
	if err != nil {
		t.Fatal(err)
	}
	good := func(json.RawMessage) error { return nil }
	taken := 0
	flips(whole, func(bit int, flipped []byte) {
		if err := os.WriteFile(s.path("key"), flipped, 0o666); err != nil {
			t.Fatal(err)
		}
		got, err := s.load("key", good)
		switch {
		case err == nil && bytes.Equal(got, text):
			taken++
		case !errors.Is(err, errDamaged):
			t.Errorf("bit %d: result %s, %v", bit, got, err)
		}
	})
	if keys := len("key" + "sha256" + "result"); taken > keys {
		t.Errorf("%d flips were not seen, want at most those of the case of %d letters", taken, keys)
	}
	// Neither is a cell of another key taken, nor one of before there were digests.
	if _, err := s.save("kex", Trial{Accuracy: 0.9636, Rows: 1000}, 0); err != nil {
		t.Fatal(err)
	}
	other, err := os.ReadFile(s.path("kex"))
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{string(other), strings.Replace(string(whole), `:"key"`, `:"kex"`, 1), string(text),
		`{"key":"key","result":7}`} {
		if err := os.WriteFile(s.path("key"), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		if got, err := s.load("key", good); !errors.Is(err, errDamaged) {
			t.Errorf("%s: result %s, %v", text, got, err)
		}
	}
	if err := os.WriteFile(s.path("key"), whole, 0o666); err != nil {
		t.Fatal(err)
	}
	if got, err := s.load("key", good); err != nil || !bytes.Equal(got, text) {
		t.Errorf("the whole cell: %s, %v", got, err)
	}
}

func TestDamagedCellsAreSaid(t *testing.T) {
	dir := t.TempDir()
	c := Cell{
		Spec:  "x",
		Cost:  free,
		Run:   func(context.Context, sim.Perf, func(float64), train.Keep) (any, error) { return 7, nil },
		Check: checkInt,
	}
	key, err := c.Key()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, key+".json"), []byte("8"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"computed again: 1 training in " + dir + "\n", ""} {
		var said bytes.Buffer
		results, _, err := Run(t.Context(), []Cell{c}, Options{Folder: dir, Workers: 1, Progress: &said})
		if err != nil || string(results[0]) != "7" {
			t.Errorf("result %s, error %v", results, err)
		}
		if has := strings.Contains(said.String(), "damaged"); has != (want != "") ||
			!strings.Contains(said.String(), want) {
			t.Errorf("said %q, want %q", said.String(), want)
		}
	}
}

// Cells of architectures that give other last bits are other cells; those of the
// usual one have the keys that they had before there were architectures in them.
func TestKeysTellArchitectures(t *testing.T) {
	c := Cell{Spec: "x", Code: 4}
	seen := map[string]string{}
	for _, arch := range []string{"amd64", "amd64+fma", "arm64"} {
		key, err := c.keyOn(arch)
		if err != nil {
			t.Fatal(err)
		}
		if other, ok := seen[key]; ok {
			t.Errorf("%s and %s have the same key", arch, other)
		}
		seen[key] = arch
	}
	sum := sha256.Sum256([]byte(`{"version":4,"spec":"x"}`))
	if seen[hex.EncodeToString(sum[:16])] != "amd64" {
		t.Errorf("the key of the usual architecture has changed: %v", seen)
	}
}
