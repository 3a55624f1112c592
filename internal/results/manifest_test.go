package results

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
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
	if err := WriteManifest(&text, result{Title: "T", Scale: 0.05, Config: map[string]int{"b": 1, "a": 2}}); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), ManifestFile)
	reads := func(text []byte, into *result) error {
		if err := os.WriteFile(path, text, 0o666); err != nil {
			t.Fatal(err)
		}
		return ReadManifest(filepath.Dir(path), "", into)
	}
	var read result
	if err := reads(text.Bytes(), &read); err != nil || read.Title != "T" || read.Config["a"] != 2 {
		t.Fatalf("read %+v, error %v", read, err)
	}
	if whole, err := ManifestText(filepath.Dir(path), ""); err != nil || !bytes.Equal(whole, text.Bytes()) {
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
	path := filepath.Join(t.TempDir(), ManifestFile)
	var read result
	if err := ReadManifest(filepath.Dir(path), "", &read); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v of a file that is not there", err)
	}
	if err := os.WriteFile(path, []byte(`{"manifest_sha256": "0"}`), 0o666); err != nil {
		t.Fatal(err)
	}
	err := ReadManifest(filepath.Dir(path), "", &read)
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
		if err := WriteManifest(new(bytes.Buffer), bad); err == nil {
			t.Errorf("%T is written", bad)
		}
	}
}

// One flipped bit in the data beside a manifest is seen, if that has their digest.
func TestTablesHaveADigest(t *testing.T) {
	table := [][]string{{"a", "b"}, {"1", "x, \"y\""}}
	digest, err := Digest(table)
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if err := WriteTable(&text, table); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	reads := func(text []byte, digest string) error {
		if err := os.WriteFile(filepath.Join(dir, TableFile), text, 0o666); err != nil {
			t.Fatal(err)
		}
		read, err := ReadTable(dir, "", digest)
		if err == nil && !bytes.Equal(read, text) {
			t.Errorf("%q is read as %q", text, read)
		}
		return err
	}
	if err := errors.Join(reads(text.Bytes(), digest), reads(text.Bytes(), "")); err != nil {
		t.Error(err)
	}
	for bit := range 8 * text.Len() {
		flipped := bytes.Clone(text.Bytes())
		flipped[bit/8] ^= 1 << (bit % 8)
		if err := reads(flipped, digest); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), TableFile) {
			t.Fatalf("bit %d of %q: error %v", bit, flipped, err)
		}
		if err := reads(flipped, ""); err != nil {
			t.Fatalf("without a digest: %v", err)
		}
	}
	if _, err := ReadTable(t.TempDir(), "", ""); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no data: error %v", err)
	}
}

// Settings that differ anywhere are told by their place; what they cost is not looked at.
func TestOtherSettings(t *testing.T) {
	type spec struct {
		Eta0    float64 `json:"eta0"`
		Delay   string  `json:"delay,omitempty"`
		Privacy any     `json:"privacy,omitempty"`
	}
	settings := map[string]any{"train": []spec{{0.1, "1", 0.3}, {0.2, "", nil}}, "points": 50, "average": nil}
	const same = `{"points": 50, "average": null, "train": [{"eta0": 0.1, "delay": "1", "privacy": 7}, {"eta0": 2e-1}]}`
	for _, c := range []struct{ from, to, want string }{
		{"", "", ""},
		{"0.1", "0.3", "has config.train[0].eta0 = 0.3, not 0.1"},
		{"50", "true", "has config.points = true, not 50"},
		{"50", "[50]", "has config.points = [50], not 50"},
		{`"points": 50, `, "", "lacks config.points = 50"},
		{"2e-1}", `0.2, "delay": "2"}`, "has config.train[1].delay = 2, not <nil>"},
		{`, {"eta0": 2e-1}`, "", "has config.train = "},
		{"null", "1", "has config.average = 1, not <nil>"},
		{same, "3", "has config = 3, not "},
	} {
		got, err := OtherSettings([]byte(strings.Replace(same, c.from, c.to, 1)), settings)
		if err != nil || !strings.HasPrefix(got, c.want) || (got == "") != (c.want == "") {
			t.Errorf("%s for %s: %q, %v; want %q", c.to, c.from, got, err, c.want)
		}
	}
	if _, err := OtherSettings([]byte("{"), settings); err == nil {
		t.Error("half a config is compared")
	}
}

// Whole numbers are compared to their last digit, as seeds are beyond what a float64 tells apart;
// what a setting cost is no setting, be it there or not.
func TestOtherSettingsOfLargeNumbers(t *testing.T) {
	settings := map[string]any{"seed": uint64(1<<63 + 1), "privacy": 0.5}
	for config, same := range map[string]bool{
		`{"seed": 9223372036854775809, "privacy": 0.5}`: true, `{"seed": 9223372036854775808, "privacy": 0.5}`: false,
		`{"seed": 9223372036854775809}`: true,
	} {
		if other, err := OtherSettings([]byte(config), settings); err != nil || (other == "") != same {
			t.Errorf("%s: %q, %v", config, other, err)
		}
	}
}
