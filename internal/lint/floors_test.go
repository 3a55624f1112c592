package lint

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// module is the path of this module, which make rename changes.
var module = strings.TrimSuffix(reflect.TypeFor[place]().PkgPath(), "/internal/lint")

// place is where a package stands in the house: on which floor, and which
// third-party modules it may import.
type place struct {
	floor   int
	modules []string
}

// housePlan is the page with the map of all packages. A package imports only
// lower floors and its own parent; those under dp also dp/gdp.
const housePlan = "docs/architecture.md"

// house reads the map of the packages.
var house = sync.OnceValues(func() (map[string]place, error) {
	text, err := os.ReadFile(filepath.Join(repository, housePlan))
	if err != nil {
		return nil, err
	}
	return readHouse(string(text))
})

var (
	houseRow   = regexp.MustCompile("^\\| +(\\d+) +\\| `([^`]+)` \\|.*\\|([^|]*)\\|$")
	houseWords = regexp.MustCompile("`([^`]+)`")
)

// readHouse reads the rows "| floor | `package` | what it is | modules |".
func readHouse(text string) (map[string]place, error) {
	found := map[string]place{}
	for line := range strings.SplitSeq(text, "\n") {
		row := houseRow.FindStringSubmatch(line)
		if row == nil {
			continue
		}
		if _, twice := found[row[2]]; twice {
			return nil, fmt.Errorf("%s: %s stands on two floors", housePlan, row[2])
		}
		number, err := strconv.Atoi(row[1])
		if err != nil {
			return nil, err
		}
		p := place{floor: number}
		for _, m := range houseWords.FindAllStringSubmatch(row[3], -1) {
			p.modules = append(p.modules, m[1])
		}
		found[row[2]] = p
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("%s has no map of packages", housePlan)
	}
	return found, nil
}

// sameFloor lists imports within a floor that are not to the parent: floor 0
// rests on itself where a package is smaller than the other, and what is claimed
// names the accountants that it sets beside each other.
var sameFloor = map[[2]string]bool{
	{"internal/report", "internal/terminal"}:     true,
	{"internal/atomicfile", "internal/lockfile"}: true,
	{"internal/report", "internal/bounded"}:      true,
	{"internal/report", "internal/wrap"}:         true,
	{"internal/report", "internal/message"}:      true,
	{"internal/strictjson", "internal/message"}:  true,
	{"rng", "internal/only64bit"}:                true,
	{"dp/claim", "dp/closedform"}:                true,
	{"dp/claim", "dp/pld"}:                       true,
}

// runnersOnly lists the files of sim that may run goroutines and use channels:
// the state machines know none.
var runnersOnly = []string{"hogwild.go", "crew.go"}

// placeOf returns the place of a package, if it has one.
func placeOf(t *testing.T, pkg string) (place, bool) {
	t.Helper()
	all, err := house()
	if err != nil {
		t.Fatal(err)
	}
	p, ok := all[pkg]
	return p, ok
}

type listed struct {
	ImportPath, Dir           string
	Imports, GoFiles          []string
	TestImports, XTestImports []string
}

func packages(t *testing.T) []listed {
	t.Helper()
	out, err := exec.Command("go", "list", "-json=ImportPath,Dir,Imports,GoFiles,TestImports,XTestImports",
		module+"/...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var all []listed
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		err := dec.Decode(&p)
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}

func within(path, prefix string) bool { return path == prefix || strings.HasPrefix(path, prefix+"/") }

func TestImportsKeepToTheFloors(t *testing.T) {
	for _, p := range packages(t) {
		name := strings.TrimPrefix(p.ImportPath, module+"/")
		own, known := placeOf(t, name)
		if !known {
			t.Errorf("%s stands on no floor: add it to the map in %s", name, housePlan)
			continue
		}
		for _, imported := range p.Imports {
			if bad := edge(t, name, own, imported); bad != "" {
				t.Errorf("%s imports %s: %s", name, imported, bad)
			}
		}
	}
}

// The map has no package that is not there, and names no module that the package
// does not import.
func TestMapHasNothingElse(t *testing.T) {
	all, err := house()
	if err != nil {
		t.Fatal(err)
	}
	imports := map[string][]string{}
	for _, p := range packages(t) {
		imports[strings.TrimPrefix(p.ImportPath, module+"/")] = p.Imports
	}
	for name, p := range all {
		found, ok := imports[name]
		if !ok {
			t.Errorf("%s: there is no package %s", housePlan, name)
		}
		for _, m := range p.modules {
			if ok && !slices.ContainsFunc(found, func(imported string) bool { return within(imported, m) }) {
				t.Errorf("%s: %s does not import %s", housePlan, name, m)
			}
		}
	}
}

func TestMapIsRead(t *testing.T) {
	const page = "| floor | package | is | modules |\n|---|---|---|---|\n" +
		"| 3 | `a/b` | x \\| `y` | `m.org/x`, `n.org` |\n| 0 | `c` | | |\n"
	got, err := readHouse(page)
	want := map[string]place{"a/b": {3, []string{"m.org/x", "n.org"}}, "c": {0, nil}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("read %v, %v, want %v", got, err, want)
	}
	for _, bad := range []string{"", "| 1 | `a` | | |\n| 2 | `a` | | |\n"} {
		if got, err := readHouse(bad); err == nil {
			t.Errorf("%q read as %v", bad, got)
		}
	}
}

// edge says what is wrong with an import, or "".
func edge(t *testing.T, name string, own place, imported string) string {
	t.Helper()
	if !within(imported, module) {
		if !strings.Contains(strings.Split(imported, "/")[0], ".") {
			return "" // the standard library
		}
		if slices.ContainsFunc(own.modules, func(m string) bool { return within(imported, m) }) {
			return ""
		}
		return "not a third-party module named for it in " + housePlan
	}
	target := strings.TrimPrefix(imported, module+"/")
	other, known := placeOf(t, target)
	switch {
	case !known:
		return "it stands on no floor"
	case other.floor < own.floor, path.Dir(name) == target, sameFloor[[2]string{name, target}],
		path.Dir(name) == "dp" && target == "dp/gdp":
		return ""
	}
	return "it is not on a lower floor"
}

func TestEdgeFindsAForbiddenImport(t *testing.T) {
	for _, c := range []struct{ from, to string }{
		{"sim", module + "/experiments"},
		{"sim", module + "/plan"},
		{"dp", module + "/models"},
		{"data", module + "/data/libsvm"},
		{"models/logreg", module + "/models/modeltest"},
		{"plan", "gonum.org/v1/gonum/stat"},
		{"dp", "github.com/spf13/cobra"},
	} {
		own, _ := placeOf(t, c.from)
		if edge(t, c.from, own, c.to) == "" {
			t.Errorf("%s may import %s", c.from, c.to)
		}
	}
}

func TestOnlyRunnersKnowGoroutines(t *testing.T) {
	for _, p := range packages(t) {
		if p.ImportPath != module+"/sim" {
			continue
		}
		for _, file := range p.GoFiles {
			if slices.Contains(runnersOnly, file) {
				continue
			}
			source, err := os.ReadFile(filepath.Join(p.Dir, file))
			if err != nil {
				t.Fatal(err)
			}
			for _, found := range concurrency(t, file, string(source)) {
				t.Errorf("sim/%s: only %v run anything", found, runnersOnly)
			}
		}
	}
}

// durationNames are what package time has for lengths of time, beside its clocks.
var durationNames = []string{"Duration", "ParseDuration", "Nanosecond", "Microsecond", "Millisecond", "Second",
	"Minute", "Hour"}

// concurrency lists what runs, waits or shares in a source file, with its line:
// goroutines, channels, the clock, and the imports that are for them.
func concurrency(t *testing.T, file, source string) []string {
	t.Helper()
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, file, source, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	ast.Inspect(f, func(n ast.Node) bool {
		what := ""
		switch n := n.(type) {
		case *ast.ImportSpec:
			imported := strings.Trim(n.Path.Value, "\"`")
			if within(imported, "github.com/sourcegraph/conc") || within(imported, "sync") {
				what = "import of " + imported
			}
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && x.Name == "time" && !slices.Contains(durationNames, n.Sel.Name) {
				what = "use of time." + n.Sel.Name
			}
		case *ast.GoStmt:
			what = "go statement"
		case *ast.ChanType:
			what = "channel type"
		case *ast.SendStmt:
			what = "send"
		case *ast.SelectStmt:
			what = "select"
		case *ast.UnaryExpr:
			if n.Op == token.ARROW {
				what = "receive"
			}
		}
		if what != "" {
			found = append(found, fmt.Sprintf("%s:%d: %s", file, fset.Position(n.Pos()).Line, what))
		}
		return true
	})
	return found
}

func TestConcurrencyIsFound(t *testing.T) {
	const planted = `package sim

import (
	"slices"
	"sync/atomic"
	"sync"
	"time"
	"github.com/sourcegraph/conc/pool"
)

type box struct{ ch chan int }

func f(b box) {
	go f(b)
	b.ch <- 1
	x := <-b.ch
	select {
	default:
	}
	time.Sleep(time.Second)
}
`
	want := []string{
		"a.go:5: import of sync/atomic", "a.go:6: import of sync", "a.go:8: import of github.com/sourcegraph/conc/pool",
		"a.go:11: channel type", "a.go:14: go statement", "a.go:15: send", "a.go:16: receive", "a.go:17: select",
		"a.go:20: use of time.Sleep",
	}
	if got := concurrency(t, "a.go", planted); !slices.Equal(got, want) {
		t.Errorf("found %q, want %q", got, want)
	}
	if got := concurrency(t, "a.go",
		"package sim\n\nimport \"time\"\n\n// go chan <-\nvar going = -time.Second\n"); len(got) != 0 {
		t.Errorf("found %q where there is nothing", got)
	}
}

// Randomness is a parameter: the packages with global random sources are not
// used, but for the system's in rng and for names of temporary files.
func TestNoGlobalRandomness(t *testing.T) {
	for _, p := range packages(t) {
		name := strings.TrimPrefix(p.ImportPath, module+"/")
		for _, imported := range p.Imports {
			if globalRandomness(name, imported, false) {
				t.Errorf("%s imports %s", name, imported)
			}
		}
		for _, imported := range slices.Concat(p.TestImports, p.XTestImports) {
			if globalRandomness(name, imported, true) {
				t.Errorf("tests of %s import %s", name, imported)
			}
		}
	}
}

// globalRandomness reports whether a package, or its tests, must not import
// what they do. Tests may have math/rand/v2, for sources with a seed.
func globalRandomness(name, imported string, inTest bool) bool {
	switch imported {
	case "math/rand":
		return true
	case "math/rand/v2":
		return !inTest
	case "crypto/rand":
		return name != "rng" && name != "internal/atomicfile"
	}
	return false
}

func TestGlobalRandomnessIsFound(t *testing.T) {
	for _, c := range []struct {
		name, imported string
		inTest, bad    bool
	}{
		{"dp/closedform", "math/rand/v2", false, true}, // its tests import it as well
		{"dp/closedform", "math/rand/v2", true, false},
		{"sim", "math/rand", true, true},
		{"sim", "crypto/rand", true, true},
		{"rng", "crypto/rand", false, false},
	} {
		if got := globalRandomness(c.name, c.imported, c.inTest); got != c.bad {
			t.Errorf("%+v: %v", c, got)
		}
	}
}
