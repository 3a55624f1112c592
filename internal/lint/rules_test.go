// Package lint holds tests of the source itself: a dozen rules about imports,
// randomness, goroutines and rounding, and tests of the documents.
package lint

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// module is the path of this module.
var module = strings.TrimSuffix(reflect.TypeFor[listed]().PkgPath(), "/internal/lint")

// rooms are the top-level folders with packages, from the top down. A room imports only those
// further down in this list. Rooms in one string do not import each other. The packages of
// internal are in no room: what they import counts for each room that imports them.
// docs/architecture.md says what the rooms are.
var rooms = []string{
	"cmd examples", "web experiments", "auto propose", "cluster", "train", "audit answer trainer", "sim", "plan",
	"models", "nn", "dp", "data", "rng",
}

// thirdParty lists, for every room, the modules that it may import, other than the standard library.
var thirdParty = map[string][]string{
	"audit":   {"github.com/sourcegraph/conc", "gonum.org/v1/gonum"},
	"cluster": {"github.com/nats-io", "github.com/sourcegraph/conc"},
	"cmd": {
		"github.com/spf13/cobra", "github.com/spf13/pflag", "golang.org/x/perf", "gonum.org/v1/gonum",
	},
	"data":        {"github.com/cenkalti/backoff/v5", "gonum.org/v1/gonum"},
	"dp":          {"gonum.org/v1/gonum"},
	"experiments": {"gonum.org/v1/gonum"},
	"internal": {
		"github.com/cenkalti/backoff/v5", "github.com/klauspost/compress", "github.com/nats-io",
		"github.com/schollz/progressbar/v3", "github.com/sourcegraph/conc", "github.com/ulikunitz/xz", "github.com/yuin/goldmark", "golang.org/x/image", "golang.org/x/mod",
		"golang.org/x/net/html", "golang.org/x/sys", "golang.org/x/term", "golang.org/x/tools", "gonum.org/v1/gonum",
		"gonum.org/v1/plot",
	},
	"propose": {"gonum.org/v1/gonum"},
	"rng":     {"golang.org/x/sys"},
	"sim":     {"github.com/sourcegraph/conc"},
	"train":   {"github.com/sourcegraph/conc", "gonum.org/v1/gonum"},
	"web":     {"golang.org/x/net/netutil"},
}

// listed is what go list says of a package.
type listed struct {
	ImportPath, Dir, Doc      string
	Imports, Deps, GoFiles    []string
	TestImports, XTestImports []string
	TestGoFiles, XTestGoFiles []string
}

// name is the path of the package below the module.
func (p listed) name() string { return strings.TrimPrefix(p.ImportPath, module+"/") }

// packages lists the packages of the module.
var packages = sync.OnceValues(func() ([]listed, error) {
	out, err := exec.Command("go", "list", "-json=ImportPath,Dir,Doc,Imports,Deps,GoFiles,TestImports,XTestImports,"+
		"TestGoFiles,XTestGoFiles", module+"/...").Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	var all []listed
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
})

func allPackages(t *testing.T) []listed {
	t.Helper()
	all, err := packages()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func within(path, prefix string) bool { return path == prefix || strings.HasPrefix(path, prefix+"/") }

// roomOf returns the top-level folder of a package of this module, "" for one of another.
func roomOf(importPath string) string {
	name, ours := strings.CutPrefix(importPath, module+"/")
	if !ours {
		return ""
	}
	room, _, _ := strings.Cut(name, "/")
	return room
}

// level is how far up a room is. A room that is new and not in the list stands between the
// commands and all others: a command can try it, and it can import what it needs.
func level(room string) int {
	for i, names := range rooms {
		if slices.Contains(strings.Fields(names), room) {
			return 2 * (len(rooms) - i)
		}
	}
	return 2*len(rooms) - 1
}

// mayUse reports whether a package of one room may depend on a package of another.
func mayUse(from, to string) bool {
	return from == to || to == "" || from == "internal" || to == "internal" || level(to) < level(from)
}

// A room (top-level folder) imports only lower rooms, directly or through internal packages. So there are
// no cycles between rooms.
func TestRoomsImportDownwards(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range allPackages(t) {
		from := roomOf(p.ImportPath)
		seen[from] = true
		for _, dep := range p.Deps {
			if to := roomOf(dep); !mayUse(from, to) {
				t.Errorf("%s depends on %s: %s is not below %s in the list of rooms", p.name(),
					strings.TrimPrefix(dep, module+"/"), to, from)
			}
		}
	}
	for _, room := range strings.Fields(strings.Join(rooms, " ")) {
		if !seen[room] && room != "examples" { // a module of its own
			t.Errorf("the list of rooms has %s, which is no folder with packages", room)
		}
	}
}

func TestForbiddenImportsAreFound(t *testing.T) {
	for _, c := range []struct {
		from, to string
		may      bool
	}{
		{"sim", "experiments", false}, {"propose", "experiments", false}, {"dp", "plan", false}, {"auto", "propose", false}, {"new", "train", true},
		{"cmd", "new", true}, {"train", "new", false}, {"train", "internal", true}, {"internal", "train", true},
		{"data", "data", true}, {"dp", "", true},
	} {
		if got := mayUse(c.from, c.to); got != c.may {
			t.Errorf("%s may import %s: %v", c.from, c.to, got)
		}
	}
}

func TestThirdPartyModulesAreNamed(t *testing.T) {
	for _, p := range allPackages(t) {
		for _, imported := range p.Imports {
			first, _, _ := strings.Cut(imported, "/")
			named := func(module string) bool { return within(imported, module) }
			if strings.Contains(first, ".") && !within(imported, module) &&
				!slices.ContainsFunc(thirdParty[roomOf(p.ImportPath)], named) {
				t.Errorf("%s imports %s, which thirdParty does not name for this room", p.name(), imported)
			}
		}
	}
}

// The accountants and the sampler can be reviewed, and put into the planner page, without the rest of the
// program: they do not need the network, other programs or compression.
func TestAccountantsDependOnLittle(t *testing.T) {
	forbidden := []string{"net", "os/exec", "compress", "archive", "crypto/tls", "encoding/gob"}
	for _, p := range allPackages(t) {
		if room := roomOf(p.ImportPath); room != "dp" && room != "rng" {
			continue
		}
		for _, dep := range p.Deps {
			if slices.ContainsFunc(forbidden, func(f string) bool { return within(dep, f) }) {
				t.Errorf("%s depends on %s", p.name(), dep)
			}
		}
	}
}

// runners lists the files of sim that may run goroutines and use channels: the state
// machines know none.
var runners = []string{"crew.go", "hogwild.go", "shared.go", "soonest.go"}

func TestOnlyRunnersKnowGoroutines(t *testing.T) {
	files := 0
	for _, p := range allPackages(t) {
		if p.name() != "sim" && roomOf(p.ImportPath) != "dp" {
			continue
		}
		for _, file := range p.GoFiles {
			if p.name() == "sim" && slices.Contains(runners, file) {
				continue
			}
			files++
			for _, found := range concurrency(t, filepath.Join(p.Dir, file), nil) {
				t.Errorf("%s", found)
			}
		}
	}
	if files < 80 {
		t.Errorf("only %d files were looked at", files)
	}
}

// durationNames are what package time has for lengths of time, next to its clocks.
var durationNames = []string{
	"Duration", "ParseDuration", "Nanosecond", "Microsecond", "Millisecond", "Second", "Minute", "Hour",
}

// concurrency lists what runs, waits or shares in a source file, with its line:
// goroutines, channels, the clock, and the imports that are for them.
func concurrency(t *testing.T, file string, source any) []string {
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
	"sync/atomic"
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
		"a.go:4: import of sync/atomic", "a.go:6: import of github.com/sourcegraph/conc/pool", "a.go:9: channel type",
		"a.go:12: go statement", "a.go:13: send", "a.go:14: receive", "a.go:15: select", "a.go:18: use of time.Sleep",
	}
	if got := concurrency(t, "a.go", planted); !slices.Equal(got, want) {
		t.Errorf("found %q, want %q", got, want)
	}
}

// Randomness is always a parameter: packages with global random sources are not used. The exceptions are
// the operating system's source in package rng, and names of temporary files.
func TestNoGlobalRandomness(t *testing.T) {
	for _, p := range allPackages(t) {
		for _, imported := range p.Imports {
			if globalRandomness(p.name(), imported, false) {
				t.Errorf("%s imports %s", p.name(), imported)
			}
		}
		for _, imported := range slices.Concat(p.TestImports, p.XTestImports) {
			if globalRandomness(p.name(), imported, true) {
				t.Errorf("tests of %s import %s", p.name(), imported)
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
		return name != "rng" && name != "internal/files"
	}
	return false
}

// public reports whether a package can be imported from outside the module: not
// a command, and nothing internal.
func public(pkg string) bool {
	return !within(pkg, module+"/cmd") && !strings.Contains("/"+pkg+"/", "/internal/")
}

// Every package has a comment that says what it is for, and every public package has an example.
func TestPackagesAreDocumented(t *testing.T) {
	for _, p := range allPackages(t) {
		if p.Doc == "" && len(p.GoFiles) > 0 {
			t.Errorf("%s has no comment that says what it is for", p.name())
		}
		if !public(p.ImportPath) {
			continue
		}
		shown := slices.ContainsFunc(slices.Concat(p.TestGoFiles, p.XTestGoFiles), func(file string) bool {
			source, err := os.ReadFile(filepath.Join(p.Dir, file))
			if err != nil {
				t.Fatal(err)
			}
			return strings.Contains(string(source), "\nfunc Example")
		})
		if !shown {
			t.Errorf("%s has no example", p.name())
		}
	}
}

var (
	// nearestVerb matches, in a format, the symbol of a bound before a verb that rounds
	// to the nearest number, which may be on the unsafe side of the bound.
	nearestVerb = regexp.MustCompile(`(ε|δ|σ|γ|θ|μ|ε_target)\s*(=|≤|≥|<|>|at least|at most|above|below|` +
		`of about)\s*%[-+ #0]*\d*\.\d+[efgEG]`)
	// boundName matches the names of bounds in an expression.
	boundName = regexp.MustCompile(`(?i)(epsilon|delta|sigma|noisemultiplier|theta)`)
	// nearest are the functions that round to the nearest number.
	nearest = []string{"report.Number", "report.Fixed", "report.Percent"}
)

// Bounds are formatted by internal/decimal, which rounds to the safe side. No format and no call rounds a
// bound to the nearest number.
func TestNoBoundIsRoundedToNearest(t *testing.T) {
	literals := 0
	for _, p := range allPackages(t) {
		for _, name := range p.GoFiles {
			set := token.NewFileSet()
			file, err := parser.ParseFile(set, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if text, ok := n.(*ast.BasicLit); ok && text.Kind == token.STRING {
					literals++
				}
				if what := roundedBound(n); what != "" {
					t.Errorf("%s: %s rounds a bound to the nearest number: write it by internal/decimal",
						set.Position(n.Pos()), what)
				}
				return true
			})
		}
	}
	if literals < 3000 {
		t.Errorf("only %d texts were looked at", literals)
	}
}

// roundedBound returns what rounds a bound at a node, or "".
func roundedBound(n ast.Node) string {
	switch n := n.(type) {
	case *ast.BasicLit:
		if n.Kind == token.STRING {
			text, _ := strconv.Unquote(n.Value)
			return nearestVerb.FindString(text)
		}
	case *ast.CallExpr:
		if slices.Contains(nearest, types.ExprString(n.Fun)) && boundName.MatchString(types.ExprString(n.Args[0])) {
			return types.ExprString(n)
		}
	}
	return ""
}

func TestRoundedBoundsAreFound(t *testing.T) {
	for expr, found := range map[string]bool{
		`f("σ = %g, δ = %.4g", s, d)`: true, `f("at least ε ≥ %.3f", e)`: true, `f("ε_target = %.6g", e)`: true,
		`report.Number(planned.Delta)`: true, `report.Fixed(c.EpsilonUpper, 4)`: true,
		`f("δ = %s, C = %.4g", d, c)`: false, `f("δ = %g", d)`: false, `report.Number(c.Clip)`: false,
		`decimal.Up(c.Delta, 5)`: false,
	} {
		tree, err := parser.ParseExpr(expr)
		if err != nil {
			t.Fatal(err)
		}
		got := false
		ast.Inspect(tree, func(n ast.Node) bool {
			got = got || roundedBound(n) != ""
			return true
		})
		if got != found {
			t.Errorf("%s: found %v, want %v", expr, got, found)
		}
	}
}
