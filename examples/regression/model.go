package main

import (
	"fmt"
	"math"

	"proactivedp/data"
	"proactivedp/models"
	"proactivedp/rng"
)

// regression is linear regression by least squares, f(w, b; x, y) = ½(w·x + b − y)², for a rating y
// in 0, 1, …. It predicts the nearest rating. The parameters are w followed by b.
type regression struct{ features int }

var _ models.Bounded = regression{}

func (m regression) Name() string { return "regression" }

func (m regression) NumParams() int { return m.features + 1 }

// Init sets all parameters to 0. It draws nothing.
func (m regression) Init(params []float32, _ *rng.Stream) { clear(params) }

// NewScratch returns memory for a sum in float64.
func (m regression) NewScratch() models.Scratch { return make([]float64, m.NumParams()) }

// value returns w·x + b.
func (m regression) value(params []float32, x data.Row) float64 {
	sum := float64(params[m.features])
	for j, column := range x.Index {
		sum += float64(params[column]) * float64(x.Value[j])
	}
	return sum
}

// Shade returns how much rounding to the grid can add to a gradient, as a fraction of the clipping
// norm. WideGradSum clips to a norm that is smaller by that much. Sums of rounded gradients are
// exact.
func (m regression) Shade() float64 { return models.GridError(m.NumParams()) }

// WideGradSum adds each example's gradient (w·x + b − y)·(x, 1), scaled to a norm of at most clip
// and rounded to a grid.
func (m regression) WideGradSum(sum []float64, params []float32, b data.Batch, clip float64, _ models.Scratch) error {
	if err := models.CheckSample(b); err != nil {
		return err
	}
	clear(sum)
	clip /= 1 + m.Shade()
	grid := models.NewGrid(clip)
	for i := range b.Len() {
		x, y := b.Example(i)
		residual := m.value(params, x) - float64(y)
		squares := 1.0 // the square of the bias's input, 1
		for _, v := range x.Value {
			squares += float64(v) * float64(v)
		}
		factor, ok := models.ClipFactor(math.Abs(residual)*math.Sqrt(squares), clip)
		if !ok {
			return fmt.Errorf("regression: %w", models.ErrDiverged)
		}
		for j, column := range x.Index {
			sum[column] += grid.Round(factor * residual * float64(x.Value[j]))
		}
		sum[m.features] += grid.Round(factor * residual)
	}
	return nil
}

// ClippedGradSum computes the same sum in float32.
func (m regression) ClippedGradSum(sum, params []float32, b data.Batch, clip float64, s models.Scratch) error {
	return models.Narrow(m, sum, s.([]float64), params, b, clip, s)
}

// Loss returns the mean of half the squared residuals.
func (m regression) Loss(params []float32, b data.Batch, _ models.Scratch) float64 {
	sum := 0.0
	for i := range b.Len() {
		x, y := b.Example(i)
		residual := m.value(params, x) - float64(y)
		sum += residual * residual / 2
	}
	return sum / float64(b.Len())
}

// Predict predicts the nearest rating that exists.
func (m regression) Predict(labels []int32, params []float32, b data.Batch, _ models.Scratch) {
	for i := range b.Len() {
		x, _ := b.Example(i)
		switch v := m.value(params, x); {
		case v > float64(b.Data.Classes-1):
			labels[i] = int32(b.Data.Classes - 1)
		case v > 0:
			labels[i] = int32(v + 0.5)
		default:
			labels[i] = 0
		}
	}
}
