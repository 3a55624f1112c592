package nn

import (
	"math"
	"slices"

	"proactivedp/data"
	"proactivedp/internal/f32"
)

// The objective is softmax cross-entropy. For an example of class y with logits z it is ln Σ_c
// e^{z_c} − z_y. Its derivative is p − onehot(y), where p is the softmax of z. Both are multiplied by the
// weight of class y.

// WithClassWeights returns a network like n in which the loss of each example is multiplied by the weight of its
// class: weights[k] for class k. There must be one for each class. Use weights if a class is rare. They must be
// constants that do not depend on the records, because (ε, δ) does not cover them: see models.Weightable.
func (n *Net) WithClassWeights(weights []float64) *Net {
	weighted := *n
	weighted.weights = slices.Clone(weights)
	return &weighted
}

// losses returns the sum of the objective over the used lanes of block b, whose examples begin at
// first.
func (n *Net) losses(s *Scratch, batch data.Batch, first, b int) float64 {
	z, total := s.float(n.logits().act, b), 0.0
	for l := range min(f32.Lanes, batch.Len()-first) {
		largest := float64(z[l])
		for i := l; i < n.Classes()*f32.Lanes; i += f32.Lanes {
			largest = max(largest, float64(z[i]))
		}
		sum := 0.0
		for i := l; i < n.Classes()*f32.Lanes; i += f32.Lanes {
			sum += math.Exp(float64(z[i]) - largest)
		}
		y := batch.Label(first + l)
		loss := math.Log(sum) + largest - float64(z[int(y)*f32.Lanes+l])
		if n.weights != nil {
			loss *= n.weights[y]
		}
		total += loss
	}
	return total
}

// derive computes the derivative of the objective by the logits of block b.
func (n *Net) derive(s *Scratch, batch data.Batch, first, b int) {
	out := n.logits()
	z, p := s.float(out.act, b)[:out.size()], s.float(out.delta, b)[:out.size()]
	var largest, sum [f32.Lanes]float32
	copy(largest[:], z)
	for i := 0; i < len(z); i += f32.Lanes {
		for l, v := range z[i : i+f32.Lanes] {
			largest[l] = max(largest[l], v)
		}
	}
	for i := 0; i < len(z); i += f32.Lanes {
		for l, v := range z[i : i+f32.Lanes] {
			p[i+l] = v - largest[l]
		}
	}
	f32.Exp(p)
	for i := 0; i < len(z); i += f32.Lanes {
		for l, v := range p[i : i+f32.Lanes] {
			sum[l] += v
		}
	}
	for i := 0; i < len(z); i += f32.Lanes {
		for l := range sum {
			p[i+l] /= sum[l]
		}
	}
	for l := range f32.Lanes {
		y := batch.Label(min(first+l, batch.Len()-1))
		p[int(y)*f32.Lanes+l]--
		if n.weights != nil {
			// The norm and the products with the gradient both use these rounded numbers.
			for i := l; i < len(p); i += f32.Lanes {
				p[i] *= float32(n.weights[y])
			}
		}
	}
}

// predict sets labels to the classes of the largest logits in block b.
func (n *Net) predict(labels []int32, s *Scratch, b int) {
	z := s.float(n.logits().act, b)
	for l := range labels {
		best := l
		for i := l; i < n.Classes()*f32.Lanes; i += f32.Lanes {
			if z[i] > z[best] {
				best = i
			}
		}
		labels[l] = int32(best / f32.Lanes)
	}
}

// copyLogits sets out to the logits of the examples of block b, one example after the other. The block
// itself has all examples of a class after each other.
func (n *Net) copyLogits(out []float64, s *Scratch, b int) {
	z, classes := s.float(n.logits().act, b), n.Classes()
	for i := range out {
		out[i] = float64(z[i%classes*f32.Lanes+i/classes])
	}
}
