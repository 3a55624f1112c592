package lint

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A package that outgrows these is two.
const (
	mostLines = 4500 // of its files but for tests, as wc -l counts them
	mostFiles = 40
)

func TestPackagesAreSmall(t *testing.T) {
	for _, p := range packages(t) {
		lines := 0
		files, err := filepath.Glob(filepath.Join(p.Dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			n++
			lines += bytes.Count(text, []byte("\n"))
		}
		if lines > mostLines || n > mostFiles {
			t.Errorf("%s has %d lines in %d files, at most %d in %d may be", p.ImportPath, lines, n, mostLines,
				mostFiles)
		}
	}
}
