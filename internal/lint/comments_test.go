package lint

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// Every exported thing of a public package has a comment, every public package says
// what it is for, and has an example.
func TestPublicPackagesAreDocumented(t *testing.T) {
	seen := 0
	for _, p := range packages(t) {
		if !public(p.ImportPath) {
			continue
		}
		seen++
		name := strings.TrimPrefix(p.ImportPath, module+"/")
		files, err := filepath.Glob(filepath.Join(p.Dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		described, example := false, false
		for _, path := range files {
			file, err := parser.ParseFile(token.NewFileSet(), path, nil,
				parser.ParseComments|parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			if strings.HasSuffix(path, "_test.go") {
				example = example || hasExample(file)
				continue
			}
			described = described || file.Doc.Text() != ""
			for _, bare := range uncommented(file) {
				t.Errorf("%s: %s has no comment", name, bare)
			}
		}
		if !described {
			t.Errorf("%s has no comment that says what it is for", name)
		}
		if !example {
			t.Errorf("%s has no example", name)
		}
	}
	if seen < 20 {
		t.Errorf("only %d public packages were looked at", seen)
	}
}

func hasExample(file *ast.File) bool {
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Example") {
			return true
		}
	}
	return false
}

// uncommented lists what a file exports without a comment, except methods, whose names often say
// all. A comment on a group is for all in it, and so is one at the end of the line.
func uncommented(file *ast.File) []string {
	var bare []string
	missing := func(name string, comments ...*ast.CommentGroup) {
		for _, c := range comments {
			if c.Text() != "" {
				return
			}
		}
		bare = append(bare, name)
	}
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil && d.Name.IsExported() {
				missing(d.Name.Name, d.Doc)
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.TypeSpec:
					if s.Name.IsExported() {
						missing(s.Name.Name, d.Doc, s.Doc, s.Comment)
					}
				case *ast.ValueSpec:
					for _, name := range s.Names {
						if name.IsExported() {
							missing(name.Name, d.Doc, s.Doc, s.Comment)
						}
					}
				}
			}
		}
	}
	return bare
}

func TestMissingCommentsAreFound(t *testing.T) {
	const planted = `package a

type A struct{}

// B is commented.
type B[T any] struct{}

func (*A) Run()   {}
func (B[T]) Run() {}
func (*A) run()   {}

func (*A) String() string { return "" }

type c struct{}

func (c) Run() {}

const D, e = 1, 2

// All of these.
var (
	F = 1
	G = 2
)

var (
	H = 3 // has one
	I = 4
)

// J is commented.
func J() {}
func K() {}
`
	file, err := parser.ParseFile(token.NewFileSet(), "a.go", planted, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Join(uncommented(file), " "), "A D I K"; got != want {
		t.Errorf("found %s, want %s", got, want)
	}
	if hasExample(file) {
		t.Error("an example where there is none")
	}
}
