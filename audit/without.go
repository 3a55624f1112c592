package audit

import (
	"proactivedp/data"
	"proactivedp/models"
)

// without is a model that does not see some records. A data set from which a
// record was removed is the one with nothing in its place: what is sampled there
// adds no gradient, and the sample rate stays what it was.
type without struct {
	models.Bounded
	absent []bool // which rows of the data set are not there
}

// withoutScratch is the working memory of a model with the rows that it sees.
type withoutScratch struct {
	inner models.Scratch
	rows  []int32
}

func (m without) NewScratch() models.Scratch { return &withoutScratch{inner: m.Bounded.NewScratch()} }

// present returns the rows of a batch that are not absent. The result is valid
// until the next call.
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
