package sim

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"
)

// world is a state of the run, and what the explorer has seen on the way to it.
// It does not change once it is made.
type world struct {
	run      virtualState
	lost     []event // messages to be sent again
	left     Faults
	received []int // by client: the newest k that was delivered to it
	finished []int // by client: rounds that ended
}

// newExplorer returns an explorer and the state at the start of the run.
func newExplorer(e Exploration) (*explorer, *world, error) {
	v, err := NewVirtual(e.config(), Perf{}, nil)
	if err != nil {
		return nil, nil, err
	}
	x := &explorer{Exploration: e, virtual: v, visited: map[fingerprint]bool{}}
	start := &world{left: e.Faults, received: make([]int, e.Clients), finished: make([]int, e.Clients)}
	start.run = v.state()
	return x, start, nil
}

// put puts a copy of the state into the run and returns the lost messages of
// that copy. What the run comes to is its own until the next call.
func (x *explorer) put(w *world) (lost []event) {
	v, run := x.virtual, w.run
	// Lost messages keep what they carry, and their place among its readers.
	n := len(run.queue)
	run.queue = slices.Concat(run.queue, w.lost)
	v.Restore(&Snapshot{run})
	v.queue, lost = v.queue[:n:n], v.queue[n:]
	v.vectors.free = nil // of other states
	return lost
}

// move is something that may happen next.
type move struct {
	kind moveKind
	at   int // which event of the queue, or which lost message
}

type moveKind uint8

const (
	happens      moveKind = iota
	happensAgain          // a message arrives, and a copy of it is still under way
	isLost
	isResent
)

// moves lists what may happen next.
func (x *explorer) moves(w *world) []move {
	var out []move
	for j, e := range w.run.queue {
		out = append(out, move{happens, j})
		if e.kind == roundEnds {
			continue
		}
		if w.left.Duplicates > 0 {
			out = append(out, move{happensAgain, j})
		}
		if w.left.Losses > 0 {
			out = append(out, move{isLost, j})
		}
	}
	for j := range w.lost {
		out = append(out, move{isResent, j})
	}
	return out
}

// event returns the event that the move is about.
func (w *world) event(m move) *event {
	if m.kind == isResent {
		return &w.lost[m.at]
	}
	return &w.run.queue[m.at]
}

// step returns the state after a move, and the invariant that is broken by it.
// after is nil if there is no such state.
func (x *explorer) step(before *world, m move) (after *world, err error) {
	after = &world{
		lost: x.put(before), left: before.left,
		received: slices.Clone(before.received), finished: slices.Clone(before.finished),
	}
	v := x.virtual
	if m.kind == isResent {
		e := after.lost[m.at]
		after.lost = slices.Delete(after.lost, m.at, m.at+1)
		v.queue = append(v.queue, e)
		x.note(MessageResent, e)
		after.run = v.state()
		return after, x.check(before, after, nil)
	}
	e := v.queue[m.at]
	v.queue = slices.Delete(v.queue, m.at, m.at+1)
	switch m.kind {
	case isLost:
		after.left.Losses--
		after.lost = append(after.lost, e)
		x.note(MessageLost, e)
		after.run = v.state()
		return after, x.check(before, after, nil)
	case happensAgain:
		after.left.Duplicates--
		e.vector.readers++
		v.queue = append(v.queue, e)
		x.note(MessageDuplicated, e)
	}
	switch e.kind {
	case roundEnds:
		after.finished[e.client]++
	case broadcastArrives:
		after.received[e.client] = max(after.received[e.client], int(e.number))
	}
	if err := x.happen(e); err != nil {
		return nil, err
	}
	after.run = v.state()
	return after, x.check(before, after, before.event(m))
}

// note records what the explorer did to a message.
func (x *explorer) note(kind HappeningKind, e event) {
	if v := x.virtual; v.record != nil {
		v.note(Happening{Kind: kind, Client: int(e.client), Number: int(e.number), Down: e.kind == broadcastArrives})
	}
}

// happen lets an event happen in the run.
func (x *explorer) happen(e event) (err error) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case *Violation: // asserted
			err = p
		default:
			err = violated(NoFailure, "panic: %v", p)
		}
	}()
	if err := x.virtual.happen(e); err != nil {
		return violated(NoFailure, "%v", err)
	}
	return nil
}

// fingerprint is equal for two states with the same future, and for others with
// a chance of 2^-128. Times, sequence numbers and the order of the queue are
// not in it: they decide nothing here.
type fingerprint [16]byte

func (x *explorer) fingerprint(w *world) fingerprint {
	b := x.buffer[:0]
	set := func(s updates) { b = binary.LittleEndian.AppendUint32(b, uint32(s)) }
	b = append(b, byte(w.left.Duplicates), byte(w.left.Losses))

	server := &w.run.server
	set(applied(server.v))
	b = append(b, byte(server.k))
	for _, p := range server.clients {
		b = append(b, byte(p.next), byte(len(p.ahead)))
		for _, round := range p.ahead {
			b = append(b, byte(round))
		}
	}
	for i := range w.run.clients {
		c := &w.run.clients[i]
		b = append(b, truth(c.busy), byte(c.k), byte(c.i), byte(w.received[i]), byte(w.finished[i]))
		set(applied(c.w()))
		b = append(b, truth(c.newer != nil))
		if c.newer != nil {
			set(applied(c.newer.X))
		}
	}
	for _, events := range [][]event{w.run.queue, w.lost} {
		var room [2 * maxTally]uint64
		keys := room[:0]
		for _, e := range events {
			key := uint64(e.kind)<<48 | uint64(e.client)<<40 | uint64(e.number)<<32
			if e.vector != nil {
				key |= uint64(applied(e.vector.X))
			}
			keys = append(keys, key)
		}
		slices.Sort(keys)
		b = append(b, byte(len(keys)))
		for _, key := range keys {
			b = binary.LittleEndian.AppendUint64(b, key)
		}
	}
	x.buffer = b
	sum := sha256.Sum256(b)
	return fingerprint(sum[:])
}

func truth(is bool) byte {
	if is {
		return 1
	}
	return 0
}
