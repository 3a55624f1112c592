package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// What go test printed: of a run that golang/go#75804 spoilt, and of one that found an input.
const (
	spoilt = `fuzz: elapsed: 3s, execs: 102377 (34122/sec), new interesting: 25 (total: 86)
fuzz: elapsed: 3s, execs: 102377 (0/sec), new interesting: 25 (total: 86)
--- FAIL: FuzzParseLabels (3.01s)
    context deadline exceeded
FAIL
exit status 1
FAIL	proactivedp/data	3.018s
`
	crashed = `fuzz: elapsed: 0s, execs: 81 (4021/sec), new interesting: 0 (total: 2)
--- FAIL: FuzzParseLabels (0.03s)
    --- FAIL: FuzzParseLabels (0.00s)
        labels_test.go:12: context deadline exceeded
    
    Failing input written to testdata/fuzz/FuzzParseLabels/29e09b7ca5c0b4d1
    To re-run:
    go test -run=FuzzParseLabels/29e09b7ca5c0b4d1
FAIL
exit status 1
FAIL	proactivedp/data	0.036s
`
	hung = `--- FAIL: FuzzParseLabels (2.03s)
    fuzzing process hung or terminated unexpectedly: exit status 2
    Failing input written to testdata/fuzz/FuzzParseLabels/29e09b7ca5c0b4d1
FAIL
`
)

func TestOnlyARunThatFoundNothingIsMadeAgain(t *testing.T) {
	failed := errors.New("exit status 1")
	for name, c := range map[string]struct {
		printed []string
		runs    int
		fails   bool
	}{
		"passes":             {[]string{""}, 1, false},
		"spoilt once":        {[]string{spoilt, ""}, 2, false},
		"spoilt, then found": {[]string{spoilt, crashed}, 2, true},
		"found":              {[]string{crashed}, 1, true},
		"hung":               {[]string{hung}, 1, true},
		"spoilt each time":   {[]string{spoilt, spoilt, spoilt, spoilt, ""}, mostTries, true},
	} {
		t.Run(name, func(t *testing.T) {
			runs := 0
			var out bytes.Buffer
			targets := []target{{"data", "FuzzParseLabels"}}
			err := fuzz(targets, time.Second, func(target, time.Duration) ([]byte, error) {
				printed := c.printed[runs]
				runs++
				if printed == "" {
					return nil, nil
				}
				return []byte(printed), failed
			}, &out)
			if runs != c.runs {
				t.Errorf("made %d runs, want %d", runs, c.runs)
			}
			if (err != nil) != c.fails || err != nil && !errors.Is(err, failed) {
				t.Errorf("error %v, want one: %v", err, c.fails)
			}
			for _, printed := range c.printed[:runs] {
				if !strings.Contains(out.String(), printed) {
					t.Errorf("did not print %q", printed)
				}
			}
		})
	}
}

func TestTargetsOfTheModuleAreFound(t *testing.T) {
	targets, err := list("../../..", "FuzzParseLabels")
	if err != nil {
		t.Fatal(err)
	}
	if len(targets) != 1 || !strings.HasSuffix(targets[0].folder, "data") {
		t.Errorf("found %v, want FuzzParseLabels of data alone", targets)
	}
	if targets, err = list("../../..", "no such target"); err == nil {
		t.Errorf("found %v for a name that no target has", targets)
	}
}

// The checkout may be in any folder: what its path has in it is no name of a package.
func TestTargetsInAnyFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a checkout")
	for name, text := range map[string]string{
		"go.mod":           "module m\n",
		"one/one.go":       "package one\n",
		"one/one_test.go":  "package one\n\nimport \"testing\"\n\nfunc FuzzOne(f *testing.F) {}\n",
		"two/out_test.go":  "package two_test\n\nimport \"testing\"\n\nfunc FuzzTwo(f *testing.F) {}\n",
		"two/two.go":       "package two\n",
		"none/none.go":     "package none\n",
		"none/any_test.go": "package none\n",
	} {
		path := filepath.Join(dir, name)
		err := os.MkdirAll(filepath.Dir(path), 0o777)
		if err := errors.Join(err, os.WriteFile(path, []byte(text), 0o666)); err != nil {
			t.Fatal(err)
		}
	}
	for only, want := range map[string]string{"": "FuzzOne FuzzTwo ", "m/two": "FuzzTwo ", "checkout": ""} {
		targets, err := list(dir, only)
		got := ""
		for _, target := range targets {
			got += target.name + " "
		}
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q: found %q (%v), want %q", only, got, err, want)
		}
	}
}
