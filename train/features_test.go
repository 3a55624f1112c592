package train

import (
	"strings"
	"testing"

	"proactivedp/internal/cpu"
	"proactivedp/internal/f32"
)

// A source keeps one large view of its data. Another one replaces it, and the first is computed again when
// it is needed.
func TestOneLargeViewAtATime(t *testing.T) {
	source := NewSource(digits(350))
	a, b := inputs{features: "scatter"}, inputs{features: "hog:4:8"}
	spec := smallLeNet()
	spec.Model, spec.FeatureMap = Softmax, a.features
	p, err := source.Prepare(spec)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := source.shown(b); err != nil || len(source.views) != 2 {
		t.Errorf("%d small views (%v)", len(source.views), err)
	}
	if err := source.makeRoom(mostKept, "another"); err != nil || len(source.views) != 0 || len(source.models) != 0 {
		t.Errorf("%d views and %d models stay (%v)", len(source.views), len(source.models), err)
	}
	again, err := source.Prepare(spec)
	if err != nil || again == p || again.Test.Data == p.Test.Data || again.Test.Data.Value[99] != p.Test.Data.Value[99] {
		t.Errorf("the view is not computed again (%v)", err)
	}
}

// A saved model computes the features of the records that it labels. Its recipe has all options, so that
// the model means the same after a default has changed.
func TestASavedModelHasItsFeatures(t *testing.T) {
	spec := smallLeNet()
	spec.Model, spec.FeatureMap, spec.InputScale = Softmax, "scatter:ridge=0.2", 0.5
	d := digits(350)
	p, err := spec.Prepare(d, nil)
	if err != nil {
		t.Fatal(err)
	}
	r, m := savedOf(t, p, d)
	logits, err := m.Logits(digits(350))
	if err != nil || len(logits) != 3500 || m.Spec.FeatureMap != "scatter:root=no:fold=no:ridge=0.2" {
		t.Errorf("%d logits with %q (%v)", len(logits), m.Spec.FeatureMap, err)
	}
	right := 0
	for i, row := range p.Test.Rows {
		best := 0
		for class, z := range logits[10*row:][:10] {
			if z > logits[10*int(row)+best] {
				best = class
			}
		}
		if int32(best) == p.Test.All().Label(i) {
			right++
		}
	}
	if got := float64(right) / float64(p.Test.Len()); got != r.TestAccuracy {
		t.Errorf("accuracy %v of the saved model, %v of the training", got, r.TestAccuracy)
	}
}

// Features of scatter have other bits with portable kernels. So a run with such features is not resumed
// with other kernels.
func TestKernelsOfFeatures(t *testing.T) {
	restore, err := f32.Use(cpu.Portable)
	if err != nil {
		t.Fatal(err)
	}
	defer restore()
	for features, want := range map[string]string{"": "", "hog:4:8": "", "scatter": "portable"} {
		spec := smallLeNet()
		spec.Model, spec.FeatureMap = Softmax, features
		if got := spec.Kernels(); got != want {
			t.Errorf("%q: kernels %q, want %q", features, got, want)
		}
	}
}

func TestParseFeatures(t *testing.T) {
	for _, text := range []string{"hog:4:8", "scatter", "scatter:fold=no:ridge=0.1"} {
		if m, err := ParseFeatures(text); err != nil || m.String() != text {
			t.Errorf("%q is read as %v (%v)", text, m, err)
		}
	}
	for _, text := range []string{"", "hog", "scatters", "scatter:fold=perhaps", "sift"} {
		if _, err := ParseFeatures(text); err == nil || !strings.Contains(err.Error(), "must be") {
			t.Errorf("%q: error %v", text, err)
		}
	}
}
