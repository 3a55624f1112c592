package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// beginnings finds the names with which errors begin.
var beginnings = regexp.MustCompile(`(?:Errorf|errors\.New|fail)\((?:"|` + "`" + `)([a-z0-9]+): `)

// Every package whose errors begin with its name is among the names that users do
// not see.
func TestPackagesOfErrorsAreKnown(t *testing.T) {
	found := map[string]bool{}
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && (entry.Name() == "cmd" || entry.Name() == "testdata" || entry.Name() == "tools") {
			return fs.SkipDir
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, m := range beginnings.FindAllSubmatch(text, -1) {
			if name := string(m[1]); strings.Contains(string(text), "\npackage "+name+"\n") || strings.HasPrefix(string(text), "package "+name+"\n") {
				found[name] = true
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(found) < 10 {
		t.Fatalf("the errors of %d packages were found, must be at least 10", len(found))
	}
	for name := range found {
		if !slices.Contains(packages, name) {
			t.Errorf("errors begin with %q: add it to packages", name+": ")
		}
	}
}

// What packages put before their errors is not shown, wherever it stands; the rest is.
func TestMessageHasNoNamesOfPackages(t *testing.T) {
	inner := errors.New("sim: clients = 0, must be at least 1")
	for _, c := range []struct {
		err  error
		want string
	}{
		{inner, "clients = 0, must be at least 1"},
		{fmt.Errorf("experiments: cell 3: %w", inner), "cell 3: clients = 0, must be at least 1"},
		{fmt.Errorf("experiments: train: %w", inner), "clients = 0, must be at least 1"},
		{errors.Join(inner, errors.New("dp: sampling = \"x\"")), "clients = 0, must be at least 1\nsampling = \"x\""},
		{errors.New("open my-plan: no such file or directory"), "open my-plan: no such file or directory"},
		{errors.New("the data: none"), "the data: none"},
	} {
		if got := message(c.err); got != c.want {
			t.Errorf("%q is shown as %q, want %q", c.err, got, c.want)
		}
	}
}
