package sim

// Vector is a vector of parameters that passes between machines: an update's U
// has one reader, a broadcast's v one a client. It is not written until its last
// reader has let go of it; then the runner uses it again.
type Vector struct {
	X       []float32
	readers int32 // readers that are left, counted by the runner
}

// vectorPool keeps vectors of one length for further use.
type vectorPool struct {
	length int
	free   []*Vector
}

// get returns a vector for so many readers; its content may be anything.
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

// put says that one reader has let go of the vector.
func (p *vectorPool) put(v *Vector) {
	v.readers--
	if invariants {
		v.assertLetGo(v.readers)
	}
	if v.readers == 0 {
		p.free = append(p.free, v)
	}
}
