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
	"slices"
	"strings"
	"testing"
)

// module is the path of this module, which make rename changes.
var module = strings.TrimSuffix(reflect.TypeFor[floor]().PkgPath(), "/internal/lint")

// floor is a floor of the house and the third-party modules named for it.
type floor struct {
	number  int
	modules []string
}

// floors maps folders to floors; the longest matching prefix counts. A package
// imports only lower floors and its own parent; those under dp also dp/gdp.
var floors = map[string]floor{
	"cmd":             {8, []string{"github.com/spf13/cobra", "github.com/spf13/pflag"}},
	"internal/tools":  {8, []string{"golang.org/x/tools", "golang.org/x/mod"}},
	"cmd/bench":       {8, []string{"golang.org/x/perf", "gonum.org/v1/gonum"}},
	"experiments":     {6, []string{"gonum.org/v1/gonum", "github.com/sourcegraph/conc"}},
	"train":           {5, nil},
	"papertables":     {4, []string{"github.com/sourcegraph/conc"}},
	"audit":           {5, []string{"gonum.org/v1", "github.com/sourcegraph/conc"}},
	"sim":             {4, []string{"github.com/sourcegraph/conc"}},
	"sim/clock":       {2, nil},
	"plan":            {4, nil},
	"models":          {3, nil},
	"dp":              {2, []string{"gonum.org/v1"}},
	"nn":              {2, nil},
	"data/libsvm":     {2, nil},
	"data/mnist":      {2, nil},
	"data/cifar10":    {2, nil},
	"data/synth":      {2, nil},
	"internal/f32":    {1, nil},
	"data":            {1, nil},
	"internal/plots":  {1, []string{"gonum.org/v1/plot"}},
	"internal/paper":  {1, nil},
	"internal":        {0, nil},
	"internal/report": {0, []string{"github.com/schollz/progressbar/v3"}},
	"internal/fetch":  {0, []string{"github.com/schollz/progressbar/v3", "github.com/cenkalti/backoff/v5"}},
	"internal/cpu":    {0, []string{"golang.org/x/sys"}},
	"rng":             {0, []string{"golang.org/x/sys"}},
}

// sameFloor lists imports within a floor that are not to the parent: floor 0
// rests on itself where a package is smaller than the other.
var sameFloor = map[[2]string]bool{
	{"internal/fetch", "internal/atomicfile"}:    true,
	{"internal/atomicfile", "internal/lockfile"}: true,
	{"rng", "internal/only64bit"}:                true,
}

// runnersOnly lists the files of sim that may run goroutines and use channels:
// the state machines know none.
var runnersOnly = []string{"hogwild.go", "workspaces.go", "crew.go"}

func floorOf(t *testing.T, pkg string) (floor, bool) {
	t.Helper()
	for p := pkg; p != "."; p = path.Dir(p) {
		if f, ok := floors[p]; ok {
			return f, true
		}
	}
	return floor{}, false
}

type listed struct {
	ImportPath, Dir           string
	Imports, GoFiles          []string
	TestImports, XTestImports []string
}

func packages(t *testing.T) []listed {
	t.Helper()
	out, err := exec.Command("go", "list", "-json=ImportPath,Dir,Imports,GoFiles,TestImports,XTestImports", module+"/...").Output()
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
		own, known := floorOf(t, name)
		if !known {
			t.Errorf("%s stands on no floor: add it to the map with its place in the house", name)
			continue
		}
		for _, imported := range p.Imports {
			if bad := edge(t, name, own, imported); bad != "" {
				t.Errorf("%s imports %s: %s", name, imported, bad)
			}
		}
	}
}

// edge says what is wrong with an import, or "".
func edge(t *testing.T, name string, own floor, imported string) string {
	t.Helper()
	if !within(imported, module) {
		if !strings.Contains(strings.Split(imported, "/")[0], ".") {
			return "" // the standard library
		}
		if slices.ContainsFunc(own.modules, func(m string) bool { return within(imported, m) }) {
			return ""
		}
		return "not a third-party module named for this floor"
	}
	target := strings.TrimPrefix(imported, module+"/")
	other, known := floorOf(t, target)
	switch {
	case !known:
		return "it stands on no floor"
	case other.number < own.number, path.Dir(name) == target, sameFloor[[2]string{name, target}],
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
		own, _ := floorOf(t, c.from)
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
var durationNames = []string{"Duration", "ParseDuration", "Nanosecond", "Microsecond", "Millisecond", "Second", "Minute", "Hour"}

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
	if got := concurrency(t, "a.go", "package sim\n\nimport \"time\"\n\n// go chan <-\nvar going = -time.Second\n"); len(got) != 0 {
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
