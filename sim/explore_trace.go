package sim

import (
	"errors"
	"fmt"
)

// searched bounds the states that are looked at for the shortest way to a
// violation: all of them are in memory.
const searched = 1 << 18

// explain completes a violation that was found at the end of the path: with the
// trace of the shortest way to one, or, where that is too far to look for, of
// the path.
func (x *explorer) explain(start *world, broken *Violation) error {
	if shorter, path := x.nearest(start); shorter != nil {
		broken, x.path = shorter, path
	}
	w := start
	for _, m := range x.path {
		next, _ := x.step(w, m)
		broken.Trace = append(broken.Trace, x.describe(w, m, next))
		w = next
	}
	return broken
}

// nearest searches breadth first for a violation.
func (x *explorer) nearest(start *world) (*Violation, []move) {
	type node struct {
		world  *world
		parent int
		via    move
	}
	nodes := []node{{world: start}}
	x.visited = map[fingerprint]bool{x.fingerprint(start): true}
	pathTo := func(n int, last ...move) []move {
		for ; n > 0; n = nodes[n].parent {
			last = append([]move{nodes[n].via}, last...)
		}
		return last
	}
	for n := 0; n < len(nodes) && n < searched; n++ {
		w := nodes[n].world
		nodes[n].world = nil
		broken := new(Violation)
		moves := x.moves(w)
		if len(moves) == 0 && errors.As(x.checkEnd(w), &broken) {
			return broken, pathTo(n)
		}
		for _, m := range moves {
			next, err := x.step(w, m)
			if errors.As(err, &broken) {
				return broken, pathTo(n, m)
			}
			if print := x.fingerprint(next); !x.visited[print] {
				x.visited[print] = true
				nodes = append(nodes, node{next, n, m})
			}
		}
	}
	return nil, nil
}

// describe says what a move did.
func (x *explorer) describe(before *world, m move, after *world) string {
	e := before.event(m)
	line := ""
	switch e.kind {
	case roundEnds:
		line = fmt.Sprintf("client %d ends round %d and sends its update", e.client, before.finished[e.client])
	case updateArrives:
		line = fmt.Sprintf("the update of client %d, round %d", e.client, e.number)
	case broadcastArrives:
		line = fmt.Sprintf("v̂_%d to client %d", e.number, e.client)
	}
	switch m.kind {
	case isLost:
		return line + " is lost"
	case isResent:
		return line + " is sent again"
	case happens, happensAgain:
		if e.kind != roundEnds {
			line += " arrives"
		}
	}
	if m.kind == happensAgain {
		line += ", and a copy of it is under way"
	}
	if after == nil {
		return line
	}
	if k := after.run.server.k; k > before.run.server.k {
		line += fmt.Sprintf("; the server is at k = %d", k)
	}
	for i := range after.run.clients {
		was, is := &before.run.clients[i], &after.run.clients[i]
		if is.busy && (!was.busy || is.i > was.i) {
			line += fmt.Sprintf("; client %d begins round %d with v̂_%d received", i, is.i, after.received[i])
		}
	}
	return line
}
