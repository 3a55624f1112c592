package sim

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"slices"
)

// fingerprint is equal for two states that have the same future. Two other states have the same
// fingerprint with probability 2^-128. It leaves out times, sequence numbers and the order of the
// queue, because they do not affect what can happen. It also leaves out the clients' numbers: the
// protocol treats all clients alike, so it is enough to explore one of several states that differ
// only in the numbers.
type fingerprint [16]byte

func (x *explorer) fingerprint(w *world) fingerprint {
	least, other := x.buffers[0], x.buffers[1]
	for i, order := range x.orders {
		other = x.encode(other[:0], w, order)
		if i == 0 || bytes.Compare(other, least) < 0 {
			least, other = other, least
		}
	}
	x.buffers[0], x.buffers[1] = least, other
	sum := sha256.Sum256(least)
	return fingerprint(sum[:])
}

// encode appends everything that affects a state's future, with the clients in the given order.
func (x *explorer) encode(b []byte, w *world, order []int) []byte {
	set := func(model []float32) updates { return x.renamed(applied(model), order) }
	b = append(b, byte(w.left.Duplicates), byte(w.left.Losses), byte(w.left.Leaves))
	server := &w.run.server
	b = binary.LittleEndian.AppendUint32(b, uint32(set(server.v)))
	b = append(b, byte(server.k))
	for _, i := range order {
		p := &server.clients[i]
		b = append(b, byte(p.next), byte(len(p.ahead)))
		for _, round := range p.ahead {
			b = append(b, byte(round))
		}
		c := &w.run.clients[i]
		b = append(b, truth(w.run.stations[i].away), truth(c.busy), byte(c.k), byte(c.i), byte(w.received[i]),
			byte(w.finished[i]))
		b = binary.LittleEndian.AppendUint32(b, uint32(set(c.w())))
		b = append(b, truth(c.newer != nil))
		if c.newer != nil {
			b = binary.LittleEndian.AppendUint32(b, uint32(set(c.newer.X)))
		}
	}
	var room [2 * maxTally]uint64
	events := room[:0]
	for _, e := range w.run.queue {
		event := uint64(e.kind)<<48 | uint64(slices.Index(order, int(e.client)))<<40 | uint64(e.number)<<32
		if e.vector != nil {
			event |= uint64(set(e.vector.X))
		}
		events = append(events, event)
	}
	slices.Sort(events)
	for _, event := range events {
		b = binary.LittleEndian.AppendUint64(b, event)
	}
	return b
}

// renamed returns a set of updates with the clients in another order.
func (e *Exploration) renamed(set updates, order []int) updates {
	var out updates
	for now, was := range order {
		out |= set >> (was * e.Rounds) & (1<<e.Rounds - 1) << (now * e.Rounds)
	}
	return out
}

// permutations lists the orders of 0, ..., n−1, the natural one first.
func permutations(n int) [][]int {
	if n == 0 {
		return [][]int{nil}
	}
	var out [][]int
	for _, p := range permutations(n - 1) {
		for at := n - 1; at >= 0; at-- {
			out = append(out, slices.Insert(slices.Clone(p), at, n-1))
		}
	}
	return out
}

func truth(is bool) byte {
	if is {
		return 1
	}
	return 0
}
