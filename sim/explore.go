package sim

import (
	"errors"
	"fmt"
)

// Exploration is a run so small that it can be taken through every order of its
// events: a message may take any time, a client may have any speed. What happens
// at an event is Virtual's own code; only which event comes next is not the
// clock's choice, but every choice in turn.
type Exploration struct {
	Clients int // number of clients, in [1, 5]
	Rounds  int // rounds of each client; Clients × Rounds is in [1, 32]
	Tau     int // τ of Υ(k, i) ⇔ k ≥ i − τ; if negative, Υ is always true
	// Momentum says that the server has one, of ½; Clients × Rounds is then at most 24.
	Momentum bool
	Faults   Faults
}

// Faults is how often things other than delay may befall one run, each at any
// time and to any message or client; in [0, 255] each.
type Faults struct {
	Duplicates int // how many messages arrive twice
	Losses     int // how many are lost, and sent again at any time after
	Leaves     int // how often a client leaves, and returns at any time after
}

// Explored counts what an exploration went through.
type Explored struct {
	States      int // states that differ in more than times, order of the queue and names of clients
	Transitions int // moves from one state to the next
	Ends        int // states at which nothing is under way
}

// Run takes the exploration through every order of its events and tests every
// invariant in every state. The error is a *Violation if one does not hold.
func (e Exploration) Run() (Explored, error) {
	if err := e.validate(); err != nil {
		return Explored{}, err
	}
	x, start, err := newExplorer(e)
	if err != nil {
		return Explored{}, err
	}
	if err := x.check(nil, start, move{}); err != nil {
		return x.explored, err
	}
	if err := x.visit(start); err != nil {
		return x.explored, x.explain(start, err)
	}
	return x.explored, nil
}

func (e Exploration) validate() error {
	var errs []error
	// A fingerprint looks at the clients in each of n! orders.
	const maxClients, maxFaults = 5, 255
	if e.Clients < 1 || e.Clients > maxClients {
		errs = append(errs, fmt.Errorf("clients = %d, must be in [1, %d]", e.Clients, maxClients))
	}
	most := maxTally
	if e.Momentum {
		most = maxHeavyTally
	}
	if e.Rounds < 1 || e.Rounds > most/max(e.Clients, 1) {
		errs = append(errs, fmt.Errorf("clients × rounds = %d × %d, must be in [1, %d]", e.Clients, e.Rounds,
			most))
	}
	f := e.Faults
	if least, most := min(f.Duplicates, f.Losses, f.Leaves), max(f.Duplicates, f.Losses, f.Leaves); least < 0 ||
		most > maxFaults {
		errs = append(errs, fmt.Errorf("faults = %+v, must be in [0, %d] each", f, maxFaults))
	}
	return errors.Join(errs...)
}

// explorer walks the graph whose nodes are states and whose edges are moves,
// depth first: the states on the path are all that it keeps whole.
type explorer struct {
	Exploration
	virtual  *Virtual             // the run, which is put into one state after another
	visited  map[fingerprint]bool // the states seen; true for those on the path
	path     []move
	explored Explored
	orders   [][]int   // orders of the clients in which a fingerprint looks at them
	buffers  [2][]byte // working memory of fingerprints
}

// visit explores everything that can follow a state.
func (x *explorer) visit(w *world) error {
	print := x.fingerprint(w)
	if onPath, seen := x.visited[print]; onPath {
		return violated(InvariantTermination, "the state is one that was left before: this can go on for ever")
	} else if seen {
		return nil
	}
	x.explored.States++
	x.visited[print] = true
	moves := x.moves(w)
	if w.still(moves) {
		x.explored.Ends++
		if err := x.checkEnd(w); err != nil {
			return err
		}
	}
	for _, m := range moves {
		x.explored.Transitions++
		x.path = append(x.path, m)
		next, err := x.step(w, m)
		if err == nil {
			err = x.visit(next)
		}
		if err != nil {
			return err
		}
		x.path = x.path[:len(x.path)-1]
	}
	x.visited[print] = false
	return nil
}
