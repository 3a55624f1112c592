package main

import (
	"cmp"
	"errors"
	"fmt"
	"go/token"
	"go/types"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

// graph holds the calls of one package between its files.
type graph struct {
	name  string
	files []string // names of the files, sorted
	// calls[i][j] counts the calls in file i of what is declared in file j.
	calls [][]int
	// names[i][j] counts them by the name of what is called.
	names [][]map[string]int
}

// pair is a pair of files with its calls.
type pair struct{ from, to, calls int }

// load reads the packages that the patterns name, as go list understands them in
// dir. With uses, what is counted are not calls alone: see counts.
func load(dir string, patterns []string, uses bool) ([]graph, error) {
	cfg := &packages.Config{Dir: dir, Mode: packages.LoadSyntax}
	all, err := packages.Load(cfg, patterns...)
	if err != nil {
		return nil, err
	}
	var graphs []graph
	var problems []error
	for _, p := range all {
		for _, e := range p.Errors {
			problems = append(problems, fmt.Errorf("%s: %w", p.PkgPath, e))
		}
		graphs = append(graphs, newGraph(p, uses))
	}
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	return graphs, nil
}

func newGraph(p *packages.Package, uses bool) graph {
	g := graph{name: p.PkgPath}
	fileOf := func(node interface{ Pos() token.Pos }) string {
		return filepath.Base(p.Fset.Position(node.Pos()).Filename)
	}
	for _, f := range p.Syntax {
		g.files = append(g.files, fileOf(f))
	}
	slices.Sort(g.files)
	g.calls = make([][]int, len(g.files))
	g.names = make([][]map[string]int, len(g.files))
	for i := range g.files {
		g.calls[i] = make([]int, len(g.files))
		g.names[i] = make([]map[string]int, len(g.files))
	}
	for id, object := range p.TypesInfo.Uses {
		if object.Pkg() != p.Types || !counts(object, uses) {
			continue
		}
		name := object.Name()
		if f, ok := object.(*types.Func); ok {
			object, name = f.Origin(), nameOf(f)
		}
		from, _ := slices.BinarySearch(g.files, fileOf(id))
		to, _ := slices.BinarySearch(g.files, fileOf(object))
		if from == to {
			continue
		}
		g.calls[from][to]++
		if g.names[from][to] == nil {
			g.names[from][to] = map[string]int{}
		}
		g.names[from][to][name]++
	}
	return g
}

// counts reports whether naming the object is a call, or with uses, whether the
// object is declared at the level of the package, whatever it is.
func counts(object types.Object, uses bool) bool {
	if _, ok := object.(*types.Func); ok {
		return true
	}
	return uses && object.Parent() == object.Pkg().Scope()
}

// nameOf writes a function as it stands in the source: f, or T.f for a method.
func nameOf(f *types.Func) string {
	receiver := f.Signature().Recv()
	if receiver == nil {
		return f.Name()
	}
	t := types.TypeString(receiver.Type(), func(*types.Package) string { return "" })
	return strings.TrimPrefix(t, "*") + "." + f.Name()
}

func (g graph) total() int {
	n := 0
	for _, row := range g.calls {
		for _, calls := range row {
			n += calls
		}
	}
	return n
}

// against lists the pairs of files whose calls run from a later file of the order
// to an earlier one, the pair with most calls first.
func (g graph) against(order []int) []pair {
	var pairs []pair
	for at, from := range order {
		for _, to := range order[:at] {
			if calls := g.calls[from][to]; calls > 0 {
				pairs = append(pairs, pair{from, to, calls})
			}
		}
	}
	slices.SortFunc(pairs, func(a, b pair) int {
		return cmp.Or(b.calls-a.calls, a.from-b.from, a.to-b.to)
	})
	return pairs
}

func sum(pairs []pair) int {
	n := 0
	for _, p := range pairs {
		n += p.calls
	}
	return n
}

// called lists what file i calls of file j, each with its count if more than once.
func (g graph) called(i, j int) string {
	var b strings.Builder
	names := g.names[i][j]
	for _, name := range slices.Sorted(maps.Keys(names)) {
		fmt.Fprintf(&b, " %s", name)
		if n := names[name]; n > 1 {
			fmt.Fprintf(&b, "×%d", n)
		}
	}
	return b.String()
}
