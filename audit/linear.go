package audit

import (
	"fmt"
	"math"

	"proactivedp/data"
	"proactivedp/models"
	"proactivedp/rng"
)

// linear is the model with the objective f(w; g) = wᵀg. Its gradient is the record g itself, whatever w
// is. This is all that an adversary who can insert any gradient needs.
type linear struct{ features int }

var _ models.Bounded = linear{}

func (linear) Name() string                                                        { return "linear" }
func (m linear) NumParams() int                                                    { return m.features }
func (linear) Init(params []float32, _ *rng.Stream)                                { clear(params) }
func (linear) NewScratch() models.Scratch                                          { return nil }
func (linear) Predict(labels []int32, _ []float32, _ data.Batch, _ models.Scratch) { clear(labels) }

func (linear) Loss(params []float32, b data.Batch, _ models.Scratch) float64 {
	total := 0.0
	for i := range b.Rows {
		row, _ := b.Example(i)
		for j, c := range row.Index {
			total += float64(float64(params[c]) * float64(row.Value[j]))
		}
	}
	return total / float64(b.Len())
}

// Shade returns how much rounding to the grid can add to a gradient, as a fraction of the clipping norm.
func (m linear) Shade() float64 { return models.GridError(m.features) }

func (m linear) ClippedGradSum(sum, w []float32, b data.Batch, clip float64, s models.Scratch) error {
	return models.Narrow(m, sum, make([]float64, len(sum)), w, b, clip, s)
}

func (m linear) WideGradSum(sum []float64, _ []float32, b data.Batch, clip float64, _ models.Scratch) error {
	if err := models.CheckSample(b); err != nil {
		return err
	}
	clear(sum)
	clip /= 1 + m.Shade()
	grid := models.NewGrid(clip)
	for i := range b.Rows {
		row, _ := b.Example(i)
		square := 0.0
		for _, v := range row.Value {
			square += float64(float64(v) * float64(v))
		}
		factor, ok := models.ClipFactor(math.Sqrt(square), clip)
		if !ok {
			return fmt.Errorf("example %d of the batch: %w", i, models.ErrDiverged)
		}
		for j, c := range row.Index {
			sum[c] += grid.Round(float64(factor * float64(row.Value[j])))
		}
	}
	return nil
}
