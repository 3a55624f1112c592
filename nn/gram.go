package nn

import "proactivedp/internal/f32"

// gram computes the inner products over the channels for pairs of positions of a map, as
// [position][position][lane]. Products are symmetric, so it computes only pairs whose first
// position does not follow the second.
type gram struct {
	layout
	slot  int
	terms *f32.Terms // the products over the channels
	parts []gramPart
}

// gramPart is a few positions of one row.
type gramPart struct{ first, len, at int }

func newGram(n *Net, l layout) *gram {
	positions := l.Height * l.Width
	g := &gram{layout: l, slot: n.floats.reserve(positions*positions*f32.Lanes, 1)}
	var list []f32.Term
	for c := range l.Channels {
		at := int32(c * l.plane())
		list = append(list, f32.Term{A: at, B: at})
	}
	g.terms = f32.NewTerms(list)
	for y := range l.Height {
		for _, p := range split(l.Width, f32.LaneTileRows) {
			g.parts = append(g.parts, gramPart{y*l.Width + p.start, p.len, l.at(0, y, p.start)})
		}
	}
	return g
}

// at returns the offset of the product of two positions.
func (g *gram) at(p, q int) int { return (p*g.Height*g.Width + q) * f32.Lanes }

// fill computes the products of a block and returns them.
func (g *gram) fill(s *Scratch, x []float32) []float32 {
	out := s.float(g.slot, 0)
	t := f32.LaneTile{RowA: f32.Lanes, RowC: g.at(1, 0), B: x}
	for i, p := range g.parts {
		t.Rows, t.A, t.C = p.len, x[p.at:], out[g.at(p.first, 0):]
		for _, q := range g.parts[i:] {
			t.Cols = q.len
			for j := range q.len {
				t.ColB[j], t.ColC[j] = q.at+j*f32.Lanes, g.at(0, q.first+j)
			}
			t.Mul(g.terms)
		}
	}
	return out
}
