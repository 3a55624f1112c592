// Package logreg is logistic regression for two classes on sparse rows, plain
// and with a ridge penalty: the convex and the strongly convex objective of the
// paper's experiments.
//
// One example's objective is
//
//	f(w̄; x, y) = ln(1 + e^{-z}) + (1-y)·z + (λ/2)‖w̄‖²,  z = wᵀx + b,
//
// with y in {0, 1} and w̄ = (w, b), the bias last and penalised like the rest
// (paper, Section Experiments; its J is the sum over the examples, the penalty
// counted once, where this project puts λ/2‖w̄‖² into every example so that it is
// clipped with the gradient it belongs to). λ = 1/N in the paper.
package logreg

import (
	"fmt"
	"math"

	"proactivedp/data"
	"proactivedp/internal/f32"
	"proactivedp/models"
	"proactivedp/rng"
)

// Model is logistic regression on Features columns.
type Model struct {
	features int
	lambda   float64
	name     string
	shade    float64
	shrink   float64 // 1/(1+shade)
	slack    float64 // see newModel
}

var _ interface {
	models.Bounded
	models.Checker
} = (*Model)(nil)

// NewRidge returns the strongly convex model with penalty λ > 0.
func NewRidge(features int, lambda float64) (*Model, error) {
	if !(lambda > 0) || math.IsInf(lambda, 0) {
		return nil, fmt.Errorf("logreg: λ = %v, must be finite and above 0", lambda)
	}
	return newModel("logreg", features, lambda)
}

// Check implements models.Checker: rows of at most the model's columns, in two
// classes.
func (m *Model) Check(d *data.Dataset) error {
	if d.Images != nil || d.Features > m.features || d.Classes != 2 {
		return fmt.Errorf("logreg: the model needs rows of at most %d features in 2 classes: %q has %s in %d",
			m.features, d.Name, d.Shape(), d.Classes)
	}
	return nil
}

// NewPlain returns the convex model without a penalty.
func NewPlain(features int) (*Model, error) { return newModel("logreg-plain", features, 0) }

func newModel(name string, features int, lambda float64) (*Model, error) {
	if features < 1 {
		return nil, fmt.Errorf("logreg: features = %d, must be at least 1", features)
	}
	shade := models.GridError(features+1) + 0x1p-23
	// In float64, u = 2^-53, the sums of d products z, ‖x̄‖² and ‖w̄‖² are each off by at
	// most d·u times their sum of magnitudes, which for z is ‖x̄‖‖w̄‖. So by cancellation
	// ‖g‖² is off by at most (3d + 16)·u·(‖a·x̄‖² + ‖λw̄‖²).
	slack := float64(3*(features+1)+16) * 0x1p-53
	return &Model{features: features, lambda: lambda, name: name, shade: shade, shrink: 1 / (1 + shade),
		slack: slack}, nil
}

// Name returns "logreg" or "logreg-plain".
func (m *Model) Name() string { return m.name }

// NumParams returns the number of features plus 1.
func (m *Model) NumParams() int { return m.features + 1 }

// Lambda returns λ, 0 for the plain model.
func (m *Model) Lambda() float64 { return m.lambda }

// Init sets params to zero; nothing in it is random.
func (m *Model) Init(params []float32, _ *rng.Stream) { clear(params) }

// margin returns z = wᵀx + b and ‖x̄‖² = ‖x‖² + 1.
func (m *Model) margin(params []float32, row data.Row) (z, norm2 float64) {
	// Two sums each, of even and of odd entries: one chain of additions would
	// cost more than the rest of the loop.
	index, value := row.Index, row.Value[:len(row.Index)]
	var z1, n1 float64
	z, norm2 = float64(params[m.features]), 1
	j := 0
	for ; j < len(index)-1; j += 2 {
		v0, v1 := float64(value[j]), float64(value[j+1])
		z += float64(v0 * float64(params[index[j]]))
		z1 += float64(v1 * float64(params[index[j+1]]))
		norm2 += float64(v0 * v0)
		n1 += float64(v1 * v1)
	}
	if j < len(index) {
		v := float64(value[j])
		z += float64(v * float64(params[index[j]]))
		norm2 += float64(v * v)
	}
	return z + z1, norm2 + n1
}

// scratch is the model's working memory.
type scratch struct {
	wide, dense []float64 // d numbers each, nil until they are needed
}

// NewScratch implements models.Model.
func (m *Model) NewScratch() models.Scratch { return &scratch{} }

func (m *Model) vector(at *[]float64) []float64 {
	if *at == nil {
		*at = make([]float64, m.NumParams())
	}
	return *at
}

// own returns the scratch that is given, or a new one for nil.
func own(s models.Scratch) *scratch {
	if s == nil {
		return &scratch{}
	}
	return s.(*scratch)
}

// ClippedGradSum implements models.Model.
func (m *Model) ClippedGradSum(sum, params []float32, b data.Batch, clip float64, s models.Scratch) error {
	mine := own(s)
	return models.Narrow(m, sum[:m.NumParams()], m.vector(&mine.wide), params, b, clip, mine)
}

// Shade implements models.Bounded: all additions are exact, on a models.Grid, and
// what is left is that
//
//   - a gradient's coordinates are rounded to the grid;
//   - its factor f, where it multiplies λw̄, is rounded to a multiple of 2^-30, which
//     moves the gradient by 2^-31·8C at most (see ridgeLimit), and the product of the
//     sum of these factors, which is exact and at most 2^22, with λw̄ is rounded to
//     float64: by 2^-53·2^22·8C, before and after a record leaves;
//   - f and products with it are rounded to float64, by less than 2^-50.
func (m *Model) Shade() float64 { return m.shade }

// ridgeLimit is how many times C the penalty's gradient λw̄ may be while it is
// added once for the whole sample. Then no example's clipped part a·x̄ exceeds 16·C,
// as a Grid wants it: where ‖a·x̄‖ is at least 2‖λw̄‖ the gradient is at least half
// as long and clipped to C, elsewhere it is below 2‖λw̄‖ as it is. Above the limit,
// which λ and the parameters decide and no record, gradients are added one by one.
const ridgeLimit = 8

// WideGradSum implements models.Bounded. The gradient of one example is
// g = a·x̄ + λw̄ with a = p − y, so its norm follows from z, ‖x̄‖² and ‖w̄‖², and
// the sum takes one pass over the non-zero entries.
func (m *Model) WideGradSum(sum []float64, params []float32, b data.Batch, clip float64, s models.Scratch) error {
	if err := models.CheckSample(b); err != nil {
		return err
	}
	clear(sum)
	sum, params = sum[:m.features+1], params[:m.features+1]
	clip *= m.shrink
	grid := models.NewGrid(clip)
	var ridge2 float64 // ‖λw̄‖²
	if m.lambda > 0 && b.Len() > 0 {
		ridge2 = m.lambda * m.lambda * f32.SumSquares(params)
	}
	var dense []float64
	if ridge2 > ridgeLimit*ridgeLimit*clip*clip {
		dense = m.vector(&own(s).dense)
	}
	var factors float64 // sum of the clip factors, which is how often λw̄ is counted
	var bias float64
	for i := range b.Rows {
		row, y := b.Example(i)
		z, x2 := m.margin(params, row)
		a := sigmoid(z) - float64(y)
		a2 := float64(a * a * x2)
		g2 := a2 + float64(2*a*m.lambda*z) + ridge2 + float64(m.slack*(a2+ridge2))
		factor, ok := models.ClipFactor(math.Sqrt(max(g2, 0)), clip)
		if !ok || g2 != g2 {
			return fmt.Errorf("logreg: %w", &data.RecordError{Row: int(b.Rows[i]), Err: models.ErrDiverged})
		}
		step := factor * a
		if dense != nil {
			m.addDense(sum, dense, params, row, factor, step, grid)
			continue
		}
		value := row.Value[:len(row.Index)]
		for j, c := range row.Index {
			sum[c] += grid.Round(float64(step * float64(value[j])))
		}
		bias += grid.Round(step)
		factors += factorGrid.Round(factor)
	}
	sum[m.features] += bias
	if m.lambda > 0 && dense == nil {
		f32.AxpyWide(factors*m.lambda, params, sum)
	}
	return nil
}

// factorGrid has the unit 2^-30, so that MaxSample factors are summed exactly.
var factorGrid = models.NewGrid(0x1p-4)

// addDense adds one example's whole gradient, each coordinate rounded to the grid.
func (m *Model) addDense(sum, g []float64, params []float32, row data.Row, factor, step float64, grid models.Grid) {
	factor *= m.lambda
	for j, w := range params {
		g[j] = factor * float64(w)
	}
	for j, c := range row.Index {
		g[c] += float64(step * float64(row.Value[j]))
	}
	g[m.features] += step
	for j, x := range g {
		sum[j] += grid.Round(x)
	}
}

// Loss implements models.Model.
func (m *Model) Loss(params []float32, b data.Batch, _ models.Scratch) float64 {
	total := 0.0
	for i := range b.Rows {
		row, y := b.Example(i)
		z, _ := m.margin(params, row)
		// ln(1+e^{-z}) + (1-y)z, without overflow for either sign of z.
		total += max(z, 0) - float64(float64(y)*z) + math.Log1p(math.Exp(-math.Abs(z)))
	}
	return total/float64(b.Len()) + m.lambda/2*f32.SumSquares(params)
}

// Predict implements models.Model: class 1 where z > 0.
func (m *Model) Predict(labels []int32, params []float32, b data.Batch, _ models.Scratch) {
	for i := range b.Rows {
		row, _ := b.Example(i)
		labels[i] = 0
		if z, _ := m.margin(params, row); z > 0 {
			labels[i] = 1
		}
	}
}

// Scores implements models.Scorer: the logit z.
func (m *Model) Scores(scores []float64, params []float32, b data.Batch, _ models.Scratch) {
	for i := range b.Rows {
		row, _ := b.Example(i)
		scores[i], _ = m.margin(params, row)
	}
}

func sigmoid(z float64) float64 {
	if z >= 0 {
		return 1 / (1 + math.Exp(-z))
	}
	e := math.Exp(z)
	return e / (1 + e)
}
