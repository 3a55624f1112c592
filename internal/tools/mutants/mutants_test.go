//go:build unix

package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/go/packages"
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

import (
	"errors"
	"math"
)

type pair struct{ left, right float64 }

var weights = []float64{0.25, 0.75}

func (p *pair) width(n int, names map[string]int) (float64, error) {
	if n < 1 || p.right < p.left {
		return 0, errors.New("n = 0")
	}
	sum := 0.0
	for i := range n {
		if i == 3 && math.IsNaN(p.left) {
			continue
		}
		sum += weights[i%2] * -p.right
		p.left = math.Min(sum, float64(i+1))
	}
	clear(names)
	return math.Pow(sum, p.left), nil
}

func even(n int) bool {
	if n%2 == 0 {
		return true
	}
	return false
}
`

func loadSource(t *testing.T, dir string) *packages.Package {
	t.Helper()
	loaded, err := packages.Load(&packages.Config{Dir: dir, Mode: packages.LoadSyntax | packages.NeedModule}, "./a")
	if err != nil || len(loaded) != 1 || len(loaded[0].Errors) > 0 {
		t.Fatal(loaded, err)
	}
	return loaded[0]
}

// Every kind of fault is found where it can be made, and each lies in one line.
func TestFaultsAreOfAllKinds(t *testing.T) {
	dir := tree(t, map[string]string{"a/a.go": source})
	p := loadSource(t, dir)
	all, err := candidates(p, p.Syntax[0], filepath.Join(dir, "a", "a.go"), "a", 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []struct{ kind, after string }{
		{"boundary", "if n <= 1 || p.right < p.left {"},
		{"wrong connective", "if n < 1 && p.right < p.left {"},
		{"negated condition", "if !(n < 1 || p.right < p.left) {"},
		{"negated condition", "if n%2 != 0 {"},
		{"dropped branch", "if false && (n%2 == 0) {"},
		{"dropped statement", "clear(names)"},
		{"dropped statement", "_ = math.Min(sum, float64(i+1))"},
		{"wrong sign", "sum -= weights[i%2] * -p.right"},
		{"wrong sign", "sum += weights[i%2] * p.right"},
		{"wrong operation", "sum += weights[i%2] / -p.right"},
		{"off by one", "p.left = math.Min(sum, float64(i))"},
		{"off by one", "sum += weights[i%(2 + 1)] * -p.right"},
		{"wrong constant", "var weights = []float64{(2 * 0.25), 0.75}"},
		{"wrong constant", "return false"},
		{"wrong column", "var weights = []float64{0.75, 0.25}"},
		{"wrong function", "p.left = math.Max(sum, float64(i+1))"},
		{"wrong field", "if n < 1 || p.left < p.left {"},
		{"wrong variable", "if n == 3 && math.IsNaN(p.left) {"},
		{"wrong branch", "break"},
		{"swapped arguments", "return math.Pow(p.left, sum), nil"},
	} {
		if !slices.ContainsFunc(all, func(c candidate) bool {
			after := want.after
			if after == "clear(names)" {
				return c.Before == after && c.After == ""
			}
			return c.Kind == want.kind && c.After == after
		}) {
			t.Errorf("no %q: %s", want.kind, want.after)
		}
	}
	for _, c := range all {
		if strings.Contains(c.Before, "errors.New") && !strings.Contains(c.After, `errors.New("n = 0")`) {
			t.Errorf("an error's text is changed: %s", c.After)
		}
		if _, err := c.in(source); err != nil {
			t.Errorf("%s: %v", c.After, err)
		}
	}
}

// A draw is a function of seed and source; each fault compiles, and is in a function
// of its own.
func TestDrawIsRepeatable(t *testing.T) {
	p := loadSource(t, tree(t, map[string]string{"a/a.go": source}))
	first, err := draw([]*packages.Package{p}, "a", 7, 3)
	if err != nil {
		t.Fatal(err)
	}
	again, err := draw([]*packages.Package{p}, "a", 7, 3)
	if err != nil || !slices.Equal(first, again) {
		t.Errorf("%v then %v, %v", first, again, err)
	}
	other, err := draw([]*packages.Package{p}, "a", 8, 3)
	if err != nil || slices.Equal(first, other) {
		t.Errorf("seed 8 draws %v, %v", other, err)
	}
	in := map[string]bool{}
	for _, f := range first {
		if in[f.In] || !(candidate{fault: f}).compiles(p) {
			t.Errorf("%+v", f)
		}
		in[f.In] = true
	}
	if _, err := draw([]*packages.Package{p}, "a", 7, 4); err == nil {
		t.Error("four faults in three places")
	}
	broken := candidate{fault: first[0]}
	broken.After = "?"
	if broken.compiles(p) {
		t.Errorf("%+v compiles", broken)
	}
}

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
	l, err := readList("faults.json")
	if err != nil {
		t.Fatal(err)
	}
	const least = 60
	placed := 0
	for _, f := range l.Faults {
		if _, _, err := f.plant(filepath.Join("..", "..", "..")); err != nil {
			t.Logf("%s in %s/%s, %s: %v", f.Name, f.Package, f.File, f.In, err)
		} else if f.Equivalent == "" {
			placed++
		}
	}
	if placed < least {
		t.Errorf("%d of the faults can be planted, must be at least %d: draw others for those above", placed, least)
	}
}

// A replay tells what was found, nearest first, what survived, what is gone and what
// does not build, plants nothing that is equivalent, and fails unless all is found.
func TestReplay(t *testing.T) {
	dir := tree(t, map[string]string{
		"a/a.go": "package a\n\nfunc Twice(n int) int {\n\treturn n + n\n}\n\nfunc Same(n int) int {\n\treturn n " +
			"+ 0\n}\n\nfunc Until(n int) int {\n\tfor n < 3 {\n\t\tn++\n\t}\n\treturn n\n}\n",
		"a/a_test.go": "package a\n\nimport \"testing\"\n\nfunc TestUntil(t *testing.T) {\n\tif Until(1) != 3 " +
			"{\n\t\tt.Fatal()\n\t}\n}\n",
		"b/b.go": "package b\n\nimport \"m/a\"\n\nfunc Four(n int) int { return a.Twice(a.Twice(n)) }\n",
		"b/b_test.go": "package b\n\nimport \"testing\"\n\nfunc TestFour(t *testing.T) {\n\tt.Run(\"three\", func(t " +
			"*testing.T) {\n\t\tif Four(3) != 12 {\n\t\t\tt.Fatal()\n\t\t}\n\t})\n}\n",
	})
	l := list{Faults: []fault{
		{Name: "sign", Package: "a", File: "a.go", In: "Twice", Before: "return n + n", After: "return n - n"},
		{Name: "hangs", Package: "a", File: "a.go", In: "Until", Before: "n++", After: ""},
		{Name: "struck", Package: "a", File: "a.go", In: "Same", Before: "return n + 0", After: "return n - 0",
			Equivalent: "n + 0 = n − 0"},
	}}
	file := filepath.Join(dir, "faults.json")
	replayed := func(near int) (string, error) {
		t.Helper()
		if err := l.write(file); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		r := replay{out: &out, dir: dir, file: file, near: near, limit: 2 * time.Second, record: true}
		err := r.run()
		var errRead error
		if l, errRead = readList(file); errRead != nil {
			t.Fatal(errRead)
		}
		return out.String(), err
	}
	out, err := replayed(-1)
	if err != nil || !strings.Contains(out, "2 found, 0 survived, 1 equivalent") {
		t.Fatalf("%v:\n%s", err, out)
	}
	if l.Faults[0].Red != "b TestFour" || l.Faults[1].Red != "a TestUntil" || l.Faults[2].Red != "" {
		t.Errorf("found by %q, %q, %q", l.Faults[0].Red, l.Faults[1].Red, l.Faults[2].Red)
	}
	l.Faults = append(l.Faults,
		fault{Name: "lives", Package: "a", File: "a.go", In: "Same", Before: "return n + 0", After: "return n + 1"},
		fault{Name: "gone", Package: "a", File: "a.go", In: "Same", Before: "return n + 2", After: ""},
		fault{Name: "broken", Package: "a", File: "a.go", In: "Same", Before: "return n + 0", After: "return m"},
	)
	l.Faults[0].Red = ""
	out, err = replayed(0)
	for _, want := range []string{"sign  SURVIVED", "hangs  found", "lives  SURVIVED", "gone  PROBLEM",
		"broken  PROBLEM", "does not build", "1 found, 2 survived, 1 equivalent"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if err == nil || !strings.Contains(err.Error(), "2 faults survive") || !errors.Is(err, errGone) {
		t.Error(err)
	}
}
