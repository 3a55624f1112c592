package nn

import (
	"errors"
	"math"

	"proactivedp/rng"
)

// dropout is the layer Dropout: it multiplies features by 0 or 1/(1−rate).
type dropout struct {
	in, out *value
	kept    int // slot: the factors, 0 or 1/(1−rate)
	below   uint64
	scale   float32
}

// dropoutUnits is the number of steps in which a rate is given: each draw has 16 bits.
const dropoutUnits = 1 << 16

func (l Dropout) add(n *Net, in *value) (*value, error) {
	units := l.Rate * dropoutUnits
	if !(units > 0 && units < dropoutUnits) || units != math.Trunc(units) {
		var p problems
		p.need(false, "rate", l.Rate, "a multiple of 2^-16 in (0, 1)")
		return nil, p.join()
	}
	if len(n.features) == 0 {
		return nil, errors.New("must follow a dense layer")
	}
	d := &dropout{in: in, out: n.newValue(in.Shape), below: uint64(units), scale: float32(1 / (1 - l.Rate))}
	n.append(d)
	return d.out, nil
}

func (d *dropout) place(n *Net) { d.kept = n.floats.reserve(d.in.size(), n.chunk) }

func (d *dropout) forward(s *Scratch, from, to int) {
	for b := from; b < to; b++ {
		kept := s.float(d.kept, b)
		if s.dropout != nil {
			d.draw(kept, s.dropout)
		}
		d.multiply(s, s.float(d.out.act, b), s.float(d.in.act, b), kept)
	}
}

func (d *dropout) backward(s *Scratch, from, to int) {
	for b := from; b < to; b++ {
		d.multiply(s, s.float(d.in.delta, b), s.float(d.out.delta, b), s.float(d.kept, b))
	}
}

// multiply sets dst to x, multiplied by the factors if dropout is on.
func (d *dropout) multiply(s *Scratch, dst, x, kept []float32) {
	if s.dropout == nil {
		copy(dst, x)
		return
	}
	for i, f := range kept {
		dst[i] = f * x[i]
	}
}

// draw sets each element of kept to 0 or the scale, from 16 bits of the stream.
func (d *dropout) draw(kept []float32, stream *rng.Stream) {
	const perWord = 4
	for i := 0; i < len(kept); i += perWord {
		u := stream.Uint64()
		for j := range kept[i : i+perWord] {
			kept[i+j] = d.scale
			if u%dropoutUnits < d.below {
				kept[i+j] = 0
			}
			u /= dropoutUnits
		}
	}
}
