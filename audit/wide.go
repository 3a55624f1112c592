package audit

import (
	"proactivedp/data"
	"proactivedp/models"
)

// wide returns the model, or, where it bounds no rounding, one whose wide sum is its
// own rounded sum.
func wide(m models.Model) models.Bounded {
	if b, ok := m.(models.Bounded); ok {
		return b
	}
	return unbounded{m}
}

type unbounded struct{ models.Model }

type unboundedScratch struct {
	inner  models.Scratch
	narrow []float32
}

func (unbounded) Shade() float64 { return 0 }

func (m unbounded) NewScratch() models.Scratch { return &unboundedScratch{inner: m.Model.NewScratch()} }

func (m unbounded) WideGradSum(
	sum []float64, w []float32, b data.Batch, clip float64, s models.Scratch,
) error {
	own := s.(*unboundedScratch)
	return models.WideSum(m.Model, sum, &own.narrow, w, b, clip, own.inner)
}

func (m unbounded) ClippedGradSum(sum, w []float32, b data.Batch, clip float64, s models.Scratch) error {
	return m.Model.ClippedGradSum(sum, w, b, clip, s.(*unboundedScratch).inner)
}

func (m unbounded) Loss(w []float32, b data.Batch, s models.Scratch) float64 {
	return m.Model.Loss(w, b, s.(*unboundedScratch).inner)
}

func (m unbounded) Predict(labels []int32, w []float32, b data.Batch, s models.Scratch) {
	m.Model.Predict(labels, w, b, s.(*unboundedScratch).inner)
}
