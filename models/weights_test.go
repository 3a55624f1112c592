package models_test

import (
	"math"
	"strings"
	"testing"

	"proactivedp/data"
	"proactivedp/models"
	"proactivedp/models/logreg"
	"proactivedp/models/modeltest"
	"proactivedp/models/softmax"
	"proactivedp/nn"
	"proactivedp/rng"
)

// weightables returns models of every kind with data of two classes, and of three where they allow it.
func weightables(t *testing.T) map[string]modeltest.Case {
	t.Helper()
	made := func(m models.Model, err error) models.Model {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	ridge, err := logreg.NewRidge(23, 0.01)
	made(ridge, err)
	plain, err := logreg.NewPlain(23)
	made(plain, err)
	soft, err := softmax.New(23, 3)
	made(soft, err)
	net, err := nn.New(nn.Shape{Channels: 1, Height: 6, Width: 6}, nn.Dense{Out: 5}, nn.Tanh{}, nn.Dense{Out: 3})
	if err != nil {
		t.Fatal(err)
	}
	two, _ := modeltest.Rows(t, 200, 23, 2)
	three, _ := modeltest.Rows(t, 200, 23, 3)
	images := modeltest.Images(40, 1, 6, 6, 3)
	return map[string]modeltest.Case{
		"ridge":   {Model: ridge, Data: two, GradTolerance: 1e-3},
		"plain":   {Model: plain, Data: two, GradTolerance: 1e-3},
		"softmax": {Model: soft, Data: three, GradTolerance: 1e-3},
		"network": {Model: models.NewNetwork("small", net), Data: images, GradTolerance: 2e-3},
	}
}

// weightsOf are weights of so many classes.
func weightsOf(classes int) []float64 { return []float64{0.3, 9, 1.7}[:classes] }

func weighted(t *testing.T, c modeltest.Case) models.Model {
	t.Helper()
	m, err := c.Model.(models.Weightable).WithClassWeights(weightsOf(c.Data.Classes))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// A weighted model keeps the contract of every model: its gradient is that of its loss, and one record
// changes the clipped sum by at most C as computed.
func TestWeightedModelsConform(t *testing.T) {
	for name, c := range weightables(t) {
		t.Run(name, func(t *testing.T) {
			c.Model = weighted(t, c)
			modeltest.Conform(t, c)
		})
	}
}

// The unclipped gradient of one record is the weight of its class times the gradient without weights, for
// models without a penalty. Clipped, it has the norm C at most, however large the weight.
func TestWeightsScaleInsideTheClip(t *testing.T) {
	for name, c := range weightables(t) {
		m := weighted(t, c)
		w := weightsOf(c.Data.Classes)
		d := m.NumParams()
		params, one, other := make([]float32, d), make([]float32, d), make([]float32, d)
		m.Init(params, rng.New(3).Stream(rng.Init, 0, 0))
		for row := range int32(20) {
			b := data.Batch{Data: c.Data, Rows: []int32{row}}
			sum := func(m models.Model, out []float32, clip float64) {
				t.Helper()
				if err := m.ClippedGradSum(out, params, b, clip, m.NewScratch()); err != nil {
					t.Fatal(err)
				}
			}
			sum(m, one, math.Inf(1))
			sum(c.Model, other, math.Inf(1))
			weight := w[c.Data.Label[row]]
			for j := range one {
				if want := weight * float64(other[j]); math.Abs(float64(one[j])-want) > 1e-4*(1+math.Abs(want)) {
					t.Fatalf("%s, row %d, parameter %d: %v, want %v", name, row, j, one[j], want)
				}
			}
			for _, clip := range []float64{0.01, 1} {
				sum(m, one, clip)
				norm := 0.0
				for _, x := range one {
					norm += float64(x) * float64(x)
				}
				if norm = math.Sqrt(norm); norm > clip {
					t.Fatalf("%s, row %d: norm %v, must be at most %v", name, row, norm, clip)
				}
			}
		}
	}
}

// Weights of 1 do not change a bit.
func TestWeightsOfOne(t *testing.T) {
	for name, c := range weightables(t) {
		ones := make([]float64, c.Data.Classes)
		for i := range ones {
			ones[i] = 1
		}
		m, err := c.Model.(models.Weightable).WithClassWeights(ones)
		if err != nil {
			t.Fatal(err)
		}
		d := m.NumParams()
		params, one, other := make([]float32, d), make([]float32, d), make([]float32, d)
		m.Init(params, rng.New(3).Stream(rng.Init, 0, 0))
		b := all(c.Data)
		if err := m.ClippedGradSum(one, params, b, 1e3, m.NewScratch()); err != nil {
			t.Fatal(err)
		}
		if err := c.Model.ClippedGradSum(other, params, b, 1e3, c.Model.NewScratch()); err != nil {
			t.Fatal(err)
		}
		for j := range one {
			if one[j] != other[j] {
				t.Fatalf("%s, parameter %d: %v and %v", name, j, one[j], other[j])
			}
		}
	}
}

func TestClassWeightsAreChecked(t *testing.T) {
	for _, bad := range [][]float64{nil, {1}, {1, 2, 3}, {1, 0}, {1, -1}, {1, math.NaN()}, {1, math.Inf(1)}, {1e-4, 1}, {1, 1e4}} {
		c := weightables(t)["plain"]
		if _, err := c.Model.(models.Weightable).WithClassWeights(bad); err == nil ||
			!strings.Contains(err.Error(), "must be") {
			t.Errorf("weights %v: error %v", bad, err)
		}
	}
}
