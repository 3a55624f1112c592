package audit

import (
	"math"

	"proactivedp/data"
	"proactivedp/models"
)

// clipped is a model whose way of clipping is replaced by a faulty one.
type clipped struct {
	models.Bounded
	sum clipping
}

// clipping sets sum to the sum of a batch's gradients. m is the model that clips correctly.
type clipping func(m models.Bounded, sum []float64, w []float32, b data.Batch, clip float64, s models.Scratch) error

func (m clipped) WideGradSum(sum []float64, w []float32, b data.Batch, clip float64, s models.Scratch) error {
	return m.sum(m.Bounded, sum, w, b, clip, s)
}

func clipBy(w *world, sum clipping) { w.cfg.Model = clipped{w.cfg.Model.(models.Bounded), sum} }

func unclipped(m models.Bounded, sum []float64, w []float32, b data.Batch, _ float64, s models.Scratch) error {
	return m.WideGradSum(sum, w, b, noClip, s)
}

func looselyClipped(size float64) clipping {
	return func(m models.Bounded, sum []float64, w []float32, b data.Batch, clip float64, s models.Scratch) error {
		return m.WideGradSum(sum, w, b, size*clip, s)
	}
}

// batchClipped clips only the sum of the batch, not each gradient.
func batchClipped(m models.Bounded, sum []float64, w []float32, b data.Batch, clip float64, s models.Scratch) error {
	if err := m.WideGradSum(sum, w, b, noClip, s); err != nil {
		return err
	}
	factor, ok := models.ClipFactor(norm(sum), clip)
	if !ok {
		return models.ErrDiverged
	}
	scale(sum, factor)
	return nil
}

// partClipped clips each part of a gradient separately. Coordinate i belongs to part i mod parts.
func partClipped(parts int) clipping {
	return func(m models.Bounded, sum []float64, w []float32, b data.Batch, clip float64, s models.Scratch) error {
		clear(sum)
		one := make([]float64, len(sum))
		for _, row := range b.Rows {
			if err := m.WideGradSum(one, w, data.Batch{Data: b.Data, Rows: []int32{row}}, noClip, s); err != nil {
				return err
			}
			for p := range parts {
				square := 0.0
				for i := p; i < len(one); i += parts {
					square += float64(one[i] * one[i])
				}
				factor, ok := models.ClipFactor(math.Sqrt(square), clip)
				if !ok {
					return models.ErrDiverged
				}
				for i := p; i < len(one) && square > 0; i += parts {
					sum[i] += float64(factor * one[i])
				}
			}
		}
		return nil
	}
}
