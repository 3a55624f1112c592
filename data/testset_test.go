package data_test

import (
	"slices"
	"strings"
	"testing"

	"proactivedp/data"
)

// The test set gets the form of the training set (dense or sparse), whichever form it had.
func TestWithTest(t *testing.T) {
	dense := func() *data.Dataset {
		d := &data.Dataset{Name: "dense", Classes: 2, Label: []int32{1, 0}}
		return d.WithDense(3, []float32{1, 0, 2, 0, 0, 3})
	}
	sparse := func() *data.Dataset {
		return &data.Dataset{Name: "sparse", Features: 3, Classes: 2, Label: []int32{1, 0}, Start: []int{0, 2, 3}, Index: []int32{0, 2, 2},
			Value: []float32{1, 2, 3}}
	}
	for name, c := range map[string]struct {
		train, test *data.Dataset
		want        []float32
	}{
		"dense, sparse":  {dense(), sparse(), []float32{1, 0, 2, 0, 0, 3, 1, 0, 2, 0, 0, 3}},
		"dense, dense":   {dense(), dense(), []float32{1, 0, 2, 0, 0, 3, 1, 0, 2, 0, 0, 3}},
		"sparse, dense":  {sparse(), dense(), []float32{1, 2, 3, 1, 2, 3}},
		"sparse, sparse": {sparse(), sparse(), []float32{1, 2, 3, 1, 2, 3}},
	} {
		d, err := c.train.WithTest(c.test)
		if err != nil || d.Validate() != nil || d.Train != 2 || !slices.Equal(d.Value, c.want) || !slices.Equal(d.Label, []int32{1, 0, 1, 0}) {
			t.Errorf("%s: %+v, %v, %v", name, d, err, d.Validate())
		}
	}
	b := data.TargetBounds{Low: 0, High: 8}
	with, err := dense().WithTargets(b, []float64{4, 8})
	if err != nil {
		t.Fatal(err)
	}
	other, err := sparse().WithTargets(b, []float64{0, 4})
	if err != nil {
		t.Fatal(err)
	}
	if d, err := with.WithTest(other); err != nil || d.Validate() != nil || !slices.Equal(d.Targets.Value, []float32{0, 1, -1, 0}) {
		t.Errorf("targets: %+v, %v", d, err)
	}
	far, err := sparse().WithTargets(data.TargetBounds{Low: 0, High: 9}, []float64{0, 4})
	if err != nil {
		t.Fatal(err)
	}
	pictures := func(side int) *data.Dataset {
		return &data.Dataset{Name: "pictures", Features: side * side, Classes: 2, Label: []int32{0}, Images: &data.Images{Channels: 1, Height: side,
			Width: side, Pixels: make([]byte, side*side), Mean: []float32{0}, Std: []float32{1}}}
	}
	if d, err := pictures(2).WithTest(pictures(2)); err != nil || d.Validate() != nil || len(d.Images.Pixels) != 8 {
		t.Errorf("images: %+v, %v", d, err)
	}
	wide, named, parted, person := dense(), dense(), dense(), dense()
	wide.Classes, named.Names, parted.Train, person.Person = 3, []string{"no", "yes"}, 1, make([]data.PersonKey, 2)
	for want, test := range map[string]*data.Dataset{
		"has 1×2×2 pixels, must have the 3 features of dense":    pictures(2),
		"has 2 features, must have the 3 features of dense":      dense().WithDense(2, make([]float32, 4)),
		"dense has a test set":                                   parted,
		"dense has persons":                                      person,
		"one of dense and its test set sparse has labels":        far,
		"the test set dense has 3 classes [], must have the 2":   wide,
		`has 2 classes ["no" "yes"], must have the 2 classes []`: named,
	} {
		if _, err := dense().WithTest(test); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, must say %q", err, want)
		}
	}
	if _, err := with.WithTest(far); err == nil || !strings.Contains(err.Error(), "has targets in 0,9, must be in 0,8 as in") {
		t.Errorf("targets with other bounds: %v", err)
	}
	one, two := dense(), dense()
	one.Columns, two.Columns = []string{"a", "b", "c"}, []string{"a", "c", "b"}
	if _, err := one.WithTest(two); err == nil || !strings.Contains(err.Error(), `feature 2 of the test set dense is "c", must be "b" as in`) {
		t.Errorf("columns in another order: %v", err)
	}
}
