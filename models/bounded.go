package models

import (
	"fmt"

	"proactivedp/data"
	"proactivedp/internal/f32"
)

// Bounded is a Model whose computed sum has the sensitivity C that the noise is scaled to,
// including rounding.
//
// Sums of floating-point numbers are rounded according to their size. So one record more or less
// may change the rounding of everything that is added after it: a clipped sum in float32 can change
// by many times C (S. Casacuberta, M. Shoate, S. Vadhan, C. Wagaman, "Widespread Underestimation of
// Sensitivity in Differentially Private Libraries and How to Fix It", CCS 2022). A Bounded model
// proves how much rounding can change the sum, and clips each example below C by that amount.
//
// A Model that is not Bounded can be trained. Its rounding is then unknown, and the privacy
// statement says so.
type Bounded interface {
	Model
	// WideGradSum sets sum, of length d, to the sum of ClippedGradSum before it is rounded to
	// float32. Let one record be removed from a sample, while the others keep their numbers (the
	// rows of the data set in Batch.Rows). For all params and data, the norm of the difference of
	// the two sums is at most clip. If one record is replaced, it is at most 2·clip. For a finite
	// clip, the order of a batch changes no bit. A finite clip must be in [dp.MinScale,
	// dp.MaxScale]. A sample larger than MaxSample, or than a smaller limit of the model, is an
	// error.
	WideGradSum(sum []float64, params []float32, b data.Batch, clip float64, scratch Scratch) error
	// Shade returns the bound on what rounding adds, as a fraction ρ of C: each example is clipped
	// to C/(1+ρ). It does not depend on data and is at most MaxShade.
	Shade() float64
}

// Adder is a Bounded model that can add its sum of clipped gradients directly to a vector of noise.
// This is faster, because the sum itself need not be stored.
type Adder interface {
	Bounded
	// AddGradSum adds the sum of WideGradSum to u, of length d. It adds in float64 and then rounds
	// to float32. If it fails for an example, u is unchanged.
	AddGradSum(u, params []float32, b data.Batch, clip float64, scratch Scratch) error
}

// Reader is a Model that can load the data of a batch into the processor's caches in advance, which
// makes the next sum of gradients faster.
type Reader interface {
	Model
	// Ahead prefetches the first data of the batch. It changes no result.
	Ahead(b data.Batch)
}

// Sensitivity returns a sentence for privacy statements. It says whether rounding is included in the
// bound on how much one record can change the sums that m computes.
func Sensitivity(m Model) string {
	b, ok := m.(Bounded)
	if !ok {
		return "is rounded in ways that the model does not bound; ε assumes that rounding changes nothing"
	}
	return "changes by at most C if a record is added or removed, including rounding: " + clippedTo(b)
}

// MaxShade is the largest value of Bounded.Shade, the fraction of the clipping norm that a model may
// reserve for rounding errors. MaxSample is the largest number of records in a sample for which a
// Bounded model bounds these errors.
const (
	MaxShade  = 1e-3
	MaxSample = 1 << 22
)

// CheckSample returns an error if the batch b has more than MaxSample examples.
func CheckSample(b data.Batch) error {
	if n := b.Len(); n > MaxSample {
		return fmt.Errorf("a sample of %d records, must be at most %d: the rounding of larger sums is not "+
			"bounded", n, MaxSample)
	}
	return nil
}

// Narrow computes ClippedGradSum by WideGradSum. It overwrites wide and sets sum to wide rounded to
// float32. The two must have the same length.
func Narrow(m Bounded, sum []float32, wide []float64, params []float32, b data.Batch, clip float64, s Scratch) error {
	if err := m.WideGradSum(wide, params, b, clip, s); err != nil {
		return err
	}
	f32.Narrow(sum, wide)
	return nil
}

// Sums computes sums of clipped gradients of any Model. It uses the method of the model that has the
// best guarantee and speed: that of Adder, Bounded or Model. Only one goroutine may use it at a time.
type Sums struct {
	model   Model
	bounded Bounded // the model, or nil
	adder   Adder   // the model, or nil
	reader  Reader  // the model, or nil
	wide    []float64
	narrow  []float32 // for models that are not Bounded
}

// NewSums returns a Sums for the model. It allocates its working memory when it is first needed.
func NewSums(m Model) *Sums {
	s := &Sums{model: m}
	s.bounded, _ = m.(Bounded)
	s.adder, _ = m.(Adder)
	s.reader, _ = m.(Reader)
	return s
}

// Wide returns working memory for a sum: a vector of the model's length d. Each call returns the same
// vector.
func (s *Sums) Wide() []float64 {
	if s.wide == nil {
		s.wide = make([]float64, s.model.NumParams())
	}
	return s.wide
}

// Ahead announces the batch of the next call of GradSum or AddGradSum, so that the model can load its
// data in advance.
func (s *Sums) Ahead(b data.Batch) {
	if s.reader != nil {
		s.reader.Ahead(b)
	}
}

// GradSum sets sum, of length d, to the sum of clipped gradients. It uses WideGradSum if the model
// is Bounded, and ClippedGradSum otherwise.
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

// AddGradSum adds the sum of GradSum to u, of length d. It adds in float64 and then rounds to
// float32.
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
