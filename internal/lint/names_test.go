package lint

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// declared is what the source of the module declares, tests left out.
type declared struct {
	packages map[string]map[string]bool // by a package's name, "Name" and "Type.Member" of all packages of that name
	members  map[string]bool            // "Type.Member" of every package
	single   map[string]bool            // "Name" and "Member" of every package
}

// declarations parses the sources, given by their path.
func declarations(t *testing.T, sources map[string]string) declared {
	t.Helper()
	d := declared{map[string]map[string]bool{}, map[string]bool{}, map[string]bool{}}
	for name, source := range sources {
		if strings.HasSuffix(name, "_test.go") || strings.HasPrefix(name, "internal/_gen/") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, source, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		if d.packages[f.Name.Name] == nil {
			d.packages[f.Name.Name] = map[string]bool{}
		}
		add := func(parts ...string) {
			d.packages[f.Name.Name][strings.Join(parts, ".")] = true
			d.single[parts[len(parts)-1]] = true
			if len(parts) == 2 {
				d.members[strings.Join(parts, ".")] = true
			}
		}
		for _, decl := range f.Decls {
			switch decl := decl.(type) {
			case *ast.FuncDecl:
				if decl.Recv == nil {
					add(decl.Name.Name)
				} else {
					add(receiver(decl.Recv.List[0].Type), decl.Name.Name)
				}
			case *ast.GenDecl:
				for _, spec := range decl.Specs {
					addSpec(spec, add)
				}
			}
		}
	}
	return d
}

// addSpec adds the names of a declaration of constants, variables or a type.
func addSpec(spec ast.Spec, add func(parts ...string)) {
	switch spec := spec.(type) {
	case *ast.ValueSpec:
		for _, n := range spec.Names {
			add(n.Name)
		}
	case *ast.TypeSpec:
		add(spec.Name.Name)
		var fields *ast.FieldList
		switch of := spec.Type.(type) {
		case *ast.StructType:
			fields = of.Fields
		case *ast.InterfaceType:
			fields = of.Methods
		default:
			return
		}
		for _, field := range fields.List {
			for _, n := range field.Names {
				add(spec.Name.Name, n.Name)
			}
		}
	}
}

// receiver returns the name of a receiver's type.
func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.IndexListExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}

var (
	inCode     = regexp.MustCompile("`([^`\n]+)`")
	qualified  = regexp.MustCompile(`^\w+(\.[A-Za-z]\w*){1,2}$`)
	unexported = regexp.MustCompile(`^[a-z]+[A-Z]\w*$`)
	sourceFile = regexp.MustCompile(`(?:\b[\w-]+\.[a-z]+/)?\b[a-z][\w-]*(?:/[\w-]+)*/[\w-]+\.go\b`)
	// extensions are those of files that pages name; no declaration is called so.
	extensions = []string{"md", "go", "mod", "json", "csv", "png", "txt", "bin", "gz", "dev", "libsvm", "checkpoint",
		"cff", "s", "creds", "conf"}
)

// unknownNames lists what a page names in `code` and the module does not have:
// files of Go, and declarations as package.Name, package.Type.Member,
// Type.Member or, alone, nameOfTwoWords.
func unknownNames(name, text string, d declared, exists func(path string) bool) []string {
	prose, _ := split(text)
	var unknown []string
	for i, line := range strings.Split(prose, "\n") {
		for _, file := range sourceFile.FindAllString(line, -1) {
			if host, _, _ := strings.Cut(file, "/"); strings.Contains(host, ".") {
				continue // a module, such as one of github.com
			}
			if !exists(file) && !exists(path.Join(path.Dir(name), file)) {
				unknown = append(unknown, fmt.Sprintf("%s:%d: there is no %s", name, i+1, file))
			}
		}
		for _, m := range inCode.FindAllStringSubmatch(line, -1) {
			if unexported.MatchString(m[1]) && !d.single[m[1]] {
				unknown = append(unknown, fmt.Sprintf("%s:%d: nothing is called %s", name, i+1, m[1]))
			}
			if !qualified.MatchString(m[1]) || slices.Contains(extensions, strings.TrimPrefix(path.Ext(m[1]), ".")) {
				continue
			}
			first, rest, _ := strings.Cut(m[1], ".")
			if known := d.packages[first]; known != nil && !known[rest] || known == nil && !d.members[m[1]] {
				unknown = append(unknown, fmt.Sprintf("%s:%d: nothing is called %s", name, i+1, m[1]))
			}
		}
	}
	return unknown
}

// Files and declarations that the pages for maintainers and users name are there.
// A changelog speaks of the past.
func TestNamesInMarkdownExist(t *testing.T) {
	d := declarations(t, texts(t, ".go"))
	for name, text := range markdown(t) {
		if strings.HasPrefix(name, "results/") || name == "CHANGELOG.md" {
			continue
		}
		for _, bad := range unknownNames(name, text, d, inRepository) {
			t.Error(bad)
		}
	}
}

func TestUnknownNamesAreFound(t *testing.T) {
	d := declarations(t, map[string]string{
		"a/a.go": "package a\n\ntype T struct{ F, aField int }\n\nfunc (t *T) M() {}\n\nconst C = 1\n\ntype I " +
			"interface{ N() }\n",
		"a/a_test.go": "package a\n\nfunc Tested() {}\n",
	})
	const page = "`a.C` `a.T.F` `T.M` `a.I.N` `a/a.go` `figure.png` `--x=1.5` `x.y z` `aField` `field` a/b.go\n" +
		"`a.D` `a.T.G` `T.N` `a.Tested` `b.C` `noField` a/c.go\n"
	exists := func(path string) bool { return path == "a/a.go" }
	want := []string{
		"p.md:1: there is no a/b.go", "p.md:2: there is no a/c.go", "p.md:2: nothing is called a.D",
		"p.md:2: nothing is called a.T.G", "p.md:2: nothing is called T.N", "p.md:2: nothing is called a.Tested",
		"p.md:2: nothing is called b.C", "p.md:2: nothing is called noField",
	}
	if got := unknownNames("p.md", page, d, exists); !slices.Equal(got, want) {
		t.Errorf("found\n%q, want\n%q", got, want)
	}
	below := func(path string) bool { return path == "sub/a/b.go" } // beside the page
	if got := unknownNames("sub/p.md", "a/b.go a/c.go", d, below); !slices.Equal(got,
		[]string{"sub/p.md:1: there is no a/c.go"}) {
		t.Errorf("beside a page found %q", got)
	}
}
