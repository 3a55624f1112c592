package lint

import (
	"fmt"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// compiled returns the types of the module's packages, of the compiler's export
// data, by import path.
func compiled(t *testing.T) map[string]*types.Package {
	t.Helper()
	list := exec.Command("go", "list", "-export", "-deps", "-f", "{{.ImportPath}}\t{{.Export}}", "./...")
	list.Dir = "../.."
	out, err := list.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	export := map[string]string{}
	for line := range strings.Lines(string(out)) {
		path, file, _ := strings.Cut(strings.TrimSpace(line), "\t")
		export[path] = file
	}
	imports := importer.ForCompiler(token.NewFileSet(), "gc",
		func(path string) (io.ReadCloser, error) { return os.Open(export[path]) })
	all := map[string]*types.Package{}
	for path, file := range export {
		if !within(path, module) || file == "" {
			continue
		}
		if all[path], err = imports.Import(path); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
	}
	return all
}

// No exported name of a public package needs an internal type or one that is not exported, because code
// outside could not make values of it. A public alias is enough.
func TestPublicPackagesNeedNoInternalTypes(t *testing.T) {
	seen, all := 0, compiled(t)
	named := map[*types.TypeName]bool{}
	for path, pkg := range all {
		for _, name := range pkg.Scope().Names() {
			alias, ok := pkg.Scope().Lookup(name).(*types.TypeName)
			if !ok || !public(path) || !alias.Exported() || !alias.IsAlias() {
				continue
			}
			if to, ok := types.Unalias(alias.Type()).(*types.Named); ok {
				named[to.Obj()] = true
			}
		}
	}
	for path, pkg := range all {
		if !public(path) {
			continue
		}
		seen++
		for _, name := range pkg.Scope().Names() {
			if o := pkg.Scope().Lookup(name); o.Exported() {
				for _, bad := range needs(o, named) {
					t.Errorf("%s: %s", strings.TrimPrefix(path, module+"/"), bad)
				}
			}
		}
	}
	if seen < 20 {
		t.Errorf("only %d public packages were looked at", seen)
	}
}

// needs says in what way an exported object needs what cannot be named outside.
func needs(o types.Object, named map[*types.TypeName]bool) []string {
	w := &apiWalk{named: named, seen: map[*types.TypeName]bool{}}
	name, isType := o.(*types.TypeName)
	if !isType {
		w.walk(o.Name(), o.Type())
		return w.bad
	}
	if name.IsAlias() {
		w.walk(o.Name(), types.Unalias(o.Type()))
		return w.bad
	}
	own := o.Type().(*types.Named)
	w.typeParams(o.Name(), own.TypeParams())
	for m := range own.Methods() {
		if m.Exported() {
			w.walk(o.Name()+"."+m.Name(), m.Type())
		}
	}
	w.walk(o.Name(), own.Underlying())
	return w.bad
}

// apiWalk goes through the types that an exported object is made of, as far as
// they can be seen from outside.
type apiWalk struct {
	bad   []string
	named map[*types.TypeName]bool // that a public alias names
	seen  map[*types.TypeName]bool // of these
}

func (w *apiWalk) typeParams(at string, list *types.TypeParamList) {
	for p := range list.TypeParams() {
		w.walk(at+"["+p.Obj().Name()+"]", p.Constraint())
	}
}

func (w *apiWalk) tuple(at string, list *types.Tuple) {
	for v := range list.Variables() {
		w.walk(at, v.Type())
	}
}

func (w *apiWalk) walk(at string, t types.Type) {
	switch t := t.(type) {
	case *types.Alias:
		w.walk(at, types.Unalias(t))
	case *types.Named:
		if pkg := t.Obj().Pkg(); pkg != nil && within(pkg.Path(), module) {
			if w.named[t.Obj()] && !w.seen[t.Obj()] { // what it is made of can be seen by that name
				w.seen[t.Obj()] = true
				w.walk(at, t.Underlying())
			}
			if (strings.Contains("/"+pkg.Path()+"/", "/internal/") || !t.Obj().Exported()) && !w.named[t.Obj()] {
				w.bad = append(w.bad, fmt.Sprintf("%s needs %s.%s", at, strings.TrimPrefix(pkg.Path(), module+"/"),
					t.Obj().Name()))
			}
		}
		for arg := range t.TypeArgs().Types() {
			w.walk(at, arg)
		}
	case *types.Struct:
		for f := range t.Fields() {
			if f.Exported() {
				w.walk(at+"."+f.Name(), f.Type())
			}
		}
	case *types.Interface:
		for m := range t.Methods() {
			if m.Exported() {
				w.walk(at+"."+m.Name(), m.Type())
			}
		}
		for e := range t.EmbeddedTypes() {
			w.walk(at, e)
		}
	case *types.Signature:
		w.typeParams(at, t.TypeParams())
		w.tuple(at, t.Params())
		w.tuple(at, t.Results())
	case *types.Map:
		w.walk(at, t.Key())
		w.walk(at, t.Elem())
	case interface{ Elem() types.Type }: // pointer, slice, array, channel
		w.walk(at, t.Elem())
	case *types.Union:
		for term := range t.Terms() {
			w.walk(at, term.Type())
		}
	}
}
