package models

import (
	"fmt"

	"proactivedp/data"
	"proactivedp/internal/decimal"
	"proactivedp/internal/f32"
)

// Bounded is a Model whose sum, as computed and not only in exact arithmetic, has
// the sensitivity that noise is measured by.
//
// Sums of floating-point numbers are rounded by what they have grown to, so one
// record more or less may move all that is added behind it: a clipped sum in
// float32 can change by many times C (S. Casacuberta, M. Shoate, S. Vadhan, C.
// Wagaman, "Widespread Underestimation of Sensitivity in Differentially Private
// Libraries and How to Fix It", CCS 2022). A Bounded model proves what rounding
// can do at the worst, and clips each example below C by as much.
//
// A Model that is not Bounded can be trained, but its rounding is then unknown,
// and the statement of what is private says so.
type Bounded interface {
	Model
	// WideGradSum sets sum, of length d, to the sum of ClippedGradSum before it
	// is rounded to float32. For all params and data, if one record is taken from
	// a sample, and the others keep their numbers (the places in the data set
	// that Batch.Rows names), no norm of a difference of sums exceeds clip; nor
	// 2·clip if one record is replaced; and the order of a batch changes no bit, but
	// for clip = +Inf. A finite clip is in [dp.MinScale, dp.MaxScale]; a sample
	// larger than MaxSample, or than a smaller limit of the model, is an error.
	WideGradSum(sum []float64, params []float32, b data.Batch, clip float64, scratch Scratch) error
	// Shade returns the bound on what rounding adds, as a fraction ρ of C: each
	// example is clipped to C/(1+ρ). It depends on no data and is at most
	// MaxShade.
	Shade() float64
}

// Adder is a Bounded model that can add its sum to noise, without writing it down
// in between.
type Adder interface {
	Bounded
	// AddGradSum adds to u, of length d, the sum of WideGradSum: in float64, and
	// rounded to float32 then. If it fails for an example u is as it was.
	AddGradSum(u, params []float32, b data.Batch, clip float64, scratch Scratch) error
}

// Reader is a Model that gains from knowing a sample before it sums its gradients.
type Reader interface {
	Model
	// Ahead brings near what is read first of the batch. It changes no result.
	Ahead(b data.Batch)
}

// Sensitivity says what is known of the sensitivity of m's sums as computed, as a
// statement of privacy should.
func Sensitivity(m Model) string {
	b, ok := m.(Bounded)
	if !ok {
		return "is rounded in ways that the model does not bound; ε takes them to move it by nothing"
	}
	return fmt.Sprintf("moves by C at most as a record comes or goes, rounding included: gradients are clipped to "+
		"C/(1 + %s)", decimal.Up(b.Shade(), 2))
}

// MaxShade is the largest fraction of C that a Bounded model may give up for
// rounding, and MaxSample the largest sample for which it bounds it.
const (
	MaxShade  = 1e-3
	MaxSample = 1 << 22
)

// CheckSample reports an error if a sample is larger than MaxSample.
func CheckSample(b data.Batch) error {
	if n := b.Len(); n > MaxSample {
		return fmt.Errorf("a sample of %d records, must be at most %d: the rounding of larger sums is not "+
			"bounded", n, MaxSample)
	}
	return nil
}

// Narrow is ClippedGradSum by WideGradSum: it sets sum to wide, which is of the
// same length and overwritten, rounded to float32.
func Narrow(m Bounded, sum []float32, wide []float64, params []float32, b data.Batch, clip float64, s Scratch) error {
	if err := m.WideGradSum(wide, params, b, clip, s); err != nil {
		return err
	}
	f32.Narrow(sum, wide)
	return nil
}

// Sums makes sums of clipped gradients of any Model, by the best that it can do, for
// one caller at a time.
type Sums struct {
	model   Model
	bounded Bounded // the model, or nil
	adder   Adder   // the model, or nil
	reader  Reader  // the model, or nil
	wide    []float64
	narrow  []float32 // of models that are not Bounded
}

// NewSums returns sums of the model. Their memory grows when it is used.
func NewSums(m Model) *Sums {
	s := &Sums{model: m}
	s.bounded, _ = m.(Bounded)
	s.adder, _ = m.(Adder)
	s.reader, _ = m.(Reader)
	return s
}

// Wide returns a vector of the model's length d.
func (s *Sums) Wide() []float64 {
	if s.wide == nil {
		s.wide = make([]float64, s.model.NumParams())
	}
	return s.wide
}

// Ahead says which batch GradSum or AddGradSum will be called with next.
func (s *Sums) Ahead(b data.Batch) {
	if s.reader != nil {
		s.reader.Ahead(b)
	}
}

// GradSum sets sum, of length d, to the sum of clipped gradients: by WideGradSum if
// the model is Bounded, else by ClippedGradSum.
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

// AddGradSum adds to u, of length d, what GradSum sets its sum to: in float64, and
// rounded to float32 then.
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
