package lint

import (
	"encoding/json"
	"errors"
	"go/parser"
	"go/token"
	"io"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "proactivedp"

// floor is a floor of the house and the third-party modules named for it.
type floor struct {
	number  int
	modules []string
}

// floors maps folders to floors; the longest matching prefix counts. A package
// imports only lower floors and its own parent.
var floors = map[string]floor{
	"cmd":            {6, []string{"github.com/spf13/cobra"}},
	"experiments":    {5, []string{"gonum.org/v1", "github.com/sourcegraph/conc", "github.com/schollz/progressbar/v3"}},
	"sim":            {4, []string{"github.com/sourcegraph/conc"}},
	"plan":           {4, nil},
	"models":         {3, nil},
	"dp":             {2, []string{"gonum.org/v1"}},
	"data/libsvm":    {2, nil},
	"data/synth":     {2, nil},
	"internal/f32":   {1, nil},
	"data":           {1, nil},
	"internal":       {0, nil},
	"internal/fetch": {0, []string{"github.com/schollz/progressbar/v3", "github.com/cenkalti/backoff/v5"}},
	"internal/cpu":   {0, []string{"golang.org/x/sys"}},
}

// sameFloor lists imports within a floor that are not to the parent: floor 0
// rests on itself where a package is smaller than the other.
var sameFloor = map[[2]string]bool{
	{"internal/fetch", "internal/atomicfile"}: true,
}

// runnersOnly lists the files of sim that may import conc: the state machines
// know no goroutine.
var runnersOnly = []string{"hogwild.go", "crew.go"}

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
	case other.number < own.number, path.Dir(name) == target, sameFloor[[2]string{name, target}]:
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
			for _, imported := range fileImports(t, filepath.Join(p.Dir, file)) {
				if within(imported, "github.com/sourcegraph/conc") || imported == "sync" || imported == "time" && file != "timing.go" {
					t.Errorf("sim/%s imports %s: only %v run anything", file, imported, runnersOnly)
				}
			}
		}
	}
}

// Randomness is a parameter: the packages with global random sources are not
// used, but for the system's in rng and for names of temporary files.
func TestNoGlobalRandomness(t *testing.T) {
	for _, p := range packages(t) {
		name := strings.TrimPrefix(p.ImportPath, module+"/")
		for _, imported := range slices.Concat(p.Imports, p.TestImports, p.XTestImports) {
			switch {
			case imported == "math/rand":
				t.Errorf("%s imports math/rand", name)
			case imported == "math/rand/v2" && !slices.Contains(p.TestImports, imported) && !slices.Contains(p.XTestImports, imported):
				t.Errorf("%s imports math/rand/v2", name)
			case imported == "crypto/rand" && name != "internal/rng" && name != "internal/atomicfile":
				t.Errorf("%s imports crypto/rand", name)
			}
		}
	}
}

func fileImports(t *testing.T, file string) []string {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, spec := range f.Imports {
		out = append(out, strings.Trim(spec.Path.Value, `"`))
	}
	return out
}
