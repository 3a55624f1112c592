package main

import (
	"bytes"
	"fmt"
	"go/format"
	"go/parser"
	"go/scanner"
	"go/token"
	"path"
	"regexp"
	"strings"

	"golang.org/x/mod/modfile"
)

// renamer changes the path of a module, from one to another, where a text
// means the module or a package of it.
type renamer struct {
	from, to string
	packages map[string]bool // the folders with Go files, below the root
	modules  map[string]bool // the folders of nested modules
	bare     *regexp.Regexp  // matches the path by itself, in the places of a module's path
	below    *regexp.Regexp  // matches the path of a package
}

func newRenamer(t tree, from, to string) *renamer {
	r := &renamer{from: from, to: to, packages: map[string]bool{}, modules: map[string]bool{}}
	for name := range t {
		dir := path.Dir(name)
		if path.Ext(name) == ".go" {
			r.packages[dir] = true
		}
		if path.Base(name) == "go.mod" && dir != "." {
			r.modules[dir] = true
		}
	}
	quoted := regexp.QuoteMeta(from)
	r.bare = regexp.MustCompile(`(\b(?:module|require|replace|go get(?: -[a-z]+)*)[ \t]+)` + quoted +
		`(\.?(?:[\s"@;,)` + "`" + `]|$))`)
	r.below = regexp.MustCompile(`(^|[^\w./~-])` + quoted + `(/(?:\.\.\.|[\w/-]+))`)
	return r
}

// text renames the module's path in a text: its packages (proactivedp/sim, and
// proactivedp/...), and the module where a command or a go.mod file names it
// (require proactivedp). A path that is part of a longer one, such as
// cmd/proactivedp/plan.go, and the program's name stay as they are.
func (r *renamer) text(b []byte) []byte {
	b = r.below.ReplaceAllFunc(b, func(found []byte) []byte {
		m := r.below.FindSubmatch(found)
		dir := string(m[2][1:])
		if dir != "..." && !r.packages[dir] && !r.modules[dir] {
			return found
		}
		return bytes.Join([][]byte{m[1], []byte(r.to), m[2]}, nil)
	})
	return r.bare.ReplaceAll(b, []byte("${1}"+strings.ReplaceAll(r.to, "$", "$$")+"${2}"))
}

// source renames in a Go file. The strings of a file that is no test stay, but
// for imports: they are data, and some of them are hashed.
func (r *renamer) source(name string, b []byte) ([]byte, error) {
	if strings.HasSuffix(name, "_test.go") {
		b = r.text(b)
	} else {
		var err error
		if b, err = r.sourceButStrings(name, b); err != nil {
			return nil, err
		}
	}
	formatted, err := format.Source(b) // gofmt sorts imports by their paths
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return formatted, nil
}

func (r *renamer) sourceButStrings(name string, b []byte) ([]byte, error) {
	files := token.NewFileSet()
	parsed, err := parser.ParseFile(files, name, b, parser.ImportsOnly)
	if err != nil {
		return nil, err
	}
	imports := map[int]bool{}
	for _, spec := range parsed.Imports {
		imports[files.Position(spec.Path.Pos()).Offset] = true
	}
	var s scanner.Scanner
	file := token.NewFileSet().AddFile(name, -1, len(b))
	s.Init(file, b, nil, scanner.ScanComments)
	var out []byte
	done := 0
	for {
		pos, kind, literal := s.Scan()
		if kind == token.EOF {
			return append(out, b[done:]...), nil
		}
		at := file.Offset(pos)
		if kind == token.COMMENT || kind == token.STRING && imports[at] {
			end := at + len(literal)
			out = append(append(out, b[done:at]...), r.text(b[at:end])...)
			done = end
		}
	}
}

// modFile renames in a go.mod file: the module itself, requirements and
// replacements.
func (r *renamer) modFile(name string, b []byte) ([]byte, error) {
	f, err := modfile.ParseLax(name, b, nil)
	if err != nil {
		return nil, err
	}
	rename := func(line *modfile.Line) {
		for i, word := range line.Token {
			dir, below := strings.CutPrefix(word, r.from+"/")
			switch {
			case word == r.from:
				line.Token[i] = r.to
			case below && (r.modules[dir] || r.packages[dir]):
				line.Token[i] = r.to + "/" + dir
			}
		}
	}
	for _, statement := range f.Syntax.Stmt {
		switch s := statement.(type) {
		case *modfile.Line:
			rename(s)
		case *modfile.LineBlock:
			for _, line := range s.Line {
				rename(line)
			}
		}
	}
	f.SortBlocks()
	return modfile.Format(f.Syntax), nil
}
