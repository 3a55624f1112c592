package audit

import (
	"proactivedp/data"
	"proactivedp/models"
)

// without is a model that ignores some records. Removing a record leaves its place empty: if the place
// is sampled, it adds no gradient, and the sample rate stays the same.
type without struct {
	models.Bounded
	absent []bool // whether each row of the data set is removed
}

// withoutScratch is the working memory of the model, with the rows that it uses.
type withoutScratch struct {
	inner models.Scratch
	rows  []int32
}

func (m without) NewScratch() models.Scratch { return &withoutScratch{inner: m.Bounded.NewScratch()} }

// present returns the rows of a batch that are not removed. The result is valid until the next call.
func (m without) present(b data.Batch, s *withoutScratch) data.Batch {
	s.rows = s.rows[:0]
	for _, r := range b.Rows {
		if !m.absent[r] {
			s.rows = append(s.rows, r)
		}
	}
	return data.Batch{Data: b.Data, Rows: s.rows}
}

func (m without) ClippedGradSum(sum, params []float32, b data.Batch, clip float64, scratch models.Scratch) error {
	s := scratch.(*withoutScratch)
	return m.Bounded.ClippedGradSum(sum, params, m.present(b, s), clip, s.inner)
}

func (m without) WideGradSum(sum []float64, w []float32, b data.Batch, clip float64, scratch models.Scratch) error {
	s := scratch.(*withoutScratch)
	return m.Bounded.WideGradSum(sum, w, m.present(b, s), clip, s.inner)
}

func (m without) Loss(params []float32, b data.Batch, scratch models.Scratch) float64 {
	s := scratch.(*withoutScratch)
	return m.Bounded.Loss(params, m.present(b, s), s.inner)
}

func (m without) Predict(labels []int32, params []float32, b data.Batch, scratch models.Scratch) {
	s := scratch.(*withoutScratch)
	m.Bounded.Predict(labels, params, m.present(b, s), s.inner)
}
