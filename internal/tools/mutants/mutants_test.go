//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// tree writes a module with these files and returns its folder.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	files["go.mod"] = "module m\n\ngo 1.26\n"
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const source = `package a

func even(n int) bool {
	if n%2 == 0 {
		return true
	}
	return false
}
`

// A fault is found again by its text when lines have come before it and when its
// function has moved to another file, and is gone when its line has changed.
func TestFaultsAreFoundAgain(t *testing.T) {
	f := fault{Package: "a", File: "a.go", In: "even", Before: "if n%2 == 0 {", After: "if n%2 != 0 {"}
	moved := map[string]string{
		"a/a.go":      "package a\n",
		"a/b_test.go": source,
		"a/c.go": "package a\n\nfunc odd(n int) bool {\n\tif n%2 == 0 {\n\t\treturn false\n\t}\n\treturn " +
			"true\n}\n" + source[strings.Index(source, "\nfunc even"):],
	}
	dir := tree(t, moved)
	path, faulty, err := f.plant(dir)
	if err != nil || filepath.Base(path) != "c.go" || strings.Count(faulty, f.After) != 1 ||
		strings.Index(faulty, f.After) < strings.Index(faulty, "func even") {
		t.Errorf("%s, %v:\n%s", path, err, faulty)
	}
	f.Nth = 1
	if _, _, err := f.plant(dir); !errors.Is(err, errGone) {
		t.Errorf("a second such line: %v", err)
	}
	f.Nth, f.Before = 0, "if n%3 == 0 {"
	if _, _, err := f.plant(dir); !errors.Is(err, errGone) {
		t.Errorf("no such line: %v", err)
	}
}

// Most of the listed faults can still be planted; what changed the line of one may
// have taken its test along.
func TestListedFaultsHaveTheirPlace(t *testing.T) {
	for file, least := range map[string]int{"faults.json": 60, "whole.json": 40} {
		l, err := readList(file)
		if err != nil {
			t.Fatal(err)
		}
		placed := 0
		for _, f := range l.Faults {
			if _, _, err := f.plant(filepath.Join("..", "..", "..")); err != nil {
				t.Logf("%s: %s in %s/%s, %s: %v", file, f.Name, f.Package, f.File, f.In, err)
			} else if f.Equivalent == "" {
				placed++
			}
		}
		if placed < least {
			t.Errorf("%d faults of %s can be planted, must be at least %d: delete those above, and write others", placed,
				file, least)
		}
	}
}

// A replay tells what was found, what survived, what is gone and what does not build, plants nothing that is
// equivalent, and fails unless all is found.
func TestReplay(t *testing.T) {
	dir := tree(t, map[string]string{
		"a/a.go": "package a\n\nfunc Twice(n int) int {\n\treturn n + n\n}\n\nfunc Same(n int) int {\n\treturn n " +
			"+ 0\n}\n\nfunc Until(n int) int {\n\tfor n < 3 {\n\t\tn++\n\t}\n\treturn n\n}\n",
		"a/a_test.go": "package a\n\nimport \"testing\"\n\nfunc TestUntil(t *testing.T) {\n\tif Until(1) != 3 " +
			"{\n\t\tt.Fatal()\n\t}\n}\n",
		"b/b.go": "package b\n\nimport \"m/a\"\n\nfunc Four(n int) int { return a.Twice(a.Twice(n)) }\n",
		"b/b_test.go": "package b\n\nimport \"testing\"\n\nfunc TestFour(t *testing.T) {\n\tif Four(3) != 12 " +
			"{\n\t\tt.Fatal()\n\t}\n}\n",
	})
	sign := fault{Name: "sign", Package: "a", File: "a.go", In: "Twice", Before: "return n + n", After: "return n - n",
		Red: "b TestFour"}
	replayed := func(faults ...fault) (string, error) {
		t.Helper()
		text, err := json.Marshal(list{Faults: faults})
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(dir, "faults.json")
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		err = (&replay{out: &out, dir: dir, file: file, limit: 2 * time.Second}).run()
		return out.String(), err
	}
	out, err := replayed(sign,
		fault{Name: "hangs", Package: "a", File: "a.go", In: "Until", Before: "n++", After: ""},
		fault{Name: "struck", Package: "a", File: "a.go", In: "Same", Before: "return n + 0", After: "return n - 0",
			Equivalent: "n + 0 = n − 0"})
	if err != nil || !strings.Contains(out, "2 found, 0 survived, 1 equivalent") {
		t.Fatalf("%v:\n%s", err, out)
	}
	sign.Red = "a TestUntil" // it does not see the fault
	out, err = replayed(sign,
		fault{Name: "lives", Package: "a", File: "a.go", In: "Same", Before: "return n + 0", After: "return n + 1"},
		fault{Name: "gone", Package: "a", File: "a.go", In: "Same", Before: "return n + 2", After: ""},
		fault{Name: "broken", Package: "a", File: "a.go", In: "Same", Before: "return n + 0", After: "return m"})
	for _, want := range []string{"sign  SURVIVED", "lives  SURVIVED", "gone  PROBLEM", "broken  PROBLEM", "build failed",
		"0 found, 2 survived, 0 equivalent"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if err == nil || !strings.Contains(err.Error(), "2 faults survive") || !errors.Is(err, errGone) {
		t.Error(err)
	}
}
