// Package modeltest tests whether a custom model satisfies the contract of models.Model. Call Conform in a test of
// the model, with a data set on which it can be trained.
//
//	func TestConform(t *testing.T) {
//		modeltest.Conform(t, modeltest.Case{Model: own, Data: d, GradTolerance: 2e-3})
//	}
package modeltest

import (
	"errors"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"
	"weak"

	"proactivedp/data"
	"proactivedp/internal/f32"
	"proactivedp/models"
	"proactivedp/rng"
)

// Case is a model together with a data set on which [Conform] tests it.
type Case struct {
	Model models.Model
	Data  *data.Dataset // must have at least 40 rows
	// GradTolerance is the allowed relative error between the gradient and a central difference of the loss, and
	// between the gradient sum of a batch and the sum over its examples one by one. With float32 parameters, about
	// 1e-3 is the best possible.
	GradTolerance float64
	// Exact is usually nil. If Model rounds coarsely, for example with nn.BF16, set Exact to a model with the same
	// parameters that computes products more exactly. Gradients are then compared with the loss of Exact, and each
	// coordinate of a clipped gradient may be off by 1 % of the gradient's norm after clipping.
	Exact models.Model

	oneClass bool           // whether only the machine's default kernels are attacked
	passing  bool           // whether the kernels in use are not the machine's default
	scratch  models.Scratch // shared by all tests, because earlier use must not change results
}

// Conform tests whether c.Model satisfies the contract of models.Model, for example that no example adds more than
// the clipping norm. It runs a subtest for every part of the contract, also for the optional interfaces that the
// model has. Call it in the tests of a custom model.
func Conform(t *testing.T, c Case) {
	t.Helper()
	c.scratch = c.Model.NewScratch()
	c.oneClass = c.Exact != nil // other kernels give the same bits of bfloat16, but slowly
	t.Run("FiniteDifferences", c.finiteDifferences)
	t.Run("SumOfExamplesIsBatch", c.sumOfExamples)
	t.Run("ClipBoundHoldsForEveryExample", c.clipBound)
	t.Run("ClippingKeepsDirection", c.clipDirection)
	t.Run("Deterministic", c.deterministic)
	t.Run("NoAliasing", c.noAliasing)
	t.Run("KeepsNothing", c.keepsNothing)
	t.Run("EmptyBatchIsZero", c.emptyBatch)
	t.Run("NoAllocation", c.noAllocation)
	t.Run("DivergenceIsAnError", c.divergence)
	t.Run("PredictsItsClasses", c.predicts)
	t.Run("SensitivityOfTheSumAsComputed", c.sensitivity)
	t.Run("SameBitsInAnyOrder", c.sameBits)
	t.Run("LayersHaveAllParameters", c.layers)
	if _, ok := c.Model.(models.AutomaticClipper); ok && !models.ClipsAutomatically(c.Model) {
		t.Run("AutomaticClipping", c.automatic)
	}
}

// automatic tests the model with automatic clipping: the same bound of every example and the same sensitivity, and
// gradients of the norm C·‖g‖/(‖g‖ + γ). Without clipping it is the same model.
func (c Case) automatic(t *testing.T) {
	plain := c.Model.(models.AutomaticClipper)
	b, p := c.batch(33), c.points()[1]
	want := c.grad(t, p, b, math.Inf(1))
	c.Model = plain.WithAutomaticClipping()
	c.scratch = c.Model.NewScratch()
	if !models.ClipsAutomatically(c.Model) || models.ClipsAutomatically(plain) || c.Model.Name() != plain.Name() {
		t.Error("WithAutomaticClipping must return another model of the same name, which clips automatically")
	}
	if got := c.grad(t, p, b, math.Inf(1)); !slices.Equal(got, want) {
		t.Error("without clipping, the sums differ")
	}
	t.Run("SumOfExamplesIsBatch", c.sumOfExamples)
	t.Run("ClipBoundHoldsForEveryExample", c.clipBound)
	t.Run("ClippingKeepsDirection", c.clipDirection)
	c.oneClass = c.oneClass || c.Model.NumParams() > fewParams // the kernels add the same vectors as with other clipping
	t.Run("SensitivityOfTheSumAsComputed", c.sensitivity)
	t.Run("SameBitsInAnyOrder", c.sameBits)
}

// layers checks that the tensors of a model that describes its layers are all of its parameters.
func (c Case) layers(t *testing.T) {
	m, ok := c.Model.(models.Layered)
	if !ok {
		return
	}
	size, names := 0, map[string]bool{}
	for _, l := range m.Layers() {
		if l.Weight == nil {
			continue
		}
		size += l.Weight.Size() + l.Bias.Size()
		names[l.Weight.Name], names[l.Bias.Name] = true, true
		if l.Weight.Shape[0] != l.Bias.Size() {
			t.Errorf("%s: %d outputs of the weights, %d biases", l.Name, l.Weight.Shape[0], l.Bias.Size())
		}
	}
	if size != m.NumParams() || len(names) == 0 || len(names)%2 != 0 {
		t.Errorf("%d parameters in %d tensors, want %d", size, len(names), m.NumParams())
	}
}

// points returns the parameter vectors for the tests: the initial one, and two random ones of
// moderate and of large size.
func (c Case) points() [][]float32 {
	d := c.Model.NumParams()
	out := make([][]float32, 3)
	for i, scale := range []float64{0, 0.3, 5} {
		p := make([]float32, d)
		c.Model.Init(p, rng.New(1).Stream(rng.Init, 0, 0))
		f32.AddNormal(p, scale, rng.New(2).Stream(rng.Init, 1, i))
		out[i] = p
	}
	return out
}

func (c Case) batch(n int) data.Batch {
	rows := make([]int32, n)
	s := rng.New(3).Stream(rng.Sampling, 0, n)
	for i := range rows {
		rows[i] = int32(s.IntN(c.Data.Len()))
	}
	return data.Batch{Data: c.Data, Rows: rows}
}

func (c Case) grad(t *testing.T, params []float32, b data.Batch, clip float64) []float32 {
	t.Helper()
	g := make([]float32, c.Model.NumParams())
	for i := range g {
		g[i] = float32(math.NaN()) // a NaN remains where nothing is written
	}
	if err := c.Model.ClippedGradSum(g, params, b, clip, c.scratch); err != nil {
		t.Fatalf("ClippedGradSum: %v", err)
	}
	return g
}

func norm(x []float32) float64 {
	s := 0.0
	for _, v := range x {
		s += float64(v) * float64(v)
	}
	return math.Sqrt(s)
}

func (c Case) finiteDifferences(t *testing.T) {
	b, m := c.batch(20), c.Model
	if c.Exact != nil {
		m = c.Exact
	}
	scratch := m.NewScratch()
	for pi, p := range c.points() {
		g := c.grad(t, p, b, math.Inf(1))
		d := len(p)
		// Compare derivatives along a few coordinates and a few random directions.
		s := rng.New(4).Stream(rng.Init, 0, pi)
		for trial := range 24 {
			dir := make([]float32, d)
			if trial < 12 {
				dir[s.IntN(d)] = 1
			} else {
				f32.AddNormal(dir, 1/math.Sqrt(float64(d)), s)
			}
			const h = 1e-2
			at := func(sign float64) float64 {
				q := make([]float32, d)
				for i := range q {
					q[i] = float32(float64(p[i]) + sign*h*float64(dir[i]))
				}
				return m.Loss(q, b, scratch) * float64(b.Len())
			}
			want := (at(1) - at(-1)) / (2 * h)
			got := 0.0
			for i := range g {
				got += float64(g[i]) * float64(dir[i])
			}
			if tol := c.GradTolerance * (1 + norm(g)); math.Abs(got-want) > tol {
				t.Errorf("point %d, direction %d: gradient gives slope %.6g, the loss %.6g (tolerance %.2g)", pi, trial,
					got, want, tol)
			}
		}
	}
}

// skips reports whether to skip a combination of parameters, clipping norms and examples, where sum is the sum of
// their numbers. Of those of a large model it keeps every third, and each value is among them.
func (c Case) skips(sum int) bool { return c.Model.NumParams() > fewParams && sum%3 != 0 }

func (c Case) sumOfExamples(t *testing.T) {
	b := c.batch(33)
	for pi, p := range c.points() {
		for ki, clip := range []float64{math.Inf(1), 0.5, 1e-3} {
			if c.skips(pi + ki) {
				continue
			}
			whole := c.grad(t, p, b, clip)
			sum := make([]float64, len(whole))
			for i := range b.Rows {
				for j, v := range c.grad(t, p, data.Batch{Data: b.Data, Rows: b.Rows[i : i+1]}, clip) {
					sum[j] += float64(v)
				}
			}
			tol := 1e-5 * (float64(b.Len())*min(clip, 1) + norm(whole))
			for j := range sum {
				if diff := math.Abs(sum[j] - float64(whole[j])); diff > tol {
					t.Fatalf("point %d, clip %v, coordinate %d: batch %v, sum of examples %v", pi, clip, j, whole[j],
						sum[j])
				}
			}
		}
	}
}

func (c Case) clipBound(t *testing.T) {
	for pi, p := range c.points() {
		for ki, clip := range []float64{10, 0.1, 1e-6} {
			for i := range min(c.Data.Len(), 300) {
				if c.skips(pi + ki + i) {
					continue
				}
				b := data.Batch{Data: c.Data, Rows: []int32{int32(i)}}
				if n := norm(c.grad(t, p, b, clip)); n > clip {
					t.Fatalf("point %d, example %d: norm %.9g above clip %v", pi, i, n, clip)
				}
			}
		}
	}
}

// clipDirection tests that a clipped gradient has the direction of the gradient and the norm C. It
// allows a relative error of twice the model's Shade, because norms may be upper bounds. Automatic clipping gives the
// norm C·n/(n + γ) instead.
func (c Case) clipDirection(t *testing.T) {
	tolerance, automatic := 1e-5, models.ClipsAutomatically(c.Model)
	if m, ok := c.Model.(models.Bounded); ok {
		tolerance += 2 * m.Shade()
	}
	if c.Exact != nil {
		tolerance = 0.01
	}
	for pi, p := range c.points() {
		for i := range 40 {
			if c.skips(pi + i) {
				continue
			}
			b := data.Batch{Data: c.Data, Rows: []int32{int32(i)}}
			raw := c.grad(t, p, b, math.Inf(1))
			n := norm(raw)
			for _, clip := range []float64{n * 2, n / 2} {
				if clip == 0 {
					continue
				}
				got := c.grad(t, p, b, clip)
				want := min(1, clip/n)
				if automatic {
					want = clip / (n + models.AutomaticGamma)
				}
				for j := range raw {
					if diff := math.Abs(float64(got[j]) - want*float64(raw[j])); diff > tolerance*min(max(n, want*n), clip) {
						t.Fatalf("point %d, example %d, clip %.4g: coordinate %d is %v, want %v", pi, i, clip, j,
							got[j], want*float64(raw[j]))
					}
				}
			}
		}
	}
}

func (c Case) deterministic(t *testing.T) {
	b := c.batch(30)
	p := c.points()[1]
	first := c.grad(t, p, b, 0.5)
	scratch := c.Model.NewScratch()
	again := make([]float32, len(first))
	for range 3 {
		if err := c.Model.ClippedGradSum(again, p, c.batch(7), 0.1, scratch); err != nil {
			t.Fatal(err)
		}
		if err := c.Model.ClippedGradSum(again, p, b, 0.5, scratch); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(first, again) {
			t.Fatal("the same call gave different bits")
		}
	}
}

func (c Case) noAliasing(t *testing.T) {
	b := c.batch(10)
	p := c.points()[1]
	before, rows := slices.Clone(p), slices.Clone(b.Rows)
	hash := c.Data.Hash()
	scratch := c.Model.NewScratch()
	g := make([]float32, len(p))
	if err := c.Model.ClippedGradSum(g, p, b, 0.5, scratch); err != nil {
		t.Fatal(err)
	}
	kept := slices.Clone(g)
	labels := make([]int32, b.Len())
	c.Model.Predict(labels, p, b, scratch)
	c.Model.Loss(p, b, scratch)
	if err := c.Model.ClippedGradSum(make([]float32, len(p)), c.points()[2], c.batch(12), 0.5, scratch); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(g, kept) {
		t.Error("a later call changed an earlier result")
	}
	if !slices.Equal(p, before) || !slices.Equal(b.Rows, rows) || c.Data.Hash() != hash {
		t.Error("a call changed its inputs")
	}
}

// keepsNothing tests that a scratch does not keep the arguments of a call in memory.
func (c Case) keepsNothing(t *testing.T) {
	scratch := c.Model.NewScratch()
	given := c.call(t, scratch)
	runtime.GC()
	for what, p := range given {
		if p() {
			t.Errorf("%s still in use after the call", what)
		}
	}
	runtime.KeepAlive(scratch)
}

// call calls every method. For each argument, it returns a function that reports whether its memory
// is still in use.
//
// //go:noinline
func (c Case) call(t *testing.T, scratch models.Scratch) map[string]func() bool {
	b, d := c.batch(40), c.Model.NumParams()
	p, sum, u := separate[float32](d), separate[float32](d), separate[float32](d)
	wide, labels := separate[float64](d), separate[int32](b.Len())
	copy(p, c.points()[1])
	err := c.Model.ClippedGradSum(sum, p, b, 0.5, scratch)
	if m, ok := c.Model.(models.Bounded); ok && err == nil {
		err = m.WideGradSum(wide, p, b, 0.5, scratch)
	}
	if m, ok := c.Model.(models.Adder); ok && err == nil {
		err = m.AddGradSum(u, p, b, 0.5, scratch)
	}
	if err != nil {
		t.Fatal(err)
	}
	c.Model.Loss(p, b, scratch)
	c.Model.Predict(labels, p, b, scratch)
	return map[string]func() bool{"the parameters are": inUse(p), "the sum is": inUse(sum),
		"the wide sum is": inUse(wide), "what is added to is": inUse(u), "the batch is": inUse(b.Rows),
		"the labels are": inUse(labels)}
}

// separate returns a slice of n numbers in a separate allocation, because the runtime puts small
// slices into a shared one.
func separate[T any](n int) []T { return make([]T, n, n+64) }

// inUse returns a function that reports whether the memory of x is still reachable.
func inUse[T any](x []T) func() bool {
	p := weak.Make(&x[0])
	return func() bool { return p.Value() != nil }
}

func (c Case) emptyBatch(t *testing.T) {
	for _, p := range c.points() {
		if n := norm(c.grad(t, p, data.Batch{Data: c.Data}, 0.5)); n != 0 {
			t.Errorf("empty batch gives a sum of norm %v", n)
		}
	}
}

func (c Case) noAllocation(t *testing.T) {
	b := c.batch(16)
	p := c.points()[1]
	g, labels, scratch := make([]float32, len(p)), make([]int32, b.Len()), c.Model.NewScratch()
	step := func() {
		if err := c.Model.ClippedGradSum(g, p, b, 0.5, scratch); err != nil {
			t.Fatal(err)
		}
		c.Model.Predict(labels, p, b, scratch)
	}
	step()
	if n := testing.AllocsPerRun(5, step); n != 0 {
		t.Errorf("%v allocations a step, want 0", n)
	}
}

func (c Case) divergence(t *testing.T) {
	for _, bad := range []float64{math.NaN(), math.Inf(1)} {
		p := c.points()[1]
		for i := range p {
			p[i] = float32(bad)
		}
		g := make([]float32, len(p))
		err := c.Model.ClippedGradSum(g, p, c.batch(4), 0.5, c.Model.NewScratch())
		if !errors.Is(err, models.ErrDiverged) {
			t.Errorf("parameters of %v: error %v, want ErrDiverged", bad, err)
		}
		// The error's text appears in logs, so it must reveal neither the record nor its place. The
		// model's name, which may have digits, is public.
		text := strings.ReplaceAll(err.Error(), c.Model.Name(), "")
		if at, ok := errors.AsType[*data.RecordError](err); strings.ContainsAny(text, "0123456789") ||
			ok && !slices.Contains(c.batch(4).Rows, int32(at.Row)) {
			t.Errorf("parameters of %v: error %v (%+v), must have no number in its text, and a record of the batch "+
				"in a data.RecordError, if it is one", bad, err, at)
		}
	}
}

func (c Case) predicts(t *testing.T) {
	b := c.batch(40)
	labels := make([]int32, b.Len())
	c.Model.Predict(labels, c.points()[1], b, c.Model.NewScratch())
	for i, l := range labels {
		if l < 0 || int(l) >= c.Data.Classes {
			t.Errorf("example %d: class %d of %d", i, l, c.Data.Classes)
		}
	}
}
