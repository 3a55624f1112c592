package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/build"
	"go/doc"
	"go/doc/comment"
	"go/format"
	"go/parser"
	"go/token"
	"html/template"
	"io"
	"path"
	"slices"
	"strings"
)

// isPublic reports whether a folder holds a package that others can import.
func (s *site) isPublic(folder string) bool {
	for part := range strings.SplitSeq(folder, "/") {
		if part == "internal" || part == "testdata" || strings.HasPrefix(part, "_") || strings.HasPrefix(part, ".") {
			return false
		}
	}
	first, _, _ := strings.Cut(folder, "/")
	if slices.Contains([]string{"cmd", "examples", "tools", "."}, first) {
		return false
	}
	return slices.ContainsFunc(s.below(folder), func(name string) bool {
		return path.Ext(name) == ".go" && !strings.HasSuffix(name, "_test.go")
	})
}

// publicPackages lists the folders of packages that others can import.
func (s *site) publicPackages() []string {
	seen := map[string]bool{}
	for name := range s.tree {
		seen[path.Dir(name)] = true
	}
	var all []string
	for folder := range seen {
		if s.isPublic(folder) {
			all = append(all, folder)
		}
	}
	slices.Sort(all)
	return all
}

// addAPI adds a page for every public package, and one that lists them.
func (s *site) addAPI() {
	var list strings.Builder
	list.WriteString("<h1>API</h1>\n<p>The packages that a program can import, as their comments describe them. " +
		"How they go together: <a href=\"docs/extend.html\">using and extending it</a>.</p>\n" +
		"<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"Packages\"><table>\n" +
		"<thead><tr><th scope=\"col\">package</th><th scope=\"col\">is</th></tr></thead><tbody>\n")
	for _, folder := range s.publicPackages() {
		p, err := s.documented(folder)
		if err != nil {
			s.fail(folder, err)
			continue
		}
		fmt.Fprintf(&list, "<tr><td><a href=\"%s\"><code>%s</code></a></td><td>%s</td></tr>\n",
			path.Join(folder, home),
			folder, template.HTMLEscapeString(p.doc.Synopsis(p.doc.Doc)))
		p.write()
	}
	list.WriteString("</tbody></table></div>\n")
	s.add(page{at: apiAt, title: "API", body: template.HTML(list.String())})
}

// reference is the page of one package, as it is being written.
type reference struct {
	*site
	doc      *doc.Package
	files    *token.FileSet
	folder   string
	body     strings.Builder
	contents []heading
}

// documented reads the package in a folder, as it is built on linux/amd64.
func (s *site) documented(folder string) (*reference, error) {
	p := &reference{site: s, files: token.NewFileSet(), folder: folder}
	on := build.Default
	on.GOOS, on.GOARCH, on.CgoEnabled = "linux", "amd64", false
	on.OpenFile = func(name string) (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(s.tree[name])), nil }
	on.JoinPath = path.Join
	var parsed []*ast.File
	for _, name := range s.below(folder) {
		if path.Ext(name) != ".go" {
			continue
		}
		if match, err := on.MatchFile(folder, name); err != nil || !match {
			if err != nil {
				return nil, err
			}
			continue
		}
		at := path.Join(folder, name)
		file, err := parser.ParseFile(p.files, at, s.tree[at], parser.ParseComments)
		if err != nil {
			return nil, err
		}
		parsed = append(parsed, file)
	}
	var err error
	p.doc, err = doc.NewFromFiles(p.files, parsed, path.Join(s.module, folder))
	return p, err
}

// at is the page's place.
func (p *reference) at() string { return path.Join(p.folder, home) }

func (p *reference) write() {
	fmt.Fprintf(&p.body, "<h1>package %s</h1>\n<pre tabindex=\"0\"><code>import %q</code></pre>\n", p.doc.Name,
		p.doc.ImportPath)
	p.text(p.doc.Doc, 2)
	p.examples(p.doc.Examples)
	p.values("Constants", p.doc.Consts)
	p.values("Variables", p.doc.Vars)
	if len(p.doc.Funcs) > 0 {
		p.section("Functions")
		p.functions(p.doc.Funcs, "")
	}
	if len(p.doc.Types) > 0 {
		p.section("Types")
	}
	for _, t := range p.doc.Types {
		p.named("type "+t.Name, t.Name)
		p.members(t.Decl, t.Name)
		p.code(t.Decl)
		p.text(t.Doc, 4)
		p.groupsOf(t.Consts)
		p.groupsOf(t.Vars)
		p.examples(t.Examples)
		p.functions(t.Funcs, "")
		p.functions(t.Methods, t.Name)
	}
	p.section("Files")
	p.body.WriteString("<ul>\n")
	for _, name := range p.doc.Filenames {
		to, err := p.placeOf(name)
		p.fail(p.folder, err)
		fmt.Fprintf(&p.body, "<li><a href=\"%s\">%s</a></li>\n", relative(p.at(), to), path.Base(name))
	}
	p.body.WriteString("</ul>\n")
	p.add(page{at: p.at(), title: "package " + p.folder, contents: p.contents, body: template.HTML(p.body.String())})
}

// section begins a part of the page.
func (p *reference) section(title string) {
	name := "section-" + strings.ToLower(title)
	p.contents = append(p.contents, heading{2, title, name})
	fmt.Fprintf(&p.body, "<h2 id=\"%s\">%s</h2>\n", name, title)
}

// named begins what is documented of one name.
func (p *reference) named(title, name string) {
	if !strings.Contains(name, ".") {
		p.contents = append(p.contents, heading{3, name, name})
	}
	fmt.Fprintf(&p.body, "<h3 id=\"%s\"><code>%s</code></h3>\n", name, title)
}

// members gives names to the fields of a struct and the methods of an interface, to which
// comments link.
func (p *reference) members(decl *ast.GenDecl, of string) {
	ast.Inspect(decl, func(node ast.Node) bool {
		var list *ast.FieldList
		switch node := node.(type) {
		case *ast.StructType:
			list = node.Fields
		case *ast.InterfaceType:
			list = node.Methods
		default:
			return true
		}
		for _, field := range list.List {
			for _, name := range field.Names {
				if name.IsExported() {
					fmt.Fprintf(&p.body, "<span id=\"%s.%s\"></span>", of, name.Name)
				}
			}
		}
		return false // what is in a field has no name of its own
	})
}

// functions writes functions, or methods of a type.
func (p *reference) functions(all []*doc.Func, of string) {
	for _, f := range all {
		title, name := "func "+f.Name, f.Name
		if of != "" {
			title, name = fmt.Sprintf("func (%s) %s", f.Recv, f.Name), of+"."+f.Name
		}
		p.named(title, name)
		p.code(f.Decl)
		p.text(f.Doc, 4)
		p.examples(f.Examples)
	}
}

// values writes the constants or variables of the package.
func (p *reference) values(title string, all []*doc.Value) {
	if len(all) > 0 {
		p.section(title)
		p.groupsOf(all)
	}
}

// groupsOf writes groups of constants or variables, to whose names links lead.
func (p *reference) groupsOf(all []*doc.Value) {
	for _, v := range all {
		for _, name := range v.Names {
			if token.IsExported(name) {
				fmt.Fprintf(&p.body, "<span id=\"%s\"></span>", name)
			}
		}
		p.code(v.Decl)
		p.text(v.Doc, 4)
	}
}

// code writes a declaration.
func (p *reference) code(decl ast.Decl) {
	var out bytes.Buffer
	p.fail(p.folder, format.Node(&out, p.files, decl))
	p.body.WriteString("<pre tabindex=\"0\"><code>")
	template.HTMLEscape(&p.body, out.Bytes())
	p.body.WriteString("</code></pre>\n")
}

// examples writes examples, folded.
func (p *reference) examples(all []*doc.Example) {
	for _, e := range all {
		var out bytes.Buffer
		p.fail(p.folder, format.Node(&out, p.files, e.Code))
		code := strings.TrimSuffix(strings.TrimPrefix(out.String(), "{"), "}")
		code = strings.Trim(strings.ReplaceAll(code, "\n\t", "\n"), "\n")
		title := "Example"
		if e.Suffix != "" {
			title += " (" + e.Suffix + ")"
		}
		fmt.Fprintf(&p.body, "<details><summary>%s</summary>\n", title)
		p.text(e.Doc, 4)
		fmt.Fprintf(&p.body, "<pre tabindex=\"0\"><code>%s</code></pre>\n", template.HTMLEscapeString(code))
		if e.Output != "" {
			fmt.Fprintf(&p.body, "<p>It prints</p>\n<pre tabindex=\"0\"><code>%s</code></pre>\n",
				template.HTMLEscapeString(e.Output))
		}
		p.body.WriteString("</details>\n")
	}
}

// text writes a comment, whose headings are of the level, with links to what it names in
// brackets.
func (p *reference) text(words string, level int) {
	printer := p.doc.Printer()
	printer.HeadingLevel = level
	printer.HeadingID = func(*comment.Heading) string { return "" }
	printer.DocLinkURL = p.linked
	out := printer.HTML(p.doc.Parser().Parse(words))
	p.body.WriteString(strings.ReplaceAll(string(out), "<pre>", "<pre tabindex=\"0\">"))
}

// linked is the address of what a comment names in brackets: in this page, in another one
// of the site, or where the documentation of Go's packages is; "" for what nobody can import.
func (p *reference) linked(l *comment.DocLink) string {
	fragment := l.Name
	if l.Recv != "" {
		fragment = l.Recv + "." + l.Name
	}
	to := ""
	if folder, own := strings.CutPrefix(l.ImportPath, p.module+"/"); own && !p.isPublic(folder) {
		return "" // no page: it stays text
	} else if own {
		to = relative(p.at(), path.Join(folder, home))
	} else if l.ImportPath != "" {
		to = "https://pkg.go.dev/" + l.ImportPath
	}
	if fragment != "" {
		to += "#" + fragment
	}
	return to
}
