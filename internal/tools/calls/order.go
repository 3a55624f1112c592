package main

import (
	"math/bits"
	"slices"
)

// exactFiles is the largest number of files whose best order is found exactly: it
// takes 2^n steps. Beyond it the order is the best one a search finds.
const exactFiles = 20

// order returns the files in an order in which as few calls as can be run from a
// later file to an earlier one. Files that call each other in a circle are ordered
// among themselves; the circles need no choice.
//
// It is the weighted feedback arc set problem, exact within each circle of at most
// exactFiles files. In a larger one the order found is the best of a local search
// that moves one file at a time; the search draws nothing, and so gives the same
// order for the same calls.
func (g graph) order() []int {
	var order []int
	for _, circle := range g.circles() {
		if len(circle) <= exactFiles {
			order = append(order, g.exact(circle)...)
		} else {
			order = append(order, g.search(circle)...)
		}
	}
	return order
}

// circles returns the strongly connected components of the files, those that call
// before those that are called (Tarjan 1972), each sorted.
func (g graph) circles() [][]int {
	n := len(g.files)
	index, low, onStack := make([]int, n), make([]int, n), make([]bool, n)
	var stack []int
	var found [][]int
	next := 1
	var visit func(i int)
	visit = func(i int) {
		index[i], low[i] = next, next
		next++
		stack, onStack[i] = append(stack, i), true
		for j, calls := range g.calls[i] {
			switch {
			case calls == 0:
			case index[j] == 0:
				visit(j)
				low[i] = min(low[i], low[j])
			case onStack[j]:
				low[i] = min(low[i], index[j])
			}
		}
		if low[i] != index[i] {
			return
		}
		at := slices.Index(stack, i)
		circle := slices.Clone(stack[at:])
		stack = stack[:at]
		for _, j := range circle {
			onStack[j] = false
		}
		slices.Sort(circle)
		found = append(found, circle)
	}
	for i := range n {
		if index[i] == 0 {
			visit(i)
		}
	}
	slices.Reverse(found)
	return found
}

// exact returns the best order of some files by dynamic programming over their
// subsets: the fewest calls against the order among those that stand first.
func (g graph) exact(files []int) []int {
	n := len(files)
	fewest := make([]int32, 1<<n)
	last := make([]int8, 1<<n)
	for set := 1; set < 1<<n; set++ {
		fewest[set] = -1
		for rest := set; rest != 0; rest &= rest - 1 {
			i := bits.TrailingZeros(uint(rest))
			before := set &^ (1 << i)
			calls := fewest[before]
			for b := before; b != 0; b &= b - 1 {
				calls += int32(g.calls[files[i]][files[bits.TrailingZeros(uint(b))]])
			}
			if fewest[set] < 0 || calls < fewest[set] {
				fewest[set], last[set] = calls, int8(i)
			}
		}
	}
	order := make([]int, n)
	for set, at := 1<<n-1, n-1; at >= 0; at-- {
		i := int(last[set])
		order[at] = files[i]
		set &^= 1 << i
	}
	return order
}

// search turns stretches of the order round and settles it again, until that saves
// no call whatever the stretch.
func (g graph) search(files []int) []int {
	best := g.settle(files)
	fewest := sum(g.against(best))
	for better := true; better; {
		better = false
		for from := range best {
			for to := from + 2; to <= len(best); to++ {
				turned := slices.Clone(best)
				slices.Reverse(turned[from:to])
				turned = g.settle(turned)
				if calls := sum(g.against(turned)); calls < fewest {
					best, fewest, better = turned, calls, true
				}
			}
		}
	}
	return best
}

// settle moves one file at a time, until no move saves a call.
func (g graph) settle(order []int) []int {
	order = slices.Clone(order)
	for moved := true; moved; {
		moved = false
		for _, f := range slices.Clone(order) {
			at := slices.Index(order, f)
			order = slices.Delete(order, at, at+1)
			to := g.place(order, f, at)
			order = slices.Insert(order, to, f)
			moved = moved || to != at
		}
	}
	return order
}

// place returns where in an order of the other files f has the fewest calls against
// it, its own and those of it, and at where no other place has fewer.
func (g graph) place(order []int, f, at int) int {
	costs := make([]int, len(order)+1) // less what the first place costs
	for place, other := range order {
		costs[place+1] = costs[place] + g.calls[f][other] - g.calls[other][f]
	}
	best := at
	for place, cost := range costs {
		if cost < costs[best] {
			best = place
		}
	}
	return best
}
