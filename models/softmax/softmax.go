// Package softmax has multi-class logistic regression (softmax regression), on rows of features, sparse or dense, and
// on the pixels of images. With image features that are not trained (package data/hog), it is well suited for a small
// privacy budget: it has few parameters, so little noise is added in total (F. Tramèr and D. Boneh, "Differentially
// Private Learning Needs Better Features (or Much More Data)", ICLR 2021, arXiv 2011.11660). It is not a model of the
// paper, which uses logistic regression for two classes and networks for more.
//
// One example's objective is the cross-entropy
//
//	f(w; x, y) = ln Σ_k e^{z_k} − z_y,  z_k = w_kᵀx + b_k,
//
// with y in {0, …, classes−1}. Its gradient is the outer product (p − e_y) ⊗ (x, 1) with p = softmax(z). Here e_y is
// the vector with 1 at y and 0 elsewhere. So the norm of the gradient is ‖p − e_y‖·√(‖x‖² + 1), which can be computed
// without storing the gradient.
package softmax

import (
	"fmt"
	"math"
	"slices"

	"proactivedp/data"
	"proactivedp/internal/f32"
	"proactivedp/models"
	"proactivedp/rng"
)

// Model is softmax regression with a fixed number of features. Its parameters are the weights
// [class][feature], then the biases [class].
type Model struct {
	features, classes int
	shade             float64
	slack             float64         // relative error of a computed norm, see New
	weights           []float64       // of the loss, by class; nil means 1
	automatic         bool            // see models.AutomaticClipper
	rows              models.RowCache // of data sets without images
}

var _ interface {
	models.Bounded
	models.Checker
	models.Layered
	models.Scorer
	models.AutomaticClipper
	models.Weightable
} = (*Model)(nil)

// maxParams bounds the number of parameters such that models.GridError is below models.MaxShade.
const maxParams = 1 << 32

// New returns softmax regression for rows or images with the given number of features (columns or pixels), at least
// 1, in at least 2 classes. It has classes·(features+1) parameters. More than 2^32 are an error.
func New(features, classes int) (*Model, error) {
	switch {
	case features < 1:
		return nil, fmt.Errorf("features = %d, must be at least 1", features)
	case classes < 2:
		return nil, fmt.Errorf("classes = %d, must be at least 2", classes)
	case features >= maxParams/classes:
		return nil, fmt.Errorf("%d features in %d classes need more than 2^32 parameters", features, classes)
	}
	return &Model{
		features: features, classes: classes,
		shade: models.GridError(classes*(features+1)) + 0x1p-23,
		// With u = 2^-53, sums of n squares in float64 have a relative error of at most n·u in any
		// order, and the rest of a norm less than 8u.
		slack: float64(classes+features+16) * 0x1p-53,
	}, nil
}

// WithClassWeights returns a model like m in which the loss of an example is multiplied by the weight of its class;
// weights has one for each class. See [models.Weightable].
func (m *Model) WithClassWeights(weights []float64) (models.Model, error) {
	if err := models.CheckClassWeights(weights, m.classes); err != nil {
		return nil, err
	}
	weighted, err := New(m.features, m.classes)
	if err != nil {
		return nil, err
	}
	weighted.weights, weighted.automatic = slices.Clone(weights), m.automatic
	weighted.slack += 4 * 0x1p-53 // a factor is rounded in a number and in its square
	return weighted, nil
}

// WithAutomaticClipping returns a model like m that scales every gradient to about the clipping norm, also a short
// one: see [models.AutomaticClipper].
func (m *Model) WithAutomaticClipping() models.Model {
	return &Model{features: m.features, classes: m.classes, shade: m.shade, slack: m.slack, weights: m.weights, automatic: true}
}

// ClipsAutomatically reports whether m came from [Model.WithAutomaticClipping].
func (m *Model) ClipsAutomatically() bool { return m.automatic }

// Check returns nil if the model can be trained on d, and otherwise an error. d must have rows or images with at most
// as many features (columns or pixels) as the model, and exactly as many classes.
func (m *Model) Check(d *data.Dataset) error {
	if d.Targets != nil {
		return fmt.Errorf("the model needs classes, %q has targets", d.Name)
	}
	if d.Features > m.features || d.Classes != m.classes {
		return fmt.Errorf("the model needs at most %d features in %d classes: %q has %s in %d",
			m.features, m.classes, d.Name, d.Shape(), d.Classes)
	}
	return nil
}

// Name returns "softmax", the name of the model on the command line.
func (m *Model) Name() string { return "softmax" }

// NumParams returns the number of parameters, classes·(features+1): for each class one weight for each feature, and a
// bias.
func (m *Model) NumParams() int { return m.classes * (m.features + 1) }

// Init sets params to zero. Nothing is random.
func (m *Model) Init(params []float32, _ *rng.Stream) { clear(params) }

// weights returns the weights of class k in a vector of the model's length.
func weights[T any](m *Model, params []T, k int) []T { return params[k*m.features:][:m.features] }

// biases returns the biases in a vector of the model's length.
func biases[T any](m *Model, params []T) []T { return params[m.classes*m.features:][:m.classes] }

// block is the largest number of examples that are computed at a time.
const block = 64

// rowsAtOnce returns the number of examples that are computed at a time. Their rows are read twice,
// for the logits and for the sum, and should still be in the second-level cache. A block also loads
// and stores the sum, so it should not be too small.
func rowsAtOnce(columns int) int {
	const floats, least = 1 << 17, 16
	return max(least, min(block, floats/columns/4*4))
}

// scratch is the model's working memory. columns is the number of columns of a stored row.
type scratch struct {
	wide   []float64 // for ClippedGradSum; nil until it is needed
	w, sum []float64 // weights, and sums of rows: [class][columns]
	z      []float64 // [class][example] of a block: the logits, then their exponentials, then the residuals
	n      int       // the number of examples in z
	set    bySet
	pixels pixels
}

// NewScratch returns working memory for the methods of the model. Each goroutine needs its own.
func (m *Model) NewScratch() models.Scratch { return &scratch{z: make([]float64, m.classes*block)} }

func (m *Model) prepare(s *scratch, params []float32, d *data.Dataset) rows {
	var x rows
	if d.Images != nil {
		s.pixels.of(d.Images)
		x = &s.pixels
	} else {
		s.set.set = m.rows.Of(d)
		x = &s.set
	}
	n := x.columns()
	if m.classes*n > cap(s.w) {
		s.w, s.sum = make([]float64, m.classes*n), make([]float64, m.classes*n)
	}
	s.w, s.sum = s.w[:m.classes*n], s.sum[:m.classes*n]
	clear(s.w)
	for k := range m.classes {
		f32.AxpyWide(1, weights(m, params, k)[:d.Features], s.w[k*n:][:d.Features])
	}
	return x
}

// end drops the reference to the batch.
func (s *scratch) end() { s.set.numbers = nil }

// logits sets s.z to the logits of a block of rows.
func (m *Model) logits(s *scratch, params []float32, x rows, numbers []int32) {
	s.n = len(numbers)
	s.z = s.z[:m.classes*s.n]
	x.load(numbers)
	x.dots(s.z, s.w)
	for k, b := range biases(m, params) {
		z := s.z[k*s.n:][:s.n]
		for i := range z {
			z[i] += float64(b)
		}
	}
}

// exponentials replaces the logits in s.z with e^(z − the example's largest logit).
func (s *scratch) exponentials() {
	var most [block]float64
	largest := most[:s.n]
	copy(largest, s.z)
	for z := s.z[s.n:]; len(z) > 0; z = z[s.n:] {
		for i := range largest {
			largest[i] = max(largest[i], z[i])
		}
	}
	for z := s.z; len(z) > 0; z = z[s.n:] {
		for i, v := range largest {
			z[i] -= v
		}
	}
	f32.ExpWide(s.z[:(len(s.z)+f32.WideLanes-1)/f32.WideLanes*f32.WideLanes])
}

// residual replaces an example's s.z, which is e^z times a common factor, with a = p − e_y and
// returns ‖a‖². The true class's element is minus the sum of the others, which is accurate if p_y
// is near 1.
func (s *scratch) residual(i int, y int32) float64 {
	total := 0.0
	for at := i; at < len(s.z); at += s.n {
		total += s.z[at]
	}
	others, norm2, own := 0.0, 0.0, i+int(y)*s.n
	for at := i; at < len(s.z); at += s.n {
		if at != own {
			p := s.z[at] / total
			s.z[at] = p
			others += p
			norm2 += float64(p * p)
		}
	}
	s.z[own] = -others
	return norm2 + float64(others*others)
}

// ClippedGradSum sets sum, of length NumParams, to the sum of the gradients of the examples in b at params, each
// clipped to the norm clip, in float32: see [models.Model]. s is working memory from NewScratch.
func (m *Model) ClippedGradSum(sum, params []float32, b data.Batch, clip float64, s models.Scratch) error {
	own := s.(*scratch)
	if own.wide == nil {
		own.wide = make([]float64, m.NumParams())
	}
	return models.Narrow(m, sum[:m.NumParams()], own.wide, params, b, clip, own)
}

// Shade returns a bound on the rounding errors of a sum of clipped gradients, as a fraction of the clipping norm C.
// Gradients are clipped to a norm that is smaller by this fraction, so that one record changes the computed sum by at
// most C: see [models.Bounded].
//
// All additions are exact, because coordinates are first rounded to multiples of one small unit, that of a
// [models.Grid], and none exceeds C. Only two errors remain. The first is this rounding. The second is that the clip
// factor and products with it are rounded to float64, with a relative error below 2^-50.
func (m *Model) Shade() float64 { return m.shade }

// WideGradSum does the same as [Model.ClippedGradSum] with these arguments, but sum is in float64, with a proven
// bound on rounding errors: see [models.Bounded]. given is working memory from NewScratch.
func (m *Model) WideGradSum(sum []float64, params []float32, b data.Batch, clip float64, given models.Scratch) error {
	if err := models.CheckSample(b); err != nil {
		return err
	}
	if !(clip > 0) { // a NaN would clip nothing
		return fmt.Errorf("clipping norm = %v, must be above 0", clip)
	}
	sum, params = sum[:m.NumParams()], params[:m.NumParams()]
	clear(sum)
	if b.Len() == 0 {
		return nil
	}
	if !(f32.SumSquares(params) <= math.MaxFloat64) { // so that logits are finite
		return fmt.Errorf("parameters: %w", models.ErrDiverged)
	}
	s := given.(*scratch)
	x := m.prepare(s, params, b.Data)
	defer s.end()
	clear(s.sum)
	clip /= 1 + m.shade
	clipFactor := models.ClipFactor
	if m.automatic && !math.IsInf(clip, 1) {
		clipFactor = models.AutomaticFactor
	}
	grid, columns, biases := models.NewGrid(clip), x.columns(), biases(m, sum)
	for numbers := range slices.Chunk(b.Rows, rowsAtOnce(columns)) {
		m.logits(s, params, x, numbers)
		s.exponentials()
		for i, row := range numbers {
			a2 := s.residual(i, b.Data.Label[row])
			if m.weights != nil {
				weight := m.weights[b.Data.Label[row]]
				for at := i; at < len(s.z); at += s.n {
					s.z[at] *= weight
				}
				a2 *= float64(weight * weight)
			}
			factor, ok := clipFactor(math.Sqrt(float64(a2*(x.square(i)+1)))*(1+m.slack), clip)
			if !ok {
				return &data.RecordError{Row: int(row), Err: models.ErrDiverged}
			}
			for k := range biases {
				at := k*s.n + i
				s.z[at] *= factor
				biases[k] += grid.Round(s.z[at])
			}
		}
		x.addTo(s.sum, s.z, grid)
	}
	for k := range m.classes {
		copy(weights(m, sum, k), s.sum[k*columns:][:b.Data.Features])
	}
	return nil
}

// blocks calls f for every block of the batch with the place where it begins. s.z then has the
// block's logits.
func (m *Model) blocks(s *scratch, params []float32, b data.Batch, f func(from int)) {
	x := m.prepare(s, params, b.Data)
	defer s.end()
	from := 0
	for numbers := range slices.Chunk(b.Rows, rowsAtOnce(x.columns())) {
		m.logits(s, params, x, numbers)
		f(from)
		from += len(numbers)
	}
}

// Loss returns the mean cross-entropy of the examples in b at params, each multiplied by the weight of its class if
// there are class weights. given is working memory from NewScratch.
func (m *Model) Loss(params []float32, b data.Batch, given models.Scratch) float64 {
	s, total := given.(*scratch), 0.0
	var own [block]float64
	m.blocks(s, params, b, func(from int) {
		for i := range s.n {
			own[i] = math.Inf(-1) // the logit of the example's label minus the largest
			for at := i; at < len(s.z); at += s.n {
				own[i] = max(own[i], s.z[at])
			}
			own[i] -= s.z[int(b.Label(from+i))*s.n+i]
		}
		s.exponentials()
		for i := range s.n {
			sum := 0.0
			for at := i; at < len(s.z); at += s.n {
				sum += s.z[at]
			}
			loss := math.Log(sum) + own[i]
			if m.weights != nil {
				loss *= m.weights[b.Label(from+i)]
			}
			total += loss
		}
	})
	return total / float64(b.Len())
}

// Predict sets labels[i] to the class with the largest logit for example i of b, with the parameters params, or to
// the first such class if several logits are equal. given is working memory from NewScratch.
func (m *Model) Predict(labels []int32, params []float32, b data.Batch, given models.Scratch) {
	s := given.(*scratch)
	m.blocks(s, params, b, func(from int) {
		for i := range s.n {
			best := 0
			for k := range m.classes {
				if s.z[k*s.n+i] > s.z[best*s.n+i] {
					best = k
				}
			}
			labels[from+i] = int32(best)
		}
	})
}

// Logits sets out[i·K+k] to the logit (score before softmax) of class k for example i of b, with the parameters
// params. K is the model's number of classes, which must be that of the data set, because callers of a [models.Scorer]
// use the data set's number as K. given is working memory from NewScratch.
func (m *Model) Logits(out []float64, params []float32, b data.Batch, given models.Scratch) {
	s := given.(*scratch)
	m.blocks(s, params, b, func(from int) {
		for i := range s.n {
			for k := range m.classes {
				out[(from+i)*m.classes+k] = s.z[k*s.n+i]
			}
		}
	})
}

// Layers returns a description of the model as one dense layer, for exports to other file formats: see
// [models.Layered].
func (m *Model) Layers() []models.Layer {
	return []models.Layer{models.NewLayer(0, "dense", m.classes, m.features)}
}
