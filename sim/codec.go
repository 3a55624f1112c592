package sim

import (
	"io"

	"proactivedp/dp"
	"proactivedp/internal/codec"
)

// stateCodec carries the state of machines of one configuration, in which several
// may hold one vector.
type stateCodec struct {
	*codec.Codec
	frame
	vectors []*Vector       // vectors by their number in the file, in the order of their first visit
	numbers map[*Vector]int // the number of each vector, when writing
}

// frame is what a configuration fixes of every state that its machines can be in.
type frame struct {
	params  int // the length of every vector
	clients int
	rounds  int
	mech    *dp.Mechanism
	own     []dp.Mechanism // each client's; nil: mech is all clients'
	// momentum is M; if it is 0, a server has no velocity.
	momentum float32
}

// of returns the frame of one client's state, with its mechanism.
func (f frame) of(client int) frame {
	if client < len(f.own) {
		f.mech = &f.own[client]
	}
	return f
}

func newWriter(f frame, w io.Writer) *stateCodec {
	return &stateCodec{Codec: codec.NewWriter(w), frame: f, numbers: map[*Vector]int{}}
}

func newReader(f frame, r io.Reader) *stateCodec {
	return &stateCodec{Codec: codec.NewReader(r), frame: f}
}

// floats visits the numbers of a vector; when reading, x is made.
func (c *stateCodec) floats(x *[]float32) { codec.Floats(c, x, c.params) }

// vector visits a vector that may be shared: by its number, and at the first visit
// by its content, too. Number 0 is nil. When reading, the vector's readers are
// counted anew: each visit adds so many.
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
