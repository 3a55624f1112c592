// Package testkit has helpers that tests of several packages share: for the length of slow tests, golden pictures,
// NumPy archives, results of other accountants, and zero values.
package testkit

import (
	"context"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"maps"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// limit is the longest time that a call may take.
const limit = 20 * time.Second

// Package describes the exports of a package that return errors, for Check.
type Package struct {
	// Exported has the exported functions that return an error, and a pointer to a zero value of
	// each exported type with methods that return an error.
	Exported []any
	// Unusable has, for each type whose zero value cannot be used, a text that its errors must
	// contain: the name of the constructor.
	Unusable map[string]string
	// Given has arguments. For a parameter of an interface type, the first argument that implements
	// it is used. A context, an empty reader and a writer need not be listed. If no argument
	// implements the interface, nil is passed. Calling nil panics, as it does in the standard
	// library.
	Given []any
	// Skip names functions and methods that are not called, such as Type.Method, because they wait
	// for something or read the process's input.
	Skip []string
}

// Check tests that misuse of the package is an error and not a crash. It calls every exported function and
// method that returns an error with zero arguments and an open context, and methods on a zero value and on
// a nil pointer. The test fails if a call panics or waits forever. Methods of types in Unusable must
// return the error given there. Check also fails if p lacks an export of the package in the working
// directory, or names something that does not exist.
func (p Package) Check(t *testing.T) {
	t.Helper()
	missing := exported(t)
	named := append(slices.Collect(maps.Keys(p.Unusable)), p.Skip...)
	for _, e := range p.Exported {
		name := ""
		if v := reflect.ValueOf(e); v.Kind() == reflect.Func {
			path := runtime.FuncForPC(v.Pointer()).Name() // such as proactivedp/dp.Compose
			name = path[strings.LastIndexByte(path, '.')+1:]
			if !slices.Contains(p.Skip, name) {
				p.call(t, name, v, nil)
			}
		} else {
			name = v.Type().Elem().Name()
			p.methods(t, v.Type().Elem())
		}
		delete(missing, name)
		named = slices.DeleteFunc(named, func(n string) bool {
			method, is := strings.CutPrefix(n, name+".")
			_, has := reflect.TypeOf(e).MethodByName(method)
			return n == name || is && has
		})
	}
	for _, name := range named {
		t.Errorf("%s is named in the test, but does not exist", name)
	}
	for name := range missing {
		t.Errorf("%s is missing in the test", name)
	}
}

func (p Package) methods(t *testing.T, kind reflect.Type) {
	t.Helper()
	pointer := reflect.PointerTo(kind)
	for i := range pointer.NumMethod() {
		m := pointer.Method(i)
		name := kind.Name() + "." + m.Name
		if !returnsError(m.Type) || slices.Contains(p.Skip, name) {
			continue
		}
		zero := reflect.New(kind)
		p.call(t, name, zero.Method(i), func(err error) {
			if want, is := p.Unusable[kind.Name()]; is && (err == nil || !strings.Contains(err.Error(), want)) {
				t.Errorf("%s of the zero value: error %v, want one with %q", name, err, want)
			}
		})
		if _, byValue := kind.MethodByName(m.Name); byValue {
			continue // Go does not call a value method on nil
		}
		p.call(t, name+" on nil", reflect.Zero(pointer).Method(i), func(err error) {
			if err == nil {
				t.Errorf("%s on a nil pointer: no error", name)
			}
		})
	}
}

// call calls f with zero arguments and passes its error to show.
func (p Package) call(t *testing.T, name string, f reflect.Value, show func(error)) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit/2)
	defer cancel()
	var in []reflect.Value
	for i := range f.Type().NumIn() {
		if f.Type().IsVariadic() && i == f.Type().NumIn()-1 {
			break
		}
		kind := f.Type().In(i)
		arg := reflect.Zero(kind)
		for _, v := range append([]any{ctx, strings.NewReader(""), io.Discard}, p.Given...) {
			if kind.Kind() == reflect.Interface && kind.NumMethod() > 0 && reflect.TypeOf(v).Implements(kind) {
				arg = reflect.ValueOf(v)
				break
			}
		}
		in = append(in, arg)
	}
	type result struct {
		err   error
		panic any
	}
	done := make(chan result, 1)
	go func() {
		var r result
		defer func() {
			r.panic = recover()
			done <- r
		}()
		out := f.Call(in)
		r.err, _ = out[len(out)-1].Interface().(error)
	}()
	select {
	case r := <-done:
		if r.panic != nil {
			t.Errorf("%s panics: %v", name, r.panic)
		} else if show != nil {
			show(r.err)
		}
	case <-time.After(limit):
		t.Errorf("%s takes more than %v", name, limit)
	}
}

func returnsError(f reflect.Type) bool {
	n := f.NumOut()
	return n > 0 && f.Out(n-1) == reflect.TypeFor[error]()
}

// exported returns the names of the exported functions of the package in the working directory that
// return an error, and of the types with such methods.
func exported(t *testing.T) map[string]bool {
	t.Helper()
	paths, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || !f.Name.IsExported() || !lastIsError(f.Type) {
				continue
			}
			name := f.Name.Name
			if f.Recv != nil {
				name = receiver(f.Recv.List[0].Type)
			}
			if ast.IsExported(name) {
				names[name] = true
			}
		}
	}
	return names
}

func lastIsError(f *ast.FuncType) bool {
	if f.Results == nil || len(f.Results.List) == 0 {
		return false
	}
	last, ok := f.Results.List[len(f.Results.List)-1].Type.(*ast.Ident)
	return ok && last.Name == "error"
}

func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}
