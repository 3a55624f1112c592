// Package models says what a model is to the trainer: a flat vector of float32
// parameters and a sum of clipped per-example gradients. Models know nothing
// else of privacy: the clipping norm is an argument, the noise is not theirs.
//
// The packages below it are models to use; NewNetwork makes one of layers of
// package nn, and every other type that keeps to the contract of Model will do:
//
//	model, err := logreg.NewRidge(d.Features, 1/float64(n))
//	model := models.NewNetwork("mlp", net)
//
// Package models/modeltest tests the contract, one call for a model of one's own.
package models

import (
	"errors"
	"fmt"

	"proactivedp/data"
	"proactivedp/rng"
)

// Scratch is the working memory of a model's methods, made by NewScratch and
// owned by the caller. One scratch serves one call at a time.
type Scratch any

// Model is a differentiable classifier with d parameters. A Model is immutable
// and safe for concurrent use: all that changes is in the arguments. No method
// keeps a slice it is given, and none allocates once its scratch has grown to
// the batch.
type Model interface {
	// Name is the model's name as in the command line.
	Name() string
	// NumParams returns d ≥ 1, the length of every parameter vector.
	NumParams() int
	// Init sets params, of length d, to the default global model v̂_0, drawing
	// from s what is random in it.
	Init(params []float32, s *rng.Stream)
	// NewScratch returns working memory for one caller.
	NewScratch() Scratch
	// ClippedGradSum sets sum, of length d, to Σ_b [∇f(params; b)]_C over the
	// examples b of the batch, where [x]_C = x/max{1, ‖x‖/C} and C = clip > 0
	// (+Inf: no clipping). Each example adds a vector whose norm, as computed
	// in float32, is at most C. An empty batch gives zero. A gradient that is
	// not finite fails with ErrDiverged.
	ClippedGradSum(sum, params []float32, b data.Batch, clip float64, scratch Scratch) error
	// Loss returns the mean of the objective f(params; ·) over the batch.
	Loss(params []float32, b data.Batch, scratch Scratch) float64
	// Predict sets labels[i] to the class predicted for example i.
	Predict(labels []int32, params []float32, b data.Batch, scratch Scratch)
}

// Checker is a Model that knows which data sets it can be evaluated on, so that
// a configuration with another one is an error before the run and not a panic or
// a senseless result in it. Every model whose methods rely on a number of
// columns or classes should be one.
type Checker interface {
	Model
	// Check fails, and says what the model needs, unless the model can be
	// evaluated on every row of d, which is valid.
	Check(d *data.Dataset) error
}

// ErrDiverged reports gradients or parameters that are not finite: they have left
// the range in which the model can be evaluated.
var ErrDiverged = errors.New("training has diverged: not finite")

// ClipMargin keeps a clipped gradient's norm at or below C although its
// coordinates are rounded to float32 after scaling: each is off by at most a
// few units of 2^-24 relative. A norm is multiplied by it before it is clipped.
const ClipMargin = 1 + 0x1p-21

// ClipFactor returns the factor in (0, 1] that brings a gradient of the given
// norm to at most clip, rounding included: 1/max{1, ‖x‖/C}, shaded down by 5e-7
// where it is below 1. ok is false if the norm is not finite, or if clip is not
// above 0: a NaN would clip nothing.
func ClipFactor(norm, clip float64) (factor float64, ok bool) {
	if !(norm <= MaxNorm && clip > 0) {
		return 0, false
	}
	if n := norm * ClipMargin; n > clip {
		return clip / n, true
	}
	return 1, true
}

// MaxNorm is the largest norm whose square is finite.
const MaxNorm = 1.3e154

// CheckFinite fails with ErrDiverged if any parameter is not finite.
func CheckFinite(params []float32) error {
	for i, p := range params {
		if p-p != 0 {
			return fmt.Errorf("parameter %d is %v: %w", i, p, ErrDiverged)
		}
	}
	return nil
}

// Accuracy returns the fraction of the batch that the model labels rightly;
// 0 of an empty one. labels is working memory of at least the batch's length, or nil.
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
