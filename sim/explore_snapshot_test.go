package sim

import "slices"

// Snapshot is an independent copy of the whole state of a Virtual between two events. A round under
// way is kept as begun, not as computed: its release depends only on the state and is computed
// again. If the run has failed, that is part of its state.
type Snapshot struct {
	state  virtualState
	failed error
}

// Snapshot returns a copy of the whole state of the run, for Restore.
func (v *Virtual) Snapshot() *Snapshot {
	s := v.state()
	return &Snapshot{s.clone(), v.failed}
}

// Restore sets the run to a state that Snapshot returned. The snapshot must be of a run with the
// same configuration. It does not change.
func (v *Virtual) Restore(s *Snapshot) {
	v.setState(s.state.clone())
	v.failed = s.failed
}

// clone returns a copy that shares nothing with s. A vector with several readers is also one vector
// in the copy.
func (s *virtualState) clone() virtualState {
	copies := map[*Vector]*Vector{nil: nil}
	copied := func(v *Vector) *Vector {
		c, seen := copies[v]
		if !seen {
			c = &Vector{X: slices.Clone(v.X), readers: v.readers}
			copies[v] = c
		}
		return c
	}
	out := virtualState{
		server: s.server.clone(), now: s.now, seq: s.seq, queue: slices.Clone(s.queue),
		stations: slices.Clone(s.stations), staleness: slices.Clone(s.staleness),
		clients: make([]clientState, len(s.clients)),
	}
	for i := range s.clients {
		c := s.clients[i].clone()
		c.shared, c.newer = copied(c.shared), copied(c.newer)
		out.clients[i] = c
	}
	for i := range out.queue {
		out.queue[i].vector = copied(out.queue[i].vector)
	}
	return out
}

// holders counts, for each vector, the clients that hold it and the messages that carry it.
func (s *virtualState) holders() map[*Vector]int {
	holders := map[*Vector]int{}
	for i := range s.clients {
		for _, held := range []*Vector{s.clients[i].shared, s.clients[i].newer} {
			if held != nil {
				holders[held]++
			}
		}
	}
	for _, e := range s.queue {
		switch e.kind {
		case updateArrives, broadcastArrives, updateResent, broadcastResent:
			holders[e.vector]++
		case broadcastArrivesAtAll:
			holders[e.vector] += len(s.clients) - int(e.client)
		}
	}
	return holders
}

// clone returns a copy that shares only the broadcasts.
func (s *clientState) clone() clientState {
	out := *s
	out.own, out.ledger = slices.Clone(s.own), s.ledger.Clone()
	return out
}

func (s *serverState) clone() serverState {
	out := *s
	out.v, out.u = slices.Clone(s.v), slices.Clone(s.u)
	out.at, out.clients = slices.Clone(s.at), slices.Clone(s.clients)
	for i := range out.clients {
		out.clients[i].ahead = slices.Clone(out.clients[i].ahead)
	}
	return out
}
