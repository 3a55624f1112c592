package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// A target is a fuzz test.
type target struct {
	folder string // of its package, as the go command takes it
	name   string
}

var declared = regexp.MustCompile(`(?m)^func (Fuzz\w+)\(\w+ \*testing\.F\)`)

// testFiles prints a package's files of tests, one a line, each behind the package's path.
const testFiles = `{{$p := . -}}
{{range .TestGoFiles}}{{$p.ImportPath}} {{$p.Dir}}/{{.}}
{{end}}{{range .XTestGoFiles}}{{$p.ImportPath}} {{$p.Dir}}/{{.}}
{{end}}`

// list returns the targets of the module in a folder whose package or name has a text in it,
// by package and file. It is an error if there are none: whoever asks for them would take
// the silence for success.
func list(dir, only string) ([]target, error) {
	lines := exec.Command("go", "list", "-f", testFiles, "./...")
	lines.Dir = dir
	files, err := lines.Output()
	if err != nil {
		return nil, fmt.Errorf("listing the packages of %s: %w", dir, err)
	}
	var targets []target
	for line := range strings.Lines(string(files)) {
		pkg, file, listed := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if !listed { // between packages
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		for _, match := range declared.FindAllSubmatch(text, -1) {
			t := target{filepath.Dir(file), string(match[1])}
			if strings.Contains(pkg, only) || strings.Contains(t.name, only) {
				targets = append(targets, t)
			}
		}
	}
	if len(targets) == 0 {
		return nil, fmt.Errorf("no target in %s has %q in its package or name", dir, only)
	}
	return targets, nil
}
