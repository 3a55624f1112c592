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

// larger are the packages with a file for each of many things that know nothing of each
// other, of which one more makes them no harder to read: the figures.
var larger = map[string]struct{ lines, files int }{
	module + "/experiments": {5250, 40},
}

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
		atMost, inFiles := mostLines, mostFiles
		if is, ok := larger[p.ImportPath]; ok {
			atMost, inFiles = is.lines, is.files
		}
		if lines > atMost || n > inFiles {
			t.Errorf("%s has %d lines in %d files, at most %d in %d may be", p.ImportPath, lines, n, atMost, inFiles)
		}
	}
}
