package logreg_test

import (
	"fmt"
	"math"
	"testing"

	"proactivedp/data"
	"proactivedp/models/logreg"
	"proactivedp/models/modeltest"
	"proactivedp/models/softmax"
)

// targeted draws a sparse data set with targets.
func targeted(t *testing.T, n, features int) *data.Dataset {
	t.Helper()
	d := rows(n, features)
	values := make([]float64, n)
	for i := range values {
		values[i] = float64(i*i%23) - 3 // some are outside the bounds
	}
	d, err := d.WithTargets(data.TargetBounds{Low: 0, High: 16}, values)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestLinearConforms(t *testing.T) {
	d := targeted(t, 400, 23)
	if err := d.Validate(); err != nil {
		t.Fatal(err)
	}
	m, err := logreg.NewLinear(d.Features)
	if err != nil {
		t.Fatal(err)
	}
	modeltest.Conform(t, modeltest.Case{Model: m, Data: d, GradTolerance: 2e-4})
}

// The gradient by hand is (z − t)·x̄. With targets 0 and 8 in [0, 16], t is −1 and 0.
func TestLinearGradient(t *testing.T) {
	d := &data.Dataset{Features: 3, Classes: 1, Label: []int32{0, 0}, Start: []int{0, 2, 3}, Index: []int32{0, 2, 1},
		Value: []float32{2, -4, 6}}
	d, err := d.WithTargets(data.TargetBounds{Low: 0, High: 16}, []float64{-5, 8})
	if err != nil {
		t.Fatal(err)
	}
	m, err := logreg.NewLinear(3)
	if err != nil {
		t.Fatal(err)
	}
	g, all := make([]float32, 4), data.Batch{Data: d, Rows: []int32{0, 1}}
	if err := m.ClippedGradSum(g, []float32{1, 0.5, 0, -1}, all, math.Inf(1), nil); err != nil {
		t.Fatal(err)
	}
	// Example 0: z = 1, a = 2. Example 1: z = 2, a = 2.
	if got, want := fmt.Sprint(g), "[4 12 -8 4]"; got != want {
		t.Errorf("gradient %s, want %s", got, want)
	}
	if got := m.Loss([]float32{1, 0.5, 0, -1}, all, nil); got != 2 {
		t.Errorf("loss %v, want 2", got)
	}
}

// The attack of TestCraftedRecordsMoveTheSumByC on linear regression: at 0 the gradient of a target at a bound
// is ±x̄.
func TestCraftedTargetsMoveTheSumByC(t *testing.T) {
	d := attackRows(8570, 4096)
	values := make([]float64, d.Len())
	for i, l := range d.Label {
		values[i] = float64(l)
		d.Value[i] /= 2
	}
	d, err := d.WithTargets(data.TargetBounds{Low: 0, High: 1}, values)
	if err != nil {
		t.Fatal(err)
	}
	m, err := logreg.NewLinear(1)
	if err != nil {
		t.Fatal(err)
	}
	for _, clip := range []float64{math.Hypot(1024, 1) * (1 + 0x1p-12), 100, 1e-3} {
		w := []float32{0, 0}
		all := sumOf(t, m, w, d, clip, -1)
		for _, without := range []int{0, 4096, d.Len() - 1} {
			if by := moved(all, sumOf(t, m, w, d, clip, without)) / clip; by > 1 {
				t.Errorf("C = %.4g: without record %d the sum moves by %.9g·C", clip, without, by)
			}
		}
	}
}

// Targets are given to no classifier, and classes to no regression.
func TestTargetsAndClassesAreNotMixed(t *testing.T) {
	classes, targets := rows(40, 5), targeted(t, 40, 5)
	linear, err := logreg.NewLinear(5)
	if err != nil {
		t.Fatal(err)
	}
	if linear.Check(classes) == nil || linear.Check(targets) != nil {
		t.Errorf("linear: classes %v, targets %v", linear.Check(classes), linear.Check(targets))
	}
	for _, m := range both(t, 5) {
		if m.Check(targets) == nil {
			t.Errorf("%s takes targets", m.Name())
		}
	}
	s, err := softmax.New(5, 2)
	if err != nil {
		t.Fatal(err)
	}
	if s.Check(targets) == nil {
		t.Error("softmax takes targets")
	}
	if _, err := linear.WithClassWeights([]float64{1}); err == nil {
		t.Error("linear takes class weights")
	}
}
