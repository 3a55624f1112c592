package sim

import "slices"

// Snapshot is the whole state of a Virtual between two events, in memory and
// independent of it. A round under way is kept as begun, not as computed: its
// release is a function of the state and is computed again.
type Snapshot struct {
	server  serverState
	clients []clientState
	now     Time
	seq     uint64
	events  []event // without their vectors
	vectors [][]float32
	refs    []int // by vector: readers left
	vector  []int // by event: index into vectors, -1 for none
}

// Snapshot returns the run's state.
func (v *Virtual) Snapshot() *Snapshot {
	s := &Snapshot{
		server: v.server.state.clone(),
		now:    v.now,
		seq:    v.seq,
		events: slices.Clone(v.queue),
		vector: make([]int, len(v.queue)),
	}
	for _, c := range v.clients {
		s.clients = append(s.clients, c.state.clone())
	}
	index := map[*buffer]int{}
	for i, e := range v.queue {
		s.events[i].buf = nil
		if e.buf == nil {
			s.vector[i] = -1
			continue
		}
		j, seen := index[e.buf]
		if !seen {
			j = len(s.vectors)
			index[e.buf] = j
			s.vectors = append(s.vectors, slices.Clone(e.buf.x))
			s.refs = append(s.refs, e.buf.refs)
		}
		s.vector[i] = j
	}
	return s
}

// Restore puts the run into a state that Snapshot returned, of a run of the
// same configuration. The snapshot stays as it is.
func (v *Virtual) Restore(s *Snapshot) {
	v.server.state = s.server.clone()
	for i := range v.clients {
		v.clients[i].state = s.clients[i].clone()
	}
	v.now, v.seq = s.now, s.seq
	shared := make([]*buffer, len(s.vectors))
	for j, x := range s.vectors {
		shared[j] = &buffer{x: slices.Clone(x), refs: s.refs[j]}
	}
	v.queue = slices.Clone(s.events)
	for i, j := range s.vector {
		if j >= 0 {
			v.queue[i].buf = shared[j]
		}
	}
}
