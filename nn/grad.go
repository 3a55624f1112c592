package nn

import (
	"errors"
	"math"

	"proactivedp/data"
	"proactivedp/internal/f32"
	"proactivedp/rng"
)

// ErrNotFinite is the error for a gradient with a number that is NaN or infinite. The usual cause is that training
// has diverged, for example because the step size is too large.
var ErrNotFinite = errors.New("a gradient is not finite")

// Factor is the function by which the caller of [Net.GradSum] says how gradients are clipped. For the norm of an
// example's gradient it returns the number by which the gradient is multiplied before it is added to the sum, for
// example min{1, C/norm} for the clipping norm C. The second result must be false if norm is negative, infinite or
// NaN, and otherwise true. If it is false, GradSum returns an error that wraps [ErrNotFinite].
type Factor func(norm float64) (float64, bool)

// GradSum sets sum, of length NumParams, to the sum of the clipped gradients of a batch: Σ_b factor(‖g_b‖)·g_b, where
// g_b is the gradient of the loss for example b at params. factor clips: it returns the number by which a gradient of
// the given norm is multiplied (see [Factor]). If factor is nil, GradSum computes no norms and adds the gradients
// unchanged. Dropout layers draw from the stream dropout; nil turns them off. s is working memory from NewScratch. The
// error wraps ErrNotFinite if a gradient's norm is not finite (the second result of factor is then false), or if factor
// is nil and the sum is not finite.
//
// The sum does not depend on the order of the batch. If factor clips to a norm C, adding or removing a record moves
// the sum by at most C in exact arithmetic. [Rounding] bounds how much rounding errors add to that. The norm that is
// passed to factor may be slightly too large because of rounding, but is never smaller than the true norm of the
// vector g_b that is multiplied. So no gradient is clipped too little.
func (n *Net) GradSum(
	sum []float64, params []float32, batch data.Batch, factor Factor, dropout *rng.Stream, s *Scratch,
) error {
	return n.gradSum(sum[:n.params], nil, params, batch, factor, dropout, s)
}

// AddGradSum adds the sum that [Net.GradSum] computes from the other arguments to u, of length NumParams, in float64,
// and rounds the result to float32 once. Use it if u already holds the noise: it is faster than GradSum, because most
// of the sum is never stored. If factor returns false, as it does for a norm that is not finite, the error wraps
// ErrNotFinite and u is unchanged.
func (n *Net) AddGradSum(
	u, params []float32, batch data.Batch, factor Factor, dropout *rng.Stream, s *Scratch,
) error {
	if s.own == nil {
		s.own = make([]float64, n.params)
	}
	return n.gradSum(s.own, u[:n.params], params, batch, factor, dropout, s)
}

// gradSum is GradSum, or AddGradSum if u is not nil.
func (n *Net) gradSum(
	sum []float64, u, params []float32, batch data.Batch, factor Factor, dropout *rng.Stream, s *Scratch,
) error {
	if batch.Len() == 0 {
		if u == nil {
			clear(sum)
		}
		return nil
	}
	batch.Rows = s.order(batch.Rows)
	s.begin(params, batch)
	defer s.end()
	s.out = u
	s.sum, s.private, s.dropout = sum, factor != nil, dropout
	for _, l := range n.learners {
		l.start(s)
	}
	for first := 0; first < batch.Len(); first += n.chunk * f32.Lanes {
		s.first = first
		blocks := n.ahead(s, batch, first)
		if err := n.behind(s, batch, first, blocks, factor); err != nil {
			return err
		}
	}
	for _, l := range n.learners {
		l.finish(s)
	}
	if s.private {
		return nil
	}
	if u == nil && !allFinite(sum) || u != nil && !finite(f32.SumSquares(u)) {
		return ErrNotFinite
	}
	return nil
}

// Loss returns the mean loss of the batch at params: the softmax cross-entropy with natural logarithms, times the
// weight of the class if there are weights. s is working memory from NewScratch.
func (n *Net) Loss(params []float32, batch data.Batch, s *Scratch) float64 {
	total := 0.0
	n.evaluate(params, batch, s, func(at, b int) { total += n.losses(s, batch, at, b) })
	return total / float64(batch.Len())
}

// Predict sets labels[i] to the class that the network with the parameters params predicts for example i: the class
// with the largest logit (score before softmax), or the first one if several are equal. labels must be at least as
// long as the batch. s is working memory from NewScratch.
func (n *Net) Predict(labels []int32, params []float32, batch data.Batch, s *Scratch) {
	labels = labels[:batch.Len()]
	n.evaluate(params, batch, s, func(at, b int) { n.predict(labels[at:min(at+f32.Lanes, len(labels))], s, b) })
}

// Logits sets z[i*n.Classes()+k] to the logit (score before softmax) of class k for example i of the batch, with the
// parameters params. s is working memory from NewScratch.
func (n *Net) Logits(z []float64, params []float32, batch data.Batch, s *Scratch) {
	classes := n.Classes()
	n.evaluate(params, batch, s, func(at, b int) {
		n.copyLogits(z[at*classes:min(at+f32.Lanes, batch.Len())*classes], s, b)
	})
}

// LossAndLogits returns the mean loss, as [Net.Loss] does, and sets z to the logits, as [Net.Logits] does, in one
// forward pass instead of two.
func (n *Net) LossAndLogits(z []float64, params []float32, batch data.Batch, s *Scratch) (loss float64) {
	classes := n.Classes()
	n.evaluate(params, batch, s, func(at, b int) {
		loss += n.losses(s, batch, at, b)
		n.copyLogits(z[at*classes:min(at+f32.Lanes, batch.Len())*classes], s, b)
	})
	return loss / float64(batch.Len())
}

// evaluate runs the forward pass of the batch. For every block it calls f(at, b). at is the number of the block's
// first example, and b is the number of the block in its chunk, where the scratch has the logits.
func (n *Net) evaluate(params []float32, batch data.Batch, s *Scratch, f func(at, b int)) {
	s.begin(params, batch)
	defer s.end()
	for first := 0; first < batch.Len(); first += n.chunk * f32.Lanes {
		for b := range n.ahead(s, batch, first) {
			f(first+b*f32.Lanes, b)
		}
	}
}

// ahead runs the forward pass of the chunk that begins with example first. It returns the number of
// blocks.
func (n *Net) ahead(s *Scratch, batch data.Batch, first int) int {
	blocks := n.blocks(batch.Len() - first)
	for from := 0; from < blocks; from += n.group {
		to := min(from+n.group, blocks)
		for b := from; b < to; b++ {
			n.input.load(s, batch, first+b*f32.Lanes, b)
		}
		for _, st := range n.maps {
			st.forward(s, from, to)
		}
	}
	for _, st := range n.features {
		st.forward(s, 0, blocks)
	}
	return blocks
}

// behind runs the backward pass of the chunk. It computes derivatives and norms from the last stage
// to the first. Then the clip factors are known, and it computes the sums.
func (n *Net) behind(s *Scratch, batch data.Batch, first, blocks int, factor Factor) error {
	clear(s.norm2[:blocks])
	for b := range blocks {
		n.derive(s, batch, first+b*f32.Lanes, b)
	}
	back(s, n.features, 0, blocks)
	for from := 0; from < blocks; from += n.group {
		to := min(from+n.group, blocks)
		back(s, n.maps, from, to)
		if err := factors(s, batch, first, from, to, factor); err != nil {
			return err
		}
		sums(s, n.maps, from, to)
	}
	sums(s, n.features, 0, blocks)
	return nil
}

func back(s *Scratch, stages []stage, from, to int) {
	for i := len(stages) - 1; i >= 0; i-- {
		if l, ok := stages[i].(learner); ok {
			l.norms(s, from, to)
		}
		stages[i].backward(s, from, to)
	}
}

func sums(s *Scratch, stages []stage, from, to int) {
	for _, st := range stages {
		if l, ok := st.(learner); ok {
			l.sums(s, from, to)
		}
	}
}

// factors turns the blocks' squared norms into clip factors. Lanes after the last example get 0.
func factors(s *Scratch, batch data.Batch, first, from, to int, factor Factor) error {
	for b := from; b < to; b++ {
		s.factor[b] = [f32.Lanes]float32{}
		at := first + b*f32.Lanes
		for l := range min(f32.Lanes, batch.Len()-at) {
			f := 1.0
			if factor != nil {
				var ok bool
				if f, ok = factor(math.Sqrt(s.norm2[b][l])); !ok {
					return &data.RecordError{Row: int(batch.Rows[at+l]), Err: ErrNotFinite}
				}
			}
			s.factor[b][l] = roundDown(f)
		}
	}
	return nil
}

// roundDown returns the largest float32 that is at most f ≥ 0. Rounding to nearest could undo the clipping if f is
// far below 1e-38.
func roundDown(f float64) float32 {
	r := float32(f)
	if float64(r) > f {
		r = math.Float32frombits(math.Float32bits(r) - 1)
	}
	return r
}

func finite(x float64) bool { return x-x == 0 }

// allFinite reports whether all numbers are finite. 0 times any other number is NaN.
func allFinite(x []float64) bool {
	sum := 0.0
	for _, v := range x {
		sum += float64(0 * v)
	}
	return sum == 0
}
