// Package logreg has logistic regression for two classes on rows of features, with a ridge penalty (the
// strongly convex objective of the paper's experiments) and without one (the convex objective). It also
// has linear regression without a penalty, see [NewLinear].
//
// For an example with features x and label y in {0, 1}, weights w and bias b, the objective of logistic
// regression is
//
//	f(w̄; x, y) = ln(1 + e^{-z}) + (1-y)·z + (λ/2)‖w̄‖²,  z = wᵀx + b,  w̄ = (w, b)
//
// The bias b is the last parameter. It is penalised like the weights (paper, Section Experiments). The paper uses λ =
// 1/N for N records, and adds the penalty once to the sum over all examples. This package puts the penalty (λ/2)‖w̄‖²
// into every example instead, so that its gradient is clipped together with that of the example.
//
// Without a penalty, the gradient of logistic regression is a multiple of (x, 1). So is that of linear regression,
// with another factor, so both use the same code for sums and the same bound on rounding errors.
package logreg

import (
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"

	"proactivedp/data"
	"proactivedp/internal/f32"
	"proactivedp/models"
	"proactivedp/rng"
)

// Model is logistic or linear regression with a fixed number of features. Its parameters are one weight for each
// feature, then the bias.
type Model struct {
	features int
	lambda   float64
	name     string
	shade    float64
	shrink   float64   // 1/(1+shade)
	slack    float64   // see newModel
	weights  []float64 // ω of the loss, by class; nil means 1
	linear   bool      // whether it is linear regression
	// automatic means that gradients are clipped automatically, see models.AutomaticClipper.
	automatic bool
	rows      models.RowCache
}

var _ interface {
	models.Adder
	models.AutomaticClipper
	models.Checker
	models.Layered
	models.Reader
	models.Weightable
} = (*Model)(nil)

// NewRidge returns the model "logreg": logistic regression with the ridge (L2) penalty (λ/2)‖w̄‖² in the loss of each
// example, which makes the loss strongly convex. w̄ are all parameters, the weights and the bias. λ is lambda, which
// must be above 0. A usual value is 1/N for N records, as in the experiments of the paper that this project
// implements. features is the number of columns, in [1, 2^32).
func NewRidge(features int, lambda float64) (*Model, error) {
	if !(lambda > 0) || math.IsInf(lambda, 0) {
		return nil, fmt.Errorf("λ = %v, must be finite and above 0", lambda)
	}
	return newModel("logreg", features, lambda)
}

// Check returns nil if the model can be trained on d, and otherwise an error. The rows must have at most the model's
// number of features, and two classes or, for linear regression, targets.
func (m *Model) Check(d *data.Dataset) error {
	if m.linear && (d.Images != nil || d.Features > m.features || d.Targets == nil) {
		return fmt.Errorf("the model needs rows of at most %d features with targets: %q has %s in %d classes", m.features,
			d.Name, d.Shape(), d.Classes)
	}
	if m.linear {
		return nil
	}
	if d.Images != nil || d.Features > m.features || d.Classes != 2 {
		return fmt.Errorf("the model needs rows of at most %d features in 2 classes: %q has %s in %d",
			m.features, d.Name, d.Shape(), d.Classes)
	}
	return nil
}

// NewPlain returns logistic regression without a penalty: the convex model "logreg-plain". features is the number of
// columns, in [1, 2^32).
func NewPlain(features int) (*Model, error) { return newModel("logreg-plain", features, 0) }

// NewLinear returns linear regression, for targets instead of classes: the model "linear". The loss of an example is
// (z − t)²/2, where z is the prediction and t the target. Both are scaled so that the public bounds of the targets
// are −1 and 1, see [data.TargetBounds.Scaled]. Clipping limits the effect of examples with a large error, as the
// Huber loss does. features is the number of columns, in [1, 2^32).
func NewLinear(features int) (*Model, error) {
	m, err := newModel("linear", features, 0)
	if err == nil {
		m.linear = true
	}
	return m, err
}

// maxParams bounds the number of parameters such that models.GridError is below models.MaxShade.
const maxParams = 1 << 32

func newModel(name string, features int, lambda float64) (*Model, error) {
	if features < 1 || features >= maxParams {
		return nil, fmt.Errorf("features = %d, must be in [1, 2^32)", features)
	}
	shade := models.GridError(features+1) + 0x1p-23
	// Let u = 2^-53. In float64, the sums of d products z, ‖x̄‖² and ‖w̄‖² each have an error of at
	// most d·u times their sum of magnitudes, in any order, because products of float32 are exact.
	// For z that sum is at most ‖x̄‖‖w̄‖. So, with cancellation, the error of ‖g‖² is at most (3d +
	// 16)·u·(‖a·x̄‖² + ‖λw̄‖²). The error of a is not an error of g: the gradient that is clipped
	// and added is the one with the computed a.
	slack := float64(3*(features+1)+16) * 0x1p-53
	return &Model{features: features, lambda: lambda, name: name, shade: shade, shrink: 1 / (1 + shade),
		slack: slack}, nil
}

// WithClassWeights returns a model like m in which the loss of an example is multiplied by the weight of its class;
// weights has one for each of the two classes. See [models.Weightable]. For linear regression, it returns an error.
func (m *Model) WithClassWeights(weights []float64) (models.Model, error) {
	if m.linear {
		return nil, errors.New("class weights: the model linear has no classes")
	}
	if err := models.CheckClassWeights(weights, 2); err != nil {
		return nil, err
	}
	weighted, err := newModel(m.name, m.features, m.lambda)
	if err != nil {
		return nil, err
	}
	weighted.weights, weighted.automatic = slices.Clone(weights), m.automatic
	weighted.slack += 8 * 0x1p-53 // ω, ω² and their products are rounded
	return weighted, nil
}

// WithAutomaticClipping returns a model like m that scales every gradient to about the clipping norm, also a short
// one: see [models.AutomaticClipper].
func (m *Model) WithAutomaticClipping() models.Model {
	return &Model{features: m.features, lambda: m.lambda, name: m.name, shade: m.shade, shrink: m.shrink, slack: m.slack,
		weights: m.weights, linear: m.linear, automatic: true}
}

// ClipsAutomatically reports whether m came from [Model.WithAutomaticClipping].
func (m *Model) ClipsAutomatically() bool { return m.automatic }

// Name returns "logreg", "logreg-plain" or "linear".
func (m *Model) Name() string { return m.name }

// NumParams returns the number of features plus 1, for the bias.
func (m *Model) NumParams() int { return m.features + 1 }

// Lambda returns the factor λ of the ridge penalty (λ/2)‖w̄‖² in the loss of each example, where w̄ are all
// parameters. λ is 0 for a model without a penalty.
func (m *Model) Lambda() float64 { return m.lambda }

// Init sets params to zero. Nothing is random.
func (m *Model) Init(params []float32, _ *rng.Stream) { clear(params) }

// scratch is the model's working memory.
type scratch struct {
	wide, dense []float64 // d numbers each; nil until they are needed
	w           []float64 // weights without the bias, models.Rows.Columns numbers
	sum         []float64 // sum of gradients, with as many numbers, or one more than features
	// A block of examples, in the form of f32.LogisticSteps.
	step, factor, dot, side [block]float64
	// With weights: ‖x̄‖² of the examples, the results of the classes so far, and what the examples of a
	// class have in common.
	squares, steps, factors [block]float64
	weighted                f32.Logistic
	common                  f32.Logistic
}

// block is the number of examples that are computed at a time.
const block = 64

// NewScratch returns working memory for the methods of the model. Each goroutine needs its own.
func (m *Model) NewScratch() models.Scratch { return &scratch{} }

func (m *Model) vector(at *[]float64) []float64 {
	if *at == nil {
		*at = make([]float64, m.NumParams())
	}
	return *at
}

// own returns s as a scratch of this package, or a new scratch if s is nil.
func own(s models.Scratch) *scratch {
	if s == nil {
		return &scratch{}
	}
	return s.(*scratch)
}

// rowsOf returns the rows of a data set and prepares the scratch for them.
func (m *Model) rowsOf(d *data.Dataset, params []float32, s *scratch) *models.Rows {
	rows := m.rows.Of(d)
	n := rows.Columns()
	if n > cap(s.w) {
		s.w, s.sum = make([]float64, n), make([]float64, max(n, m.features+1))
	}
	s.w = s.w[:n]
	rows.Parameters(s.w, params[:d.Features])
	return rows
}

// Ahead starts to load the records of the batch b into the processor's caches, so that the next sum of gradients is
// faster: see [models.Reader]. It changes no result. It does nothing for more than four records, because sums of more
// records load the later ones themselves, and nothing for records that are stored sparsely.
func (m *Model) Ahead(b data.Batch) { m.rows.Of(b.Data).Ahead(b.Rows) }

// logits yields each example's number in the batch and its logit z.
func (m *Model) logits(params []float32, b data.Batch, given models.Scratch) iter.Seq2[int, float64] {
	return func(yield func(int, float64) bool) {
		s := own(given)
		rows, bias := m.rowsOf(b.Data, params, s), float64(params[m.features])
		for from := 0; from < b.Len(); from += block {
			numbers := b.Rows[from:min(from+block, b.Len())]
			rows.Dots(s.dot[:len(numbers)], numbers, s.w)
			for i, dot := range s.dot[:len(numbers)] {
				if !yield(from+i, dot+bias) {
					return
				}
			}
		}
	}
}

// ClippedGradSum sets sum, of length NumParams, to the sum of the gradients of the examples in b at params, each
// clipped to the norm clip, in float32: see [models.Model]. s is working memory from NewScratch.
func (m *Model) ClippedGradSum(sum, params []float32, b data.Batch, clip float64, s models.Scratch) error {
	mine := own(s)
	return models.Narrow(m, sum[:m.NumParams()], m.vector(&mine.wide), params, b, clip, mine)
}

// Rounding errors of a sum. Let f be the clip factor of an example and w̄ the parameters. All additions
// are exact, because they are on a models.Grid. The remaining errors are:
//
//   - A gradient's coordinates are rounded to the grid.
//   - The factor f of λw̄ is rounded to a multiple of 2^-30, which moves the gradient by at most 2^-31·8C
//     (see ridgeLimit). The sum of these factors is exact and at most 2^22. Its product with λw̄ is
//     rounded to float64, with an error of 2^-53·2^22·8C before and after a record leaves.
//   - f and products with it are rounded to float64, with a relative error below 2^-50.
//
// With automatic clipping, f may be above 1 and the second point would not hold. If there is a penalty,
// gradients are then added one by one, as above ridgeLimit.

// Shade returns a bound on the rounding errors of a sum of clipped gradients, as a fraction of the clipping norm C.
// Gradients are clipped to a norm that is smaller by this fraction, so that one record changes the computed sum by at
// most C: see [models.Bounded].
func (m *Model) Shade() float64 { return m.shade }

// ridgeLimit is the largest norm, in units of C, of the penalty's gradient λw̄ that is added once
// for the whole sample. Up to this limit, no example's clipped part a·x̄ exceeds 16·C, as Grid
// requires: if ‖a·x̄‖ ≥ 2‖λw̄‖, the gradient is at least half as long as a·x̄ and is clipped to C;
// otherwise a·x̄ is shorter than 2‖λw̄‖ anyway. Above the limit, gradients are added one by one.
// Only λ and the parameters decide which case applies, not the records.
const ridgeLimit = 8

// WideGradSum does the same as [Model.ClippedGradSum] with these arguments, but sum is in float64, with a proven
// bound on rounding errors: see [models.Bounded]. given is working memory from NewScratch.
func (m *Model) WideGradSum(sum []float64, params []float32, b data.Batch, clip float64, given models.Scratch) error {
	sum, params = sum[:m.features+1], params[:m.features+1]
	if b.Len() == 0 {
		clear(sum)
		return nil
	}
	total, err := m.total(params, b, clip, own(given))
	if err == nil {
		copy(sum, total)
	}
	return err
}

// AddGradSum adds the sum that [Model.WideGradSum] computes from the other arguments to u, of length NumParams, which
// usually holds the noise of a training step: see [models.Adder]. given is working memory from NewScratch.
func (m *Model) AddGradSum(u, params []float32, b data.Batch, clip float64, given models.Scratch) error {
	if b.Len() == 0 {
		return nil
	}
	total, err := m.total(params[:m.features+1], b, clip, own(given))
	if err == nil {
		f32.AddNarrow(u[:m.features+1], total)
	}
	return err
}

// total returns the sum for a batch that is not empty, in the scratch. The gradient of one example
// is g = a·x̄ + λw̄ with a = p − y. Its norm follows from z, ‖x̄‖² and ‖w̄‖², so the sum takes one
// pass over the rows.
func (m *Model) total(params []float32, b data.Batch, clip float64, s *scratch) ([]float64, error) {
	if err := models.CheckSample(b); err != nil {
		return nil, err
	}
	w2 := f32.SumSquares(params)
	if !(w2 <= math.MaxFloat64) { // so that z is finite
		return nil, fmt.Errorf("parameters: %w", models.ErrDiverged)
	}
	if !(clip > 0) { // a NaN would clip nothing
		return nil, fmt.Errorf("clipping norm = %v, must be above 0", clip)
	}
	clip *= m.shrink
	grid := models.NewGrid(clip)
	l := &s.common
	l.Lambda, l.Slack, l.Margin, l.Most = m.lambda, m.slack, models.ClipMargin, models.MaxNorm
	l.Bias, l.Ridge, l.Clip = float64(params[m.features]), m.lambda*m.lambda*w2, clip
	oneByOne := l.Ridge > ridgeLimit*ridgeLimit*clip*clip
	automatic := m.automatic && !math.IsInf(clip, 1)
	if automatic {
		l.Clip = leastNorm
		oneByOne = m.lambda > 0 // factors above 1 have no exact sum, see factorGrid
	}
	rows := m.rowsOf(b.Data, params, s)
	clear(s.sum)
	total := s.sum[:m.features+1]
	var factors float64 // sum of the clip factors, which is the factor of λw̄
	var bias float64
	for from := 0; from < b.Len(); from += block {
		numbers := b.Rows[from:min(from+block, b.Len())]
		m.steps(rows, b.Data, numbers, s)
		if automatic {
			s.clipAutomatically(len(numbers), clip)
		}
		for i, factor := range s.factor[:len(numbers)] {
			factors += factorGrid.Round(factor)
			bias += grid.Round(s.step[i])
		}
		if math.IsNaN(factors) {
			return nil, diverged(numbers, s)
		}
		if !oneByOne {
			total[m.features] = bias // overwrites an empty column, or follows all columns
			rows.AddRounded(s.sum[:rows.Columns()], numbers, s.step[:len(numbers)], grid)
			continue
		}
		for i, row := range numbers {
			m.addDense(total, m.vector(&s.dense), params, b.Data.Row(int(row)), s.factor[i], s.step[i], grid)
		}
	}
	if m.lambda > 0 && !oneByOne {
		f32.AxpyWide(factors*m.lambda, params, total)
	}
	return total, nil
}

// steps sets s.factor to the clip factors of the rows in numbers, at most a block, and s.step to
// factor·a, by which each row is multiplied in the sum.
func (m *Model) steps(rows *models.Rows, d *data.Dataset, numbers []int32, s *scratch) {
	labels := d.Label
	if m.linear {
		m.linearSteps(rows, d.Targets.Value, numbers, s)
		return
	}
	for i, row := range numbers {
		s.factor[i] = rows.Squares(row) + 1
		s.side[i] = math.Float64frombits(uint64(labels[row]) << 63)
	}
	rows.Dots(s.dot[:len(numbers)], numbers, s.w)
	n := (len(numbers) + f32.WideLanes - 1) / f32.WideLanes * f32.WideLanes // the rest may hold any number
	if m.weights == nil {
		f32.LogisticSteps(s.step[:n], s.factor[:n], s.dot[:n], s.side[:n], &s.common)
		return
	}
	// With a weight ω, a gradient is ωa·x̄ + λw̄, with the squared norm a²·ω²‖x̄‖² + 2a·ωλ·w̄ᵀx̄ + ‖λw̄‖².
	// LogisticSteps computes that for ω²‖x̄‖² in place of ‖x̄‖² and ωλ in place of λ. It does so for the
	// whole block and one class at a time; the results of the other class are dropped.
	copy(s.squares[:n], s.factor[:n])
	for class, weight := range m.weights {
		for i := range n {
			s.factor[i] = float64(weight*weight) * s.squares[i]
		}
		s.weighted = s.common
		s.weighted.Lambda = weight * m.lambda
		f32.LogisticSteps(s.step[:n], s.factor[:n], s.dot[:n], s.side[:n], &s.weighted)
		for i, row := range numbers {
			if int(labels[row]) == class {
				s.steps[i], s.factors[i] = weight*s.step[i], s.factor[i]
			}
		}
	}
	s.step, s.factor = s.steps, s.factors
}

// linearSteps does what steps does, for linear regression.
func (m *Model) linearSteps(rows *models.Rows, targets []float32, numbers []int32, s *scratch) {
	rows.Dots(s.dot[:len(numbers)], numbers, s.w)
	for i, row := range numbers {
		a := s.dot[i] + s.common.Bias - float64(targets[row])
		square := float64(float64(a*a) * (rows.Squares(row) + 1))
		factor, ok := models.ClipFactor(math.Sqrt(square+float64(m.slack*square)), s.common.Clip)
		if !ok {
			factor = math.NaN()
		}
		s.factor[i], s.step[i] = factor, factor*a
	}
}

// leastNorm is the clipping norm of LogisticSteps for automatic clipping. Norms that are smaller count as this one.
const leastNorm = 1e-100

// clipAutomatically replaces the factors of the first n rows by those of models.AutomaticFactor. The factors are
// min(1, c/(‖g‖·ClipMargin)) for c = leastNorm, so c/factor is at least ‖g‖·ClipMargin, up to a relative 2^-52. That and
// the rounding of products here are far less than what ClipMargin adds. A NaN remains.
func (s *scratch) clipAutomatically(n int, clip float64) {
	for i, factor := range s.factor[:n] {
		automatic := clip / (leastNorm/factor + models.AutomaticGamma)
		s.step[i] *= automatic / factor
		s.factor[i] = automatic
	}
}

// diverged returns the error for the first of the rows in numbers whose gradient has no finite
// norm.
func diverged(numbers []int32, s *scratch) error {
	i := slices.IndexFunc(s.factor[:len(numbers)], math.IsNaN)
	return &data.RecordError{Row: int(numbers[i]), Err: models.ErrDiverged}
}

// factorGrid has the unit 2^-30, so that MaxSample factors are summed exactly.
var factorGrid = models.NewGrid(0x1p-4)

// addDense adds one example's whole gradient. Each coordinate is rounded to the grid.
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

// Loss returns the mean loss of the examples in b at params, including the ridge penalty and any class weights.
// scratch is working memory from NewScratch.
func (m *Model) Loss(params []float32, b data.Batch, scratch models.Scratch) float64 {
	total := 0.0
	for i, z := range m.logits(params, b, scratch) {
		if m.linear {
			residual := z - float64(b.Data.Targets.Value[b.Rows[i]])
			total += residual * residual / 2
			continue
		}
		// ln(1+e^{-z}) + (1-y)z, without overflow for either sign of z.
		loss := max(z, 0) - float64(float64(b.Label(i))*z) + math.Log1p(math.Exp(-math.Abs(z)))
		if m.weights != nil {
			loss *= m.weights[b.Label(i)]
		}
		total += loss
	}
	return total/float64(b.Len()) + m.lambda/2*f32.SumSquares(params)
}

// Predict sets labels[i] to the class that the model with the parameters params predicts for example i of b: class 1
// if its logit z is above 0, and otherwise class 0. For linear regression, which has no classes, it always predicts
// 0: use models.Predictions. scratch is working memory from NewScratch.
func (m *Model) Predict(labels []int32, params []float32, b data.Batch, scratch models.Scratch) {
	for i, z := range m.logits(params, b, scratch) {
		labels[i] = 0
		if z > 0 && !m.linear {
			labels[i] = 1
		}
	}
}

// Logits writes the logits (scores before softmax) of each example in b, with the parameters params, to out, one
// example after another: 0 for class 0, and for class 1 the logit z, the inner product of weights and features plus
// the bias. For linear regression it writes only one number for each example, its prediction z. scratch is working
// memory from NewScratch. See [models.Scorer].
func (m *Model) Logits(out []float64, params []float32, b data.Batch, scratch models.Scratch) {
	for i, z := range m.logits(params, b, scratch) {
		if m.linear {
			out[i] = z
			continue
		}
		out[2*i], out[2*i+1] = 0, z
	}
}

// Layers returns a description of the model as one dense layer, for exports to other file formats: see
// [models.Layered].
func (m *Model) Layers() []models.Layer {
	return []models.Layer{models.NewLayer(0, "dense", 1, m.features)}
}
