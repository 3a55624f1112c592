package sim

// Vector holds a model or an update that a server and clients in one process send to each other without copying. It
// counts the parties that still need to read it, so that the run can then reuse its memory. An update has one
// reader, the server. A global model has one reader for each client. Nobody may write to a Vector before its last
// reader has released it.
type Vector struct {
	X       []float32
	readers int32 // remaining readers, counted by the runner
}

// vectorPool keeps vectors of one length for reuse.
type vectorPool struct {
	length int
	free   []*Vector
}

// get returns a vector for the given number of readers. Its content is undefined.
func (p *vectorPool) get(readers int) *Vector {
	v := p.take()
	v.readers = int32(readers)
	return v
}

func (p *vectorPool) take() *Vector {
	n := len(p.free)
	if n == 0 {
		return &Vector{X: make([]float32, p.length)}
	}
	v := p.free[n-1]
	p.free = p.free[:n-1]
	return v
}

// put records that one reader has released the vector.
func (p *vectorPool) put(v *Vector) {
	v.readers--
	if invariants {
		v.assertLetGo(v.readers)
	}
	if v.readers == 0 {
		p.free = append(p.free, v)
	}
}
