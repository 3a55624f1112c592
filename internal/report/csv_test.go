package report

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestReadCSV(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data.csv")
	for text, want := range map[string]string{
		"": "no header", "a,a\n1,2\n": `column = "a" is there twice`, "a,b\n1\n": "wrong number of fields",
	} {
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadCSV(path); err == nil || !strings.Contains(err.Error(), want) ||
			!strings.Contains(err.Error(), path) {
			t.Errorf("%q: error %v, want one of %s with %q", text, err, path, want)
		}
	}
	if err := os.WriteFile(path, []byte("a,b\n1,\"x, y\"\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if rows, err := ReadCSV(path); err != nil || len(rows) != 1 || rows[0]["a"] != "1" || rows[0]["b"] != "x, y" {
		t.Errorf("rows %v, error %v", rows, err)
	}
}
