//go:build unix

package main

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

// shares lists the packages in which faults are drawn, and the number of faults in each.
var shares = []struct {
	folder string
	share  int
}{
	{"dp", 5}, {"dp/claim", 5}, {"dp/closedform", 9}, {"dp/gdp", 3}, {"dp/pld", 9}, {"dp/rdp", 6}, {"dp/tradeoff", 3},
	{"plan", 12}, {"sim", 15}, {"sim/clock", 4}, {"train", 14}, {"experiments", 9}, {"train/pool", 5},
	{"internal/plots", 8},
}

// candidate is a fault that can be drawn, with its rank in the draw.
type candidate struct {
	fault
	rank string
	pkg  *packages.Package
}

// drawTo draws faults and writes them to the list.
func drawTo(file, dir string, seed uint64, n int) error {
	var patterns []string
	all := 0
	for _, s := range shares {
		patterns = append(patterns, "./"+s.folder)
		all += s.share
	}
	loaded, err := packages.Load(&packages.Config{Dir: dir, Mode: packages.LoadSyntax | packages.NeedModule},
		patterns...)
	if err != nil {
		return err
	}
	l := list{Seed: seed}
	drawn, upTo := 0, 0
	for _, s := range shares {
		at := slices.IndexFunc(loaded, func(p *packages.Package) bool {
			return p.Module != nil && folderOf(p) == s.folder
		})
		if at < 0 {
			return fmt.Errorf("package %s does not exist", s.folder)
		}
		if len(loaded[at].Errors) > 0 {
			return fmt.Errorf("%s: %w", s.folder, loaded[at].Errors[0])
		}
		upTo += s.share
		share := n*upTo/all - drawn
		drawn += share
		faults, err := draw(loaded[at:at+1], s.folder, seed, share)
		if err != nil {
			return err
		}
		l.Faults = append(l.Faults, faults...)
	}
	return l.write(file)
}

// notDrawn are the folders of programs that users do not run.
var notDrawn = []string{"cmd/bench", "cmd/explore", "internal/tools/"}

// drawWhole draws faults in the whole module and writes them to the list.
func drawWhole(file, dir string, seed uint64, n int) error {
	loaded, err := packages.Load(&packages.Config{Dir: dir, Mode: packages.LoadSyntax | packages.NeedModule}, "./...")
	if err != nil {
		return err
	}
	for _, p := range loaded {
		if len(p.Errors) > 0 {
			return fmt.Errorf("%s: %w", p.PkgPath, p.Errors[0])
		}
	}
	loaded = slices.DeleteFunc(loaded, func(p *packages.Package) bool {
		return slices.ContainsFunc(notDrawn, func(not string) bool { return strings.HasPrefix(folderOf(p), not) })
	})
	l := list{Seed: seed}
	if l.Faults, err = draw(loaded, "", seed, n); err != nil {
		return err
	}
	return l.write(file)
}

func folderOf(p *packages.Package) string { return strings.TrimPrefix(p.PkgPath, p.Module.Path+"/") }

// draw draws n faults in the packages. folder is their name for errors. It takes the kinds in turn,
// and each fault in a different function. Within a kind, the order is given by a digest of the seed
// and the fault. So the draw depends only on these, and a change elsewhere in the source does not
// change it.
func draw(loaded []*packages.Package, folder string, seed uint64, n int) ([]fault, error) {
	kinds := map[string][]candidate{}
	for _, p := range loaded {
		for _, parsed := range p.Syntax {
			path := p.Fset.Position(parsed.Pos()).Filename
			if ast.IsGenerated(parsed) {
				continue
			}
			all, err := candidates(p, parsed, path, folderOf(p), seed)
			if err != nil {
				return nil, err
			}
			for _, c := range all {
				kinds[c.Kind] = append(kinds[c.Kind], c)
			}
		}
	}
	for _, all := range kinds {
		slices.SortFunc(all, func(a, b candidate) int { return cmp.Compare(a.rank, b.rank) })
	}
	order := slices.Collect(maps.Keys(kinds))
	slices.SortFunc(order, func(a, b string) int {
		return cmp.Compare(digest(seed, folder, a), digest(seed, folder, b))
	})
	var drawn []fault
	taken := map[string]bool{}
	for len(drawn) < n {
		before := len(drawn)
		for _, kind := range order {
			if len(drawn) == n {
				break
			}
			f, rest := first(kinds[kind], taken)
			kinds[kind] = rest
			if f != nil {
				taken[f.Package+" "+f.In] = true
				drawn = append(drawn, *f)
			}
		}
		if len(drawn) == before {
			return nil, fmt.Errorf("%s: only %d faults can be drawn of %d", folder, before, n)
		}
	}
	return drawn, nil
}

// first returns the first candidate that compiles and is not in a function that is already taken,
// and the candidates after it. The fault is nil if no candidate is left.
func first(all []candidate, taken map[string]bool) (*fault, []candidate) {
	for i, c := range all {
		if !taken[c.Package+" "+c.In] && c.compiles(c.pkg) {
			return &c.fault, all[i+1:]
		}
	}
	return nil, nil
}

// candidates lists all possible faults in a file.
func candidates(p *packages.Package, parsed *ast.File, path, folder string, seed uint64) ([]candidate, error) {
	source, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	at := func(pos token.Pos) int { return p.Fset.Position(pos).Offset }
	var all []candidate
	for _, d := range parsed.Decls {
		e := editor{pkg: p.Types, info: p.TypesInfo,
			text: func(n ast.Node) string { return string(source[at(n.Pos()):at(n.End())]) }}
		e.declaration(d)
		for _, edit := range e.edits {
			from, to := at(edit.from), at(edit.to)
			if strings.Contains(string(source[from:to])+edit.text, "\n") {
				continue
			}
			start := strings.LastIndex(string(source[:from]), "\n") + 1
			end := to + strings.Index(string(source[to:]), "\n")
			f := fault{
				Package: folder, File: filepath.Base(path), In: nameOf(d), Kind: edit.kind,
				Before: strings.TrimSpace(string(source[start:end])),
				After:  strings.TrimSpace(string(source[start:from]) + edit.text + string(source[to:end])),
			}
			for _, other := range parsed.Decls {
				if nameOf(other) == f.In && at(other.Pos()) < start {
					f.Nth += times(string(source[at(other.Pos()):min(start, at(other.End()))]), f.Before)
				}
			}
			if f.Before == f.After {
				continue
			}
			f.Name = digest(0, f.Package, f.In, f.Kind, f.Before, f.After, fmt.Sprint(f.Nth))[:6]
			all = append(all, candidate{f, digest(seed, f.Name, f.Kind, f.After), p})
		}
	}
	return all, nil
}

// times counts the lines of text that equal line, ignoring white space around them.
func times(text, line string) int {
	n := 0
	for other := range strings.Lines(text) {
		if strings.TrimSpace(other) == line {
			n++
		}
	}
	return n
}

func digest(seed uint64, texts ...string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %q", seed, texts))
	return hex.EncodeToString(sum[:])
}

// compiles reports whether the package compiles with the fault.
func (c candidate) compiles(p *packages.Package) bool {
	fset := token.NewFileSet()
	var files []*ast.File
	for _, parsed := range p.Syntax {
		path := p.Fset.Position(parsed.Pos()).Filename
		text, err := os.ReadFile(path)
		if err != nil {
			return false
		}
		source := string(text)
		if filepath.Base(path) == c.File {
			if source, err = c.in(source); err != nil {
				return false
			}
		}
		file, err := parser.ParseFile(fset, path, source, parser.SkipObjectResolution)
		if err != nil {
			return false
		}
		files = append(files, file)
	}
	conf := types.Config{Importer: imported(p.Types.Imports())}
	_, err := conf.Check(p.PkgPath, fset, files, nil)
	return err == nil
}

// imported imports only packages that are already loaded.
type imported []*types.Package

func (all imported) Import(path string) (*types.Package, error) {
	for _, p := range all {
		if p.Path() == path {
			return p, nil
		}
	}
	if path == "unsafe" {
		return types.Unsafe, nil
	}
	return nil, errors.New("not imported: " + path)
}
