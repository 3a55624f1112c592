// Package models defines what a model is for private training: a flat vector of d float32 parameters, and a method
// that sums the gradients of the examples of a batch, each clipped to a norm C. Models know nothing else about
// privacy: the clipping norm is an argument, and the caller adds the noise to the sum. The sensitivity of a sum is by
// how much one record more or less can change it.
//
// The packages below this one contain models. NewNetwork makes a model from layers of package nn. Any other type that
// satisfies the contract of Model works too:
//
//	model, err := logreg.NewRidge(d.Features, 1/float64(n))
//	model := models.NewNetwork("mlp", net)
//
// Package models/modeltest tests whether a type satisfies the contract, in one call.
package models

import (
	"errors"
	"fmt"

	"proactivedp/data"
	"proactivedp/rng"
)

// Scratch is working memory for a model's methods, so that they need not allocate any. NewScratch makes it, and the
// caller passes it to each call. Each goroutine needs its own, because only one call at a time may use a Scratch.
type Scratch any

// Model is a differentiable classifier or regression model with d parameters. A Model is immutable and safe for
// concurrent use: everything that changes is passed as an argument. Methods do not keep the slices that they get, and
// allocate nothing once the scratch has grown to the batch size.
type Model interface {
	// Name returns the model's name, as on the command line, such as "logreg".
	Name() string
	// NumParams returns d ≥ 1, the length of every parameter vector.
	NumParams() int
	// Init sets params, of length d, to the parameters with which training begins by default. If they are random,
	// they are drawn from s.
	Init(params []float32, s *rng.Stream)
	// NewScratch returns working memory for one caller.
	NewScratch() Scratch
	// ClippedGradSum sets sum, of length d, to the sum of the clipped gradients of the examples b in the batch: Σ_b
	// [∇f(params; b)]_C, where f is the objective, [x]_C = x/max{1, ‖x‖/C}, and C = clip > 0 (+Inf means no
	// clipping). Each example adds a vector whose norm, as computed in float32, is at most C. The sum of an empty
	// batch is zero. If a gradient is not finite, the error wraps ErrDiverged.
	ClippedGradSum(sum, params []float32, b data.Batch, clip float64, scratch Scratch) error
	// Loss returns the mean of the objective f(params; b) over the examples b of the batch.
	Loss(params []float32, b data.Batch, scratch Scratch) float64
	// Predict sets labels[i] to the predicted class of example i.
	Predict(labels []int32, params []float32, b data.Batch, scratch Scratch)
}

// Checker is a Model that can check whether it can be trained on a data set, so that an unsuitable data set is an
// error before the run. Without the check, it could cause a panic or a meaningless result during the run. Every model
// whose methods rely on the number of columns or classes should be a Checker.
type Checker interface {
	Model
	// Check returns nil if the model can be evaluated on every row of d, and otherwise an error that says what the
	// model needs. d must be valid (see data.Dataset.Validate).
	Check(d *data.Dataset) error
}

// ErrDiverged is the error for gradients or parameters that are not finite. Training has then diverged, for example
// because the step size is too large, and must stop.
var ErrDiverged = errors.New("training has diverged: not finite")

// ClipMargin is the number by which [ClipFactor] multiplies a norm before it compares it with the clipping norm C.
// The margin is for rounding: after scaling, the coordinates are rounded to float32, each with a relative error of a
// few units of 2^-24, and the clipped gradient must still not be longer than C.
const ClipMargin = 1 + 0x1p-21

// ClipFactor returns the factor in (0, 1] by which a model must multiply a gradient of the given norm so that the
// product is at most clip long, even after rounding. It is 1/max{1, n/clip}, where n is norm times [ClipMargin], a
// factor slightly above 1. ok is false if norm is NaN or above MaxNorm = 1.3e154, which means that the training has
// diverged, or if clip is not above 0.
func ClipFactor(norm, clip float64) (factor float64, ok bool) {
	if !(norm <= MaxNorm && clip > 0) {
		return 0, false
	}
	if n := norm * ClipMargin; n > clip {
		return clip / n, true
	}
	return 1, true
}

// MaxNorm is the largest gradient norm that a model can clip. Its square is still finite in float64. A larger norm
// counts as divergence.
const MaxNorm = 1.3e154

// CheckFinite returns an error that wraps ErrDiverged if one of the parameters is NaN or infinite, and nil otherwise.
func CheckFinite(params []float32) error {
	for i, p := range params {
		if p-p != 0 {
			return fmt.Errorf("parameter %d is %v: %w", i, p, ErrDiverged)
		}
	}
	return nil
}

// Accuracy returns the fraction of the examples of b whose class m, with the parameters params, predicts correctly,
// and 0 for an empty batch. scratch must come from m.NewScratch. labels is working memory of at least the batch's
// length; with nil, Accuracy allocates it.
func Accuracy(m Model, params []float32, b data.Batch, scratch Scratch, labels []int32) float64 {
	if b.Len() == 0 {
		return 0
	}
	if labels == nil {
		labels = make([]int32, b.Len())
	}
	labels = labels[:b.Len()]
	m.Predict(labels, params, b, scratch)
	right := 0
	for i, l := range labels {
		if l == b.Label(i) {
			right++
		}
	}
	return float64(right) / float64(b.Len())
}
