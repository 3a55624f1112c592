package sim

import (
	"io"

	"proactivedp/dp"
	"proactivedp/internal/codec"
)

// stateCodec writes or reads the state of the machines of one configuration. Several machines may
// hold the same vector.
type stateCodec struct {
	*codec.Codec
	frame
	vectors []*Vector       // vectors by their number in the file, in the order of their first visit
	numbers map[*Vector]int // the number of each vector, when writing
}

// frame has the facts that every state of one configuration has in common.
type frame struct {
	params  int // the length of every vector
	clients int
	rounds  int // T, the most rounds of a client
	// mech and sched are those of one client or, outside of its state, of Config.Mechanism.
	mech   *dp.Mechanism
	sched  *schedule
	own    []dp.Mechanism // each client's mechanism; if nil, all have mech
	scheds []*schedule    // each client's schedule; if nil, all have sched
	// momentum is M; if it is 0, a server has no velocity.
	momentum float32
}

// of returns the frame of one client's state, with its mechanism and its schedule.
func (f frame) of(client int) frame {
	if client < len(f.own) {
		f.mech = &f.own[client]
	}
	f.sched = f.schedOf(client)
	return f
}

// schedOf returns the schedule of one client.
func (f *frame) schedOf(client int) *schedule {
	if client < len(f.scheds) {
		return f.scheds[client]
	}
	return f.sched
}

// gradients returns the least number of gradients of a client that v̂_k contains.
func (f *frame) gradients(k int) int {
	least := f.sched.gradients(k)
	for _, s := range f.scheds {
		least = min(least, s.gradients(s.contained(k)))
	}
	return least
}

func newWriter(f frame, w io.Writer) *stateCodec {
	return &stateCodec{Codec: codec.NewWriter(w), frame: f, numbers: map[*Vector]int{}}
}

func newReader(f frame, r io.Reader) *stateCodec {
	return &stateCodec{Codec: codec.NewReader(r), frame: f}
}

// floats visits the numbers of a vector. When reading, it allocates x.
func (c *stateCodec) floats(x *[]float32) { codec.Floats(c, x, c.params) }

// vector visits a vector that may be shared. It visits the vector's number and, at the first visit,
// its content. Number 0 is nil. When reading, it counts the vector's readers again: each visit adds
// the given number.
func (c *stateCodec) vector(p **Vector, readers int) {
	n, seen := 0, len(c.vectors)
	if *p != nil && !c.Reading() {
		if n = c.numbers[*p]; n == 0 {
			n = seen + 1
		}
	}
	codec.Number(c, "vector", &n, 0, int64(seen)+1)
	if c.Err() != nil || n == 0 {
		return
	}
	if n > seen {
		if c.Reading() {
			*p = new(Vector)
		} else {
			c.numbers[*p] = n
		}
		c.floats(&(*p).X)
		c.vectors = append(c.vectors, *p)
	}
	if c.Reading() {
		*p = c.vectors[n-1]
		(*p).readers += int32(readers)
	}
}
