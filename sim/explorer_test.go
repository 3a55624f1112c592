package sim

import (
	"errors"
	"fmt"
)

// Exploration describes a run that is small enough to try every order of its events. A message may
// take any time, and a client may have any speed. Virtual's own code processes the events. The
// explorer replaces only the clock: instead of the earliest event, it tries every event in turn.
type Exploration struct {
	Clients int // number of clients, in [1, 5]
	Rounds  int // rounds of each client; Clients × Rounds is in [1, 32]
	Short   int // rounds of client 0, if it has fewer than the others, because its sample size is larger; else 0
	Tau     int // τ of Υ(k, i) ⇔ k ≥ i − τ; if negative, Υ is always true
	// Momentum gives the server a momentum of ½. Clients × Rounds is then at most 24.
	Momentum bool
	Faults   Faults
}

// Faults limits how often faults happen in one run. Each may happen at any time, to any message or
// client. Each limit is in [0, 255].
type Faults struct {
	Duplicates int // how many messages arrive twice
	Losses     int // how many are lost; each is sent again at any later time
	Leaves     int // how often a client leaves; it returns at any later time
}

// Explored is the result of an exploration: how many states and moves there are.
type Explored struct {
	States      int // distinct states, apart from times, the order of the queue and the clients' numbers
	Transitions int // moves from one state to the next
	Ends        int // states at which nothing is under way
}

// Run tries every order of the events and checks every invariant in every state. The error is a
// *Violation if an invariant does not hold.
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
	// A fingerprint tries the clients in each of n! orders.
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
	if e.Short < 0 || e.Short > e.Rounds {
		errs = append(errs, fmt.Errorf("short = %d, must be in [0, %d]", e.Short, e.Rounds))
	}
	f := e.Faults
	if least, most := min(f.Duplicates, f.Losses, f.Leaves), max(f.Duplicates, f.Losses, f.Leaves); least < 0 ||
		most > maxFaults {
		errs = append(errs, fmt.Errorf("faults = %+v, must be in [0, %d] each", f, maxFaults))
	}
	return errors.Join(errs...)
}

// explorer walks depth first through the graph whose nodes are states and whose edges are moves. It
// stores in full only the states on the current path.
type explorer struct {
	Exploration
	virtual  *Virtual             // the run; it is set to one state after another
	visited  map[fingerprint]bool // the states seen; true for those on the path
	path     []move
	explored Explored
	orders   [][]int   // the orders of the clients that a fingerprint tries
	buffers  [2][]byte // working memory of fingerprints
}

// visit explores everything that can follow a state.
func (x *explorer) visit(w *world) error {
	print := x.fingerprint(w)
	if onPath, seen := x.visited[print]; onPath {
		return violated(InvariantTermination, "the run returned to an earlier state, so it may never end")
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
