package models_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"proactivedp/data"
	"proactivedp/models"
	"proactivedp/models/logreg"
)

// The AUC is the share of pairs of two classes in their order, a tie counted half, as the
// statistic of Mann and Whitney counts them one by one.
func TestAUCCountsPairs(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 4))
	m, err := logreg.NewPlain(1)
	if err != nil {
		t.Fatal(err)
	}
	params := []float32{2, -1} // the score is 2x - 1
	for range 200 {
		n := 2 + r.IntN(30)
		rows, labels := make([][]float32, n), make([]int32, n)
		for i := range rows {
			rows[i], labels[i] = []float32{float32(r.IntN(6))}, int32(r.IntN(2))
		}
		labels[0], labels[1] = 0, 1
		d, err := data.FromRows("drawn", rows, labels)
		if err != nil {
			t.Fatal(err)
		}
		order, pairs := 0.0, 0.0
		for i := range rows {
			for j := range rows {
				if labels[i] == 1 && labels[j] == 0 {
					pairs++
					switch x, y := rows[i][0], rows[j][0]; {
					case x > y:
						order++
					case x == y:
						order += 0.5
					}
				}
			}
		}
		got, ok := models.AUC(m, params, all(d), m.NewScratch())
		if want := order / pairs; !ok || math.Abs(got-want) > 1e-12 {
			t.Fatalf("%v with labels %v: AUC %v (%v), want %v", rows, labels, got, ok, want)
		}
	}
}

// Where there are no pairs or no scores there is no AUC.
func TestNoAUC(t *testing.T) {
	m, err := logreg.NewPlain(1)
	if err != nil {
		t.Fatal(err)
	}
	one, err := data.FromRows("one", [][]float32{{1}, {2}}, []int32{1, 1})
	if err != nil {
		t.Fatal(err)
	}
	three, err := data.FromRows("three", [][]float32{{1}, {2}, {3}}, []int32{0, 1, 2})
	if err != nil {
		t.Fatal(err)
	}
	nan := []float32{float32(math.NaN()), 0}
	for name, c := range map[string]struct {
		m      models.Model
		params []float32
		b      data.Batch
	}{
		"no rows":       {m, []float32{1, 0}, data.Batch{Data: one}},
		"one class":     {m, []float32{1, 0}, all(one)},
		"three classes": {m, []float32{1, 0}, all(three)},
		"not a number":  {m, nan, all(one)},
		"no scores":     {struct{ models.Model }{m}, []float32{1, 0}, all(one)},
	} {
		if area, ok := models.AUC(c.m, c.params, c.b, m.NewScratch()); ok {
			t.Errorf("%s: AUC %v", name, area)
		}
	}
}

// all is the whole of a data set.
func all(d *data.Dataset) data.Batch { return d.All().All() }

// Working memory of one's own is used, and nobody needs any.
func TestAccuracyWithoutMemory(t *testing.T) {
	m, err := logreg.NewPlain(1)
	if err != nil {
		t.Fatal(err)
	}
	d, err := data.FromRows("drawn", [][]float32{{1}, {2}, {-1}, {-2}}, []int32{1, 1, 1, 0})
	if err != nil {
		t.Fatal(err)
	}
	labels := make([]int32, 5)
	for _, memory := range [][]int32{nil, labels} {
		if got := models.Accuracy(m, []float32{1, 0}, all(d), m.NewScratch(), memory); got != 0.75 {
			t.Errorf("accuracy %v, must be 0.75", got)
		}
	}
	if want := []int32{1, 1, 0, 0, 0}; !slices.Equal(labels, want) {
		t.Errorf("labels %v, must be %v", labels, want)
	}
}

// No examples have no accuracy, which is 0 as of those that are all labelled wrongly, and no NaN.
func TestAccuracyOfNothing(t *testing.T) {
	m, err := logreg.NewPlain(1)
	if err != nil {
		t.Fatal(err)
	}
	d, err := data.FromRows("drawn", [][]float32{{1}, {2}}, []int32{0, 1})
	if err != nil {
		t.Fatal(err)
	}
	if a := models.Accuracy(m, []float32{1, 0}, data.Batch{Data: d}, m.NewScratch(), nil); a != 0 {
		t.Errorf("accuracy %v, want 0", a)
	}
}
