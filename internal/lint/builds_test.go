package lint

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/tools/go/analysis/checker"
	"golang.org/x/tools/go/analysis/suite/vet"
	xpackages "golang.org/x/tools/go/packages"
)

// fromSource reads packages for another platform and checks their types, without export data, which the
// compiler would have to write.
func fromSource(system, arch string) *xpackages.Config {
	return &xpackages.Config{
		Mode: xpackages.NeedName | xpackages.NeedFiles | xpackages.NeedCompiledGoFiles | xpackages.NeedImports |
			xpackages.NeedDeps | xpackages.NeedTypes | xpackages.NeedSyntax | xpackages.NeedTypesSizes,
		Env:        append(os.Environ(), "GOOS="+system, "GOARCH="+arch, "CGO_ENABLED=0"),
		BuildFlags: []string{"-tags=nobroker"},
	}
}

// Every package and test is correct Go for the other operating systems, for which the program is released,
// too. Only the files of the embedded broker are left out. Types are checked from source, so nothing is
// compiled for those systems.
func TestOtherSystemsAreCorrect(t *testing.T) {
	if testing.Short() {
		t.Skip("reads all packages again for each system")
	}
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	goroot := filepath.Join(strings.TrimSpace(string(out)), "src") + string(filepath.Separator)
	// Nearly all of this memory is in use until the end.
	defer debug.SetGCPercent(debug.SetGCPercent(800))
	// Most files are the same for every system, and are parsed once. Types need no comments, and not the numbers
	// in tables of other modules, such as fonts.
	own, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	own += string(filepath.Separator)
	fset := token.NewFileSet()
	var parsed sync.Map // *ast.File by the name of the file
	parse := func(fset *token.FileSet, name string, src []byte) (*ast.File, error) {
		if f, ok := parsed.Load(name); ok {
			return f.(*ast.File), nil
		}
		f, err := parser.ParseFile(fset, name, src, parser.AllErrors|parser.SkipObjectResolution)
		if err == nil {
			if strings.HasPrefix(name, goroot) {
				withoutBodies(f)
			}
			if !strings.HasPrefix(name, own) {
				withoutNumbers(f)
			}
			parsed.Store(name, f)
		}
		return f, err
	}
	for _, system := range []struct{ os, arch, packages string }{
		{"darwin", "arm64", module + "/..."},
		{"windows", "amd64", module + "/..."},
		{"js", "wasm", module + "/web/internal/planner"},
	} {
		config := fromSource(system.os, system.arch)
		config.Fset, config.ParseFile, config.Tests = fset, parse, true
		loaded, err := xpackages.Load(config, system.packages)
		if err != nil {
			t.Fatal(err)
		}
		all := map[string]bool{}
		xpackages.Visit(loaded, nil, func(p *xpackages.Package) {
			all[p.PkgPath] = true
			if p.Module == nil && len(p.GoFiles) > 0 && strings.HasPrefix(p.GoFiles[0], goroot) {
				return // without bodies, its files have imports that nothing uses
			}
			for _, err := range p.Errors {
				t.Errorf("%s/%s: %v", system.os, system.arch, err)
			}
		})
		if !all[module+"/rng"] || !all["runtime"] {
			t.Errorf("%s/%s: packages are missing: %d were checked", system.os, system.arch, len(all))
		}
		if system.os == "windows" {
			config.Mode |= xpackages.NeedTypesInfo
			vetted(t, config)
		}
	}
}

// ownFiles lists the packages with files for Windows that go vet does not see elsewhere. The one of trainer has two
// empty functions.
var ownFiles = []string{"cluster/internal/journal", "internal/bounded", "internal/cpu", "internal/files", "internal/openfiles"}

// vetted runs the checks of go vet on these packages for another system. The command itself would have to compile the
// standard library for it.
func vetted(t *testing.T, config *xpackages.Config) {
	t.Helper()
	var paths []string
	for _, name := range ownFiles {
		paths = append(paths, module+"/"+name)
	}
	loaded, err := xpackages.Load(config, paths...)
	if err != nil {
		t.Fatal(err)
	}
	// The standard library, whose functions are empty, does not make what imports it unfit.
	xpackages.Visit(loaded, nil, func(p *xpackages.Package) { p.IllTyped = false })
	found, err := checker.Analyze(vet.Suite, loaded, nil)
	if err != nil {
		t.Fatal(err)
	}
	for done := range found.All() {
		if !done.IsRoot {
			continue
		}
		if done.Err != nil {
			t.Errorf("%v: %v", done, done.Err)
		}
		for _, d := range done.Diagnostics {
			t.Errorf("%v: %s", config.Fset.Position(d.Pos), d.Message)
		}
	}
}

// withoutBodies empties the functions of a file of the standard library, which is correct Go for every system:
// other packages only need to know what it declares.
func withoutBodies(f *ast.File) {
	for _, d := range f.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok {
			fn.Body = nil
		}
	}
}

// withoutNumbers empties the long lists of numbers of a file. They are correct on every system, or on none.
func withoutNumbers(f *ast.File) {
	ast.Inspect(f, func(n ast.Node) bool {
		list, ok := n.(*ast.CompositeLit)
		if !ok {
			return true
		}
		if array, ok := list.Type.(*ast.ArrayType); ok && len(list.Elts) > 100 && onlyNumbers(list.Elts) {
			if _, counted := array.Len.(*ast.Ellipsis); !counted {
				list.Elts = nil
			}
		}
		return list.Elts != nil
	})
}

// onlyNumbers reports whether the elements are numbers, or lists of numbers.
func onlyNumbers(elements []ast.Expr) bool {
	return !slices.ContainsFunc(elements, func(e ast.Expr) bool {
		if at, ok := e.(*ast.KeyValueExpr); ok && onlyNumbers([]ast.Expr{at.Key}) {
			e = at.Value
		}
		if signed, ok := e.(*ast.UnaryExpr); ok {
			e = signed.X
		}
		if list, ok := e.(*ast.CompositeLit); ok {
			return list.Type != nil || !onlyNumbers(list.Elts)
		}
		_, number := e.(*ast.BasicLit)
		return !number
	})
}

// On a platform with ints of 32 bits, counts would overflow. The build refuses it with one line, and
// builds nothing.
func TestPlatformsOf32BitsAreRefusedInOneLine(t *testing.T) {
	if testing.Short() {
		t.Skip("reads packages for another platform")
	}
	// Only the package with the guard and its imports are read: the others depend on it, so they are not built.
	loaded, err := xpackages.Load(fromSource("linux", "386"), module+"/rng")
	if err != nil {
		t.Fatal(err)
	}
	var says []string
	xpackages.Visit(loaded, nil, func(p *xpackages.Package) {
		for _, err := range p.Errors {
			says = append(says, err.Msg)
		}
	})
	if len(says) != 1 || !strings.Contains(says[0], "proactivedp_needs_a_64_bit_platform") {
		t.Errorf("the compiler says\n%s\nwant one line that a platform of 64 bits is needed", strings.Join(says, "\n"))
	}
	for _, p := range allPackages(t) {
		if slices.Contains([]string{"cmd/proactivedp", "dp/pld", "sim"}, p.name()) &&
			!slices.Contains(p.Deps, module+"/rng") {
			t.Errorf("%s does not depend on rng, so it could be built for 32 bits", p.name())
		}
	}
}

// With the build tag nobroker, the program contains neither the broker nor the packages that only it
// needs.
func TestTheBrokerCanBeLeftOut(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles with another tag")
	}
	out, err := exec.Command("go", "list", "-deps", "-tags", "nobroker", module+"/cmd/proactivedp").Output()
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(out), "nats-server") || !strings.Contains(string(out), "nats-io/nats.go") {
		t.Error("without a broker the program has nats-server, or no nats.go")
	}
}
