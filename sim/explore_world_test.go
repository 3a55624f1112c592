package sim

import (
	"slices"

	"proactivedp/sim/clock"
)

// world is a state of the run, and what the explorer recorded on the way to it. It is immutable.
type world struct {
	run      virtualState
	left     Faults
	received []int // the newest k that arrived at each client while it was present
	finished []int // how many rounds of each client have ended
}

// newExplorer returns an explorer and the state at the start of the run.
func newExplorer(e Exploration) (*explorer, *world, error) {
	v, err := NewVirtual(e.config(), Perf{}, nil)
	if err != nil {
		return nil, nil, err
	}
	orders := permutations(e.Clients)
	if e.Short > 0 { // only clients of equal sizes are alike
		orders = slices.DeleteFunc(orders, func(order []int) bool { return order[0] != 0 })
	}
	x := &explorer{Exploration: e, virtual: v, visited: map[fingerprint]bool{}, orders: orders}
	return x, &world{run: v.state(), left: e.Faults, received: make([]int, e.Clients),
		finished: make([]int, e.Clients)}, nil
}

// move is something that can happen next: kind says what, event is the place in the queue.
type move struct {
	kind  moveKind
	event int
}

type moveKind uint8

const (
	happens      moveKind = iota
	happensTwice          // a message arrives and will arrive again: it was duplicated on the way
	isLost                // a message does not arrive: it was lost on the way
)

// moves lists the moves that are possible in state w. How long a message travels does not affect
// the protocol, so the explorer decides whether it is lost or duplicated only when it could arrive.
func (x *explorer) moves(w *world) []move {
	var out []move
	for j, e := range w.run.queue {
		if e.kind == clientLeaves && w.left.Leaves == 0 {
			continue
		}
		out = append(out, move{happens, j})
		if e.kind != updateArrives && e.kind != broadcastArrives {
			continue
		}
		if w.left.Duplicates > 0 {
			out = append(out, move{happensTwice, j})
		}
		if w.left.Losses > 0 {
			out = append(out, move{isLost, j})
		}
	}
	return out
}

// still reports whether nothing has to happen any more: clients can at most leave.
func (w *world) still(moves []move) bool {
	return !slices.ContainsFunc(moves, func(m move) bool { return w.run.queue[m.event].kind != clientLeaves })
}

// step returns the state after a move, and an error if the move broke an invariant. after is nil if
// no such state exists.
func (x *explorer) step(before *world, m move) (after *world, err error) {
	after = &world{left: before.left, received: slices.Clone(before.received), finished: slices.Clone(before.finished)}
	v := x.virtual
	v.Restore(&Snapshot{state: before.run})
	v.vectors.free = nil // these vectors belong to other states
	queue := v.agenda.all()
	e := (*queue)[m.event]
	*queue = slices.Delete(*queue, m.event, m.event+1)
	switch m.kind {
	case isLost:
		after.left.Losses--
		x.send(e, clock.Network{Loss: 1})
	case happensTwice:
		after.left.Duplicates--
		x.send(e, clock.Network{Duplicate: 1})
		same := func(o event) bool { return o.kind == e.kind && o.vector == e.vector && o.client == e.client }
		j := slices.IndexFunc(*v.agenda.all(), same)
		*queue = slices.Delete(*queue, j, j+1)
		fallthrough
	case happens:
		after.see(e, before.run.stations[e.client].away)
		if err := x.happen(e); err != nil {
			return nil, err
		}
	}
	after.run = v.state()
	return after, x.check(before, after, m)
}

// see records in w the effect that event e will have on its client, before it happens. away says
// whether the client is away.
func (w *world) see(e event, away bool) {
	switch {
	case e.kind == roundEnds:
		w.finished[e.client]++
	case e.kind == broadcastArrives && !away:
		w.received[e.client] = max(w.received[e.client], int(e.number))
	case e.kind == clientLeaves:
		w.left.Leaves--
	}
}

// send sends the message of event e again, through the network n. n loses or duplicates every
// message, so that the explorer and not chance decides what happens.
func (x *explorer) send(e event, n clock.Network) {
	x.virtual.cfg.Network = n
	x.virtual.send(&e)
	x.virtual.cfg.Network = clock.Network{}
}

// happen processes an event in the run. It returns a failed assertion as an error.
func (x *explorer) happen(e event) (err error) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case *Violation: // an assertion failed
			err = p
		default:
			err = violated(InvariantNoFailure, "panic: %v", p)
		}
	}()
	if err := x.virtual.happen(&e); err != nil {
		return violated(InvariantNoFailure, "%v", err)
	}
	return nil
}
