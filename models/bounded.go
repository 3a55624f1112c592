package models

import (
	"fmt"

	"proactivedp/data"
	"proactivedp/internal/f32"
)

// Bounded is a Model whose sums of clipped gradients have a proven sensitivity, including rounding: one record
// changes the sum that the computer returns by at most the clipping norm C. The noise is scaled to C, so a real
// release should use a Bounded model. A Model that is not Bounded can be trained too, but the privacy statement says
// that rounding is not covered.
//
// Without such care, rounding breaks the guarantee. Floating-point numbers are rounded according to their size, so
// one record more or less may change the rounding of everything that is added after it. A clipped sum in float32 can
// change by many times C (S. Casacuberta, M. Shoate, S. Vadhan, C. Wagaman, "Widespread Underestimation of
// Sensitivity in Differentially Private Libraries and How to Fix It", CCS 2022). A Bounded model proves how much
// rounding can change the sum, and clips each example below C by that amount.
type Bounded interface {
	Model
	// WideGradSum does the same as [Model.ClippedGradSum], but returns the sum in float64, because its sensitivity is
	// proved before any rounding to float32: sum has the length d. If one record is removed from a batch, the norm of
	// the difference of the two sums is at most clip, for all params and data. This holds if the other records keep
	// their row numbers, which are in Batch.Rows, because a model may group records by row number before it adds
	// them. If one record is replaced, the norm is at most 2·clip. For a finite clip, the order of the examples in a
	// batch does not change a bit of the result. clip must be +Inf, which clips nothing, or in [dp.MinScale,
	// dp.MaxScale]. A batch larger than MaxSample, or than a smaller limit of the model, is an error.
	WideGradSum(sum []float64, params []float32, b data.Batch, clip float64, scratch Scratch) error
	// Shade returns ρ, the part of the clipping norm C that is reserved for rounding errors: each example is clipped
	// to C/(1+ρ), so that the sum with its rounding errors stays within C. ρ is in [0, MaxShade] and does not depend
	// on data.
	Shade() float64
}

// Adder is a Bounded model that can add its sum of clipped gradients directly to a vector that already holds the
// noise. This is faster than WideGradSum, because the sum itself need not be stored. A model need not have this
// method: trainings call [Sums.AddGradSum], which uses it only if the model is an Adder.
type Adder interface {
	Bounded
	// AddGradSum adds the sum that WideGradSum computes to u, of length d, in float64, and rounds the result to
	// float32. u usually holds the noise. If AddGradSum returns an error, u is unchanged.
	AddGradSum(u, params []float32, b data.Batch, clip float64, scratch Scratch) error
}

// Reader is a Model that can load the records of a batch into the processor's caches before their gradients are
// computed, which saves time. Models without this method work as well.
type Reader interface {
	Model
	// Ahead starts to load the first records of b into the processor's caches and returns at once. It changes no
	// result.
	Ahead(b data.Batch)
}

// Sensitivity returns the end of a sentence for the privacy statement of a run. The sentence begins with the words
// "each sum", which mean the sum of the clipped gradients of m for a batch. For a [Bounded] model, the returned text
// begins with "changes by at most C if a record is added or removed, including rounding", and then says how the
// gradients are clipped. For other models it says that the effect of rounding has no bound, and that ε assumes that
// rounding changes nothing.
func Sensitivity(m Model) string {
	b, ok := m.(Bounded)
	if !ok {
		return "is rounded in ways that the model does not bound; ε assumes that rounding changes nothing"
	}
	return "changes by at most C if a record is added or removed, including rounding: " + clippedTo(b)
}

// MaxShade is the largest value of Bounded.Shade: the fraction of the clipping norm that a model may reserve for
// rounding errors. MaxSample is the largest number of records in a batch of a [Bounded] model. A larger batch is an
// error, because its rounding errors are not bounded.
const (
	MaxShade  = 1e-3
	MaxSample = 1 << 22
)

// CheckSample returns an error if the batch b has more than MaxSample = 2^22 examples: the rounding errors of larger
// sums of gradients are not bounded. A [Bounded] model calls it at the start of WideGradSum.
func CheckSample(b data.Batch) error {
	if n := b.Len(); n > MaxSample {
		return fmt.Errorf("a sample of %d records, must be at most %d: the rounding of larger sums is not "+
			"bounded", n, MaxSample)
	}
	return nil
}

// Narrow does the work of Model.ClippedGradSum for a Bounded model, so that the author of a model need only write
// WideGradSum. It calls m.WideGradSum with params, b, clip and s, which writes the float64 result to wide, and sets
// sum to that result, rounded to float32. sum and wide must have the model's length; wide is only working memory.
func Narrow(m Bounded, sum []float32, wide []float64, params []float32, b data.Batch, clip float64, s Scratch) error {
	if err := m.WideGradSum(wide, params, b, clip, s); err != nil {
		return err
	}
	f32.Narrow(sum, wide)
	return nil
}

// Sums computes sums of clipped gradients for any Model, for a caller that does not know which optional methods the
// model has. It calls the fastest method that the model has: that of Adder, Bounded or Model. Only one goroutine may
// use a Sums at a time.
type Sums struct {
	model   Model
	bounded Bounded // the model, or nil
	adder   Adder   // the model, or nil
	reader  Reader  // the model, or nil
	wide    []float64
	narrow  []float32 // for models that are not Bounded
}

// NewSums returns a Sums for the model m. It allocates working memory only when a method first needs it.
func NewSums(m Model) *Sums {
	s := &Sums{model: m}
	s.bounded, _ = m.(Bounded)
	s.adder, _ = m.(Adder)
	s.reader, _ = m.(Reader)
	return s
}

// Wide returns a float64 vector of the model's length d to pass to [Sums.GradSum] as sum, so that the caller need not
// allocate one. Each call returns the same vector and does not clear it. [Sums.AddGradSum] may overwrite it.
func (s *Sums) Wide() []float64 {
	if s.wide == nil {
		s.wide = make([]float64, s.model.NumParams())
	}
	return s.wide
}

// Ahead announces the batch b of the next call of GradSum or AddGradSum, so that the model can load the records into
// the processor's caches in advance. It changes no result. It does nothing if the model is not a [Reader].
func (s *Sums) Ahead(b data.Batch) {
	if s.reader != nil {
		s.reader.Ahead(b)
	}
}

// GradSum sets sum, of length d, to the sum of the gradients of the examples in b at params, each clipped to the norm
// clip. scratch must come from the model's NewScratch. It calls WideGradSum if the model is [Bounded], and otherwise
// ClippedGradSum, which returns float32.
func (s *Sums) GradSum(sum []float64, params []float32, b data.Batch, clip float64, scratch Scratch) error {
	if s.bounded != nil {
		return s.bounded.WideGradSum(sum, params, b, clip, scratch)
	}
	if s.narrow == nil {
		s.narrow = make([]float32, s.model.NumParams())
	}
	if err := s.model.ClippedGradSum(s.narrow, params, b, clip, scratch); err != nil {
		return err
	}
	f32.Widen(sum, s.narrow)
	return nil
}

// AddGradSum adds the sum that [Sums.GradSum] computes from the other arguments to u, of the model's length d, which
// usually holds the noise. It adds in float64 and then rounds to float32. If u held the noise, it then holds the
// noisy sum that a training step releases.
func (s *Sums) AddGradSum(u, params []float32, b data.Batch, clip float64, scratch Scratch) error {
	if s.adder != nil {
		return s.adder.AddGradSum(u, params, b, clip, scratch)
	}
	sum := s.Wide()
	if err := s.GradSum(sum, params, b, clip, scratch); err != nil {
		return err
	}
	f32.AddNarrow(u, sum)
	return nil
}
