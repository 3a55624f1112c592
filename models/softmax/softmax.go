// Package softmax is multi-class logistic regression, linear softmax regression: on
// rows, sparse or dense, and on the pixels of images. It is not a model of the paper,
// which has logistic regression for two classes and networks for more. On fixed
// features (package data/hog) it is what a small budget is best spent on: few
// parameters, and so little noise (F. Tramèr and D. Boneh, "Differentially Private
// Learning Needs Better Features (or Much More Data)", ICLR 2021, arXiv 2011.11660).
//
// One example's objective is the cross-entropy
//
//	f(w; x, y) = ln Σ_k e^{z_k} − z_y,  z_k = w_kᵀx + b_k,
//
// with y in {0, …, classes−1}. Its gradient is the outer product (p − e_y) ⊗ (x, 1)
// with p = softmax(z), so its norm is ‖p − e_y‖·√(‖x‖² + 1), and no gradient needs to
// be written down to be clipped.
package softmax

import (
	"fmt"
	"math"

	"proactivedp/data"
	"proactivedp/models"
	"proactivedp/rng"
)

// Model is softmax regression on Features columns. Its parameters are the weights
// [class][feature], then the biases [class].
type Model struct {
	features, classes int
	shade             float64
	slack             float64 // of a computed norm, as a part of it: see New
}

var _ interface {
	models.Bounded
	models.Checker
	models.Scorer
} = (*Model)(nil)

// maxParams bounds the parameters: models.GridError of so many is below
// models.MaxShade.
const maxParams = 1 << 32

// New returns the model for rows of so many features, at least 1, in so many classes,
// at least 2. It has classes·(features+1) parameters, at most 2^32.
func New(features, classes int) (*Model, error) {
	switch {
	case features < 1:
		return nil, fmt.Errorf("softmax: features = %d, must be at least 1", features)
	case classes < 2:
		return nil, fmt.Errorf("softmax: classes = %d, must be at least 2", classes)
	case features >= maxParams/classes:
		return nil, fmt.Errorf("softmax: %d features in %d classes are more than 2^32 parameters", features, classes)
	}
	return &Model{
		features: features, classes: classes,
		shade: models.GridError(classes*(features+1)) + 0x1p-23,
		// Sums of n squares in float64, u = 2^-53, are each off by at most n·u of
		// themselves, whatever the order; the rest of a norm by less than 8u.
		slack: float64(classes+features+16) * 0x1p-53,
	}, nil
}

// Check implements models.Checker: rows or images of at most the model's features, in
// at most its classes.
func (m *Model) Check(d *data.Dataset) error {
	if d.Features > m.features || d.Classes > m.classes {
		return fmt.Errorf("softmax: the model needs at most %d features in at most %d classes: %q has %s in %d",
			m.features, m.classes, d.Name, d.Shape(), d.Classes)
	}
	return nil
}

// Name returns "softmax".
func (m *Model) Name() string { return "softmax" }

// NumParams returns classes·(features+1).
func (m *Model) NumParams() int { return m.classes * (m.features + 1) }

// Init sets params to zero; nothing in it is random.
func (m *Model) Init(params []float32, _ *rng.Stream) { clear(params) }

// weights returns those of class k in a vector of the model's length.
func weights[T any](m *Model, params []T, k int) []T { return params[k*m.features:][:m.features] }

// biases returns those of a vector of the model's length.
func biases[T any](m *Model, params []T) []T { return params[m.classes*m.features:][:m.classes] }

// scratch is the model's working memory.
type scratch struct {
	z    []float64 // of each class: the logits, and then what is made of them
	wide []float64 // of ClippedGradSum; nil until it is needed
	examples
}

// NewScratch implements models.Model.
func (m *Model) NewScratch() models.Scratch { return &scratch{z: make([]float64, m.classes)} }

// logits sets s.z to those of an example and returns the largest.
func (m *Model) logits(s *scratch, params []float32, x example) float64 {
	most := math.Inf(-1)
	for k, b := range biases(m, params) {
		s.z[k] = float64(b) + x.dot(weights(m, params, k))
		most = max(most, s.z[k])
	}
	return most
}

// residual sets s.z, which are logits, to a = p − e_y and returns ‖a‖². The true class's
// is minus the sum of the others, exact where p_y is near 1.
func (s *scratch) residual(most float64, y int32) float64 {
	total := 0.0
	for k, z := range s.z {
		s.z[k] = math.Exp(z - most)
		total += s.z[k]
	}
	others, norm2 := 0.0, 0.0
	for k, e := range s.z {
		if p := e / total; k != int(y) {
			s.z[k] = p
			others += p
			norm2 += float64(p * p)
		}
	}
	s.z[y] = -others
	return norm2 + float64(others*others)
}

// ClippedGradSum implements models.Model.
func (m *Model) ClippedGradSum(sum, params []float32, b data.Batch, clip float64, s models.Scratch) error {
	own := s.(*scratch)
	if own.wide == nil {
		own.wide = make([]float64, m.NumParams())
	}
	return models.Narrow(m, sum[:m.NumParams()], own.wide, params, b, clip, own)
}

// Shade implements models.Bounded: all additions are exact, on a models.Grid, of which
// no coordinate exceeds C, and what is left is that a gradient's coordinates are rounded
// to the grid, and that the clip factor and products with it are rounded to float64, by
// less than 2^-50.
func (m *Model) Shade() float64 { return m.shade }

// WideGradSum implements models.Bounded.
func (m *Model) WideGradSum(sum []float64, params []float32, b data.Batch, clip float64, s models.Scratch) error {
	if err := models.CheckSample(b); err != nil {
		return err
	}
	sum, params = sum[:m.NumParams()], params[:m.NumParams()]
	clear(sum)
	own, biases := s.(*scratch), biases(m, sum)
	clip /= 1 + m.shade
	grid := models.NewGrid(clip)
	for i := range b.Rows {
		x := own.example(b, i)
		a2 := own.residual(m.logits(own, params, x), b.Label(i))
		factor, ok := models.ClipFactor(math.Sqrt(float64(a2*x.norm2()))*(1+m.slack), clip)
		if !ok {
			return fmt.Errorf("softmax: an example of the batch: %w", models.ErrDiverged)
		}
		for k, a := range own.z {
			step := factor * a
			x.addTo(weights(m, sum, k), step, grid)
			biases[k] += grid.Round(step)
		}
	}
	return nil
}

// Loss implements models.Model.
func (m *Model) Loss(params []float32, b data.Batch, s models.Scratch) float64 {
	own, total := s.(*scratch), 0.0
	for i := range b.Rows {
		most := m.logits(own, params, own.example(b, i))
		sum := 0.0
		for _, z := range own.z {
			sum += math.Exp(z - most)
		}
		total += math.Log(sum) + (most - own.z[b.Label(i)])
	}
	return total / float64(b.Len())
}

// Predict implements models.Model: the class of the largest logit, the first of equals.
func (m *Model) Predict(labels []int32, params []float32, b data.Batch, s models.Scratch) {
	own := s.(*scratch)
	for i := range b.Rows {
		most := m.logits(own, params, own.example(b, i))
		labels[i] = 0
		for k, z := range own.z {
			if z == most {
				labels[i] = int32(k)
				break
			}
		}
	}
}

// Scores implements models.Scorer, of two classes: the difference of the logits.
func (m *Model) Scores(scores []float64, params []float32, b data.Batch, s models.Scratch) {
	own := s.(*scratch)
	for i := range b.Rows {
		m.logits(own, params, own.example(b, i))
		scores[i] = own.z[1] - own.z[0]
	}
}
