package main

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// ceilings are the most calls that may run against the order of a package's files,
// half or less of the 11 each that there were before the packages were divided.
var ceilings = map[string]int{"sim": 5, "experiments": 0, "experiments/grid": 2}

func TestCallsRunOneWay(t *testing.T) {
	for name, most := range ceilings {
		all, err := load(filepath.Join("..", "..", ".."), []string{"./" + name}, false)
		if err != nil {
			t.Fatal(err)
		}
		if against := all[0].against(all[0].order()); sum(against) > most {
			t.Errorf("%s: %d calls run against the order of its files, at most %d may", name, sum(against), most)
			for _, p := range against {
				t.Logf("%s -> %s:%s", all[0].files[p.from], all[0].files[p.to], all[0].called(p.from, p.to))
			}
		}
	}
}

// Functions, methods and functions handed on as values are calls; types and
// variables are uses; what stands in one file is neither.
func TestCallsAreCounted(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module m\n\ngo 1.26\n",
		"a.go": `package m

func a() int { b(); f := b; f(); own(); return T{}.get() + V + g[int](1) }
func own() {}
`,
		"b.go": `package m

type T struct{ x int }

func (t T) get() int { return t.x }

var V = 1

func b() { own() }

func g[N any](n N) N { return n }

var _ = a
`,
		"c_test.go": "package m\n\nvar _ = a\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		uses     bool
		down, up int
		called   string
	}{
		{false, 4, 2, " T.get b×2 g"},
		{true, 6, 2, " T T.get V b×2 g"},
	} {
		all, err := load(dir, []string{"."}, c.uses)
		if err != nil {
			t.Fatal(err)
		}
		g := all[0]
		if g.calls[0][1] != c.down || g.calls[1][0] != c.up || g.total() != c.down+c.up {
			t.Errorf("uses %v: %v, want %d down and %d up", c.uses, g.calls, c.down, c.up)
		}
		if got := g.called(0, 1); got != c.called {
			t.Errorf("uses %v: called%s, want%s", c.uses, got, c.called)
		}
		if got := sum(g.against(g.order())); got != c.up {
			t.Errorf("uses %v: %d against the order, want %d", c.uses, got, c.up)
		}
	}
}

// drawn returns the calls of a package of n files with about that many pairs.
func drawn(source *rand.Rand, n, pairs int) graph {
	g := graph{files: make([]string, n), calls: make([][]int, n)}
	for i := range g.calls {
		g.calls[i] = make([]int, n)
	}
	for range pairs {
		if i, j := source.IntN(n), source.IntN(n); i != j {
			g.calls[i][j] += 1 + source.IntN(5)
		}
	}
	return g
}

// The order has as few calls against it as the best of all orders, tried one by one.
func TestOrderIsTheBest(t *testing.T) {
	source := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		g := drawn(source, 7, 16)
		best := g.total()
		for order := range permutations(7) {
			best = min(best, sum(g.against(order)))
		}
		if order := g.order(); sum(g.against(order)) != best || !isPermutation(order, 7) {
			t.Errorf("%v: order %v has %d calls against it, the best %d", g.calls, order, sum(g.against(order)), best)
		}
	}
}

// Where the exact method can tell, the search for larger packages is as good.
func TestSearchFindsTheBestOrder(t *testing.T) {
	source := rand.New(rand.NewPCG(3, 4))
	files := make([]int, 14)
	for i := range files {
		files[i] = i
	}
	for range 20 {
		g := drawn(source, len(files), 40)
		found, best := g.search(files), g.exact(files)
		if !isPermutation(found, len(files)) || sum(g.against(found)) != sum(g.against(best)) {
			t.Errorf("%v: search finds %d against the order, exactly it is %d", g.calls, sum(g.against(found)),
				sum(g.against(best)))
		}
	}
}

func isPermutation(order []int, n int) bool {
	sorted := slices.Sorted(slices.Values(order))
	for i, f := range sorted {
		if i != f {
			return false
		}
	}
	return len(sorted) == n
}

// permutations yields every order of 0, …, n − 1, each in the same slice.
func permutations(n int) func(yield func([]int) bool) {
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	var from func(at int, yield func([]int) bool) bool
	from = func(at int, yield func([]int) bool) bool {
		if at == n {
			return yield(order)
		}
		for i := at; i < n; i++ {
			order[at], order[i] = order[i], order[at]
			if !from(at+1, yield) {
				return false
			}
			order[at], order[i] = order[i], order[at]
		}
		return true
	}
	return func(yield func([]int) bool) { from(0, yield) }
}
