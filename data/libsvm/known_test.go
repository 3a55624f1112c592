package libsvm

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"proactivedp/data/fetch"
)

func TestLookup(t *testing.T) {
	for _, name := range Names() {
		k, err := Lookup(name)
		if err != nil || k.Name != name {
			t.Errorf("Lookup(%q) = %+v, %v", name, k, err)
		}
		if k.LabelCounts[0]+k.LabelCounts[1] != k.Rows || len(k.Hash) != hex.EncodedLen(sha256.Size) ||
			len(k.Sources) == 0 || k.Citation == "" || k.Licence == "" {
			t.Errorf("%s: incomplete: %+v", name, k)
		}
		k.Sources[0], k.LabelCounts[0] = "", 0
		if again, _ := Lookup(name); again.Sources[0] == "" || again.LabelCounts[0] == 0 {
			t.Errorf("%s: the catalogue can be written to", name)
		}
	}
	want := `data set = "fishing", must be one of ["phishing" "mushrooms"]`
	if _, err := Load(t.Context(), "fishing", fetch.Locator{}); err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

// toy is a known set that tests can serve.
func toy(t *testing.T, sources ...string) Known {
	d := mustParse(t, small)
	return Known{Name: "toy", Rows: 2, Features: 3, LabelCounts: []int{1, 1}, Hash: d.Hash(), Sources: sources}
}

func serve(t *testing.T, text string) string {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, text) }))
	t.Cleanup(server.Close)
	return server.URL
}

func TestLoadTakesTheSourceThatVerifies(t *testing.T) {
	cut := serve(t, small[:18]) // "-1 2:", as a copy cut off
	short := serve(t, "1 1:0.5 3:-2\n")
	other := serve(t, "1 1:0.5 3:-2\n-1 2:2e-3\n")
	good := serve(t, strings.ReplaceAll(small, "\n", " \r\n"))
	locator := fetch.Locator{Cache: t.TempDir()}

	_, err := toy(t, cut, short, other).load(t.Context(), locator)
	if !errors.Is(err, fetch.ErrUnavailable) {
		t.Errorf("error %v, want ErrUnavailable", err)
	}
	for _, part := range []string{":2:6: the value must", "all 1 rows have label 1", "content hash = "} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("error does not mention %q: %v", part, err)
		}
	}

	k := toy(t, cut, short, other, good)
	for range 2 { // from the source, from the cache
		d, err := k.load(t.Context(), locator)
		if err != nil {
			t.Fatal(err)
		}
		if d.Name != "toy" || d.Hash() != k.Hash {
			t.Errorf("loaded %+v", d)
		}
		k.Sources = nil
	}
}

func TestLoadFromAFolder(t *testing.T) {
	dir := t.TempDir()
	load := func() error {
		_, err := Load(t.Context(), "phishing", fetch.Locator{Dir: dir})
		return err
	}
	if err := load(); !errors.Is(err, fetch.ErrMissing) {
		t.Errorf("empty folder: %v, want ErrMissing", err)
	}
	path := filepath.Join(dir, "libsvm", "phishing")
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	for text, part := range map[string]string{
		small: "phishing: rows = 2, expected 11055\nphishing: label counts = [1 1], expected " +
			"[4898 6157]",
		"1 1:1 x": path + `:1:7: an entry must be index:value`,
		"1 69:1":  path + `:1:3: index 69: must be a whole number from 1 to 68, because there are 68 features (--features)`,
	} {
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		if err := load(); !errors.Is(err, fetch.ErrDamaged) || !strings.Contains(err.Error(), part) {
			t.Errorf("folder with %q: %v, want ErrDamaged and %q", text, err, part)
		}
	}
}

func TestLoadCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := toy(t, serve(t, small)).load(ctx, fetch.Locator{Cache: t.TempDir()})
	if !errors.Is(err, context.Canceled) || errors.Is(err, fetch.ErrUnavailable) {
		t.Errorf("error %v, want only context.Canceled", err)
	}
}

func TestVerify(t *testing.T) {
	k := toy(t)
	if err := k.Verify(mustParse(t, small)); err != nil {
		t.Error(err)
	}
	for text, want := range map[string]string{
		"1 1:0.5 3:-2\n-1 2:1e-3\n-1 4:1": "toy: rows = 3, expected 2\ntoy: features = 4, expected " +
			"3\ntoy: label counts = [2 1], expected [1 1]",
		"1 1:0.5 3:-2\n-1 2:1.1e-3\n": "toy: content hash = ",
	} {
		if err := k.Verify(mustParse(t, text)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v\nwant %s", text, err, want)
		}
	}
}

func TestRealFiles(t *testing.T) {
	dir := os.Getenv("PROACTIVEDP_DATA")
	if dir == "" {
		t.Skip("set PROACTIVEDP_DATA to a folder with libsvm/phishing and libsvm/mushrooms to test the real files")
	}
	for _, name := range Names() {
		d, err := Load(t.Context(), name, fetch.Locator{Dir: dir})
		if err != nil {
			t.Error(err)
			continue
		}
		if err := d.Validate(); err != nil {
			t.Error(err)
		}
		if d.Name != name || d.Synthetic {
			t.Errorf("%s: name %q, synthetic %v", name, d.Name, d.Synthetic)
		}
		for i := range d.Len() {
			if n := len(d.Row(i).Index); n != map[string]int{"phishing": 30, "mushrooms": 21}[name] {
				t.Fatalf("%s: row %d has %d entries", name, i, n)
			}
		}
	}
}
